#include "prove/certificate/certificate.h"

#include <algorithm>
#include <set>

#include "algebra/rules/general_rules.h"
#include "algebra/terms/rule_text.h"
#include "prove/certificate/instance_text.h"
#include "prove/elaboration/elaborate.h"
#include "runtime/byte_lists.h"
#include "runtime/error.h"

namespace rulemill::prove {

using algebra::Certificate;
using algebra::Rule;
using runtime::InputError;

namespace {

// The number is raised whenever what stands in a certificate changes.
constexpr const char* format = "; rulemill certificate ";
constexpr const char* first_line = "; rulemill certificate 3, by ";
constexpr const char* assumed_word = "; assumed law ";
constexpr const char* definitions_word = "definitions";
constexpr const char* derivation_word = "derivation";

Rule parse_statement(const std::string& statement, algebra::Library& library, algebra::TermBank& bank,
                     algebra::Symbols& symbols) {
  std::vector<Rule> rules = algebra::parse_rules(statement, "statement", library, bank, symbols);
  if (rules.size() != 1) throw InputError("statement", "expected one rule, found " + std::to_string(rules.size()));
  return std::move(rules[0]);
}

}  // namespace

std::string statement_of(const Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols) {
  Rule plain = rule;
  plain.id = "statement";
  plain.tier = algebra::Tier::None;
  return algebra::to_string(plain, bank, symbols);
}

std::string to_string(const CertificateText& certificate) {
  const bool by_definitions = certificate.kind == Certificate::Kind::Definitions;
  std::string text = std::string(first_line) + (by_definitions ? definitions_word : derivation_word) + "\n";
  for (std::size_t begin = 0; begin < certificate.statement.size();) {
    const std::size_t end = std::min(certificate.statement.find('\n', begin), certificate.statement.size());
    text += ";   " + certificate.statement.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  for (const auto& [name, digest] : certificate.definitions) text += "; definition " + name + " " + digest + "\n";
  for (const std::string& law : certificate.assumed) text += assumed_word + law + "\n";
  for (const std::string& use : certificate.uses) text += "; use " + use + "\n";
  return text + certificate.proof;
}

namespace {

/// Lines in order, each taken once.
class CertificateReader {
 public:
  CertificateReader(std::string_view text, const std::string& origin) : origin_(origin) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      if (end == std::string_view::npos) throw InputError(origin, "the certificate is cut short in its last line");
      lines_.emplace_back(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
  }

  CertificateText read() {
    CertificateText certificate;
    if (starts(format) && !starts(first_line)) fail("the certificate is of another format; prove its rule again");
    const std::string kind = take(first_line, "a certificate's first line");
    const bool by_definitions = kind == definitions_word;
    if (!by_definitions && kind != derivation_word) fail("'" + kind + "' is no kind of proof");
    certificate.kind = by_definitions ? Certificate::Kind::Definitions : Certificate::Kind::Derivation;
    while (starts(";   ")) certificate.statement += take(";   ", "the statement") + "\n";
    while (starts("; definition ")) {
      const std::string line = take("; definition ", "a definition");
      const std::size_t space = line.find(' ');
      if (space == std::string::npos) fail("a definition without its digest");
      certificate.definitions.emplace_back(line.substr(0, space), line.substr(space + 1));
    }
    while (starts(assumed_word)) certificate.assumed.push_back(take(assumed_word, "a law"));
    while (!by_definitions && starts("; use ")) certificate.uses.push_back(take("; use ", "an instance"));
    certificate.proof_line = next_ + 1;
    while (next_ < lines_.size()) certificate.proof += lines_[next_++] + "\n";
    return certificate;
  }

 private:
  bool starts(const char* prefix) const { return next_ < lines_.size() && lines_[next_].starts_with(prefix); }
  std::string take(const std::string& prefix, const char* what) {
    if (!starts(prefix.c_str())) {
      fail(std::string("expected ") + what + ", found " +
           (next_ < lines_.size() ? "'" + lines_[next_].substr(0, 80) + "'" : "the end"));
    }
    return lines_[next_++].substr(prefix.size());
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(origin_ + ", line " + std::to_string(next_ + 1), what);
  }

  const std::string& origin_;
  std::vector<std::string> lines_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> digests_of(const Rule& rule, const algebra::TermBank& bank) {
  std::set<std::string> names;
  for (const auto* side : {&rule.source, &rule.target}) {
    for (const algebra::NodeId node : bank.nodes(*side)) {
      names.insert(bank.library().instance(bank.node(node).instance).operator_name);
    }
  }
  std::vector<std::pair<std::string, std::string>> result;
  for (const std::string& name : names) result.emplace_back(name, bank.library().digest(name));
  return result;
}

CertificateText without_proof(Certificate::Kind kind, std::string statement, const Rule& rule,
                              const algebra::TermBank& bank) {
  CertificateText certificate;
  certificate.kind = kind;
  certificate.statement = std::move(statement);
  certificate.definitions = digests_of(rule, bank);
  certificate.assumed = algebra::assumed_laws(rule, bank);
  return certificate;
}

namespace {

/// The steps as their reader would write them: sums are written in the order in which their terms were first met, which
/// is another for who found the proof.
std::string as_read(const std::string& proof, const Rule& rule, const algebra::TermBank& bank,
                    const algebra::Symbols& symbols) {
  check::Atoms atoms;
  const check::Statement statement(rule, bank, symbols, atoms);
  return check::to_string(check::parse_proof(proof, "certificate", 1, atoms), atoms);
}

}  // namespace

CertificateText parse_certificate(std::string_view text, const std::string& origin) {
  return CertificateReader(text, origin).read();
}

std::optional<CertificateText> certify_by_definitions(const std::string& statement, algebra::Library& library,
                                                      const ProverOptions& options, std::string& reason,
                                                      bool believing) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const Rule rule = parse_statement(statement, library, bank, symbols);
  try {
    check::Atoms atoms;
    check::Statement stated(rule, bank, symbols, atoms);
    const auto samples = sample_sizes_by_name(rule, bank, symbols, options.seed);
    const Elaboration elaboration = elaborate(stated, samples, options.align, options.elaboration, believing);
    reason = elaboration.reason;
    if (!elaboration.proof) return std::nullopt;
    if (const auto difference = check::evaluate(rule, bank, symbols, options.seed); difference && !believing) {
      reason = *difference;
      return std::nullopt;
    }
    CertificateText certificate = without_proof(Certificate::Kind::Definitions, statement, rule, bank);
    certificate.proof = as_read(check::to_string(*elaboration.proof, atoms), rule, bank, symbols);
    return certificate;
  } catch (const check::Objection& objection) {
    reason = objection.what;
    return std::nullopt;
  }
}

std::string certificate_request(const std::string& statement, Certificate::Kind kind, const std::string& uses,
                                const std::map<std::string, std::string>& cited) {
  const bool derived = kind == Certificate::Kind::Derivation;
  std::vector<std::string> instances, rules;  // names and statements of rules in turn
  if (derived) instances = lines_of(uses);
  std::set<std::string> names;
  for (const std::string& use : instances) {
    const auto found = cited.find(rule_of(use));
    if (found != cited.end() && names.insert(found->first).second)
      rules.insert(rules.end(), {found->first, found->second});
  }
  runtime::Bytes request;
  runtime::append_text(request, statement);
  runtime::append_value(request, derived);
  runtime::append_texts(request, instances);
  runtime::append_texts(request, rules);
  return std::string(runtime::text_of(request));
}

CertificateRequest unpack_request(std::string_view request) {
  runtime::ByteView rest = runtime::bytes_of(request);
  CertificateRequest result;
  result.statement = runtime::take_text(rest);
  result.derived = runtime::take_value<bool>(rest);
  result.uses = runtime::take_texts(rest);
  const std::vector<std::string> rules = runtime::take_texts(rest);
  for (std::size_t i = 0; i + 1 < rules.size(); i += 2) result.cited.emplace(rules[i], rules[i + 1]);
  return result;
}

std::string certificate_for(const std::string& request, algebra::Library& library, const ProverOptions& options) {
  const CertificateRequest asked = unpack_request(request);
  const std::string& statement = asked.statement;
  if (asked.derived) return to_string(certify_by_instances(statement, asked.uses, asked.cited, library, options));
  std::string reason;
  if (const auto certificate = certify_by_definitions(statement, library, options, reason))
    return to_string(*certificate);
  // The prover's word alone: whoever checks it is told so.
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const Rule rule = parse_statement(statement, library, bank, symbols);
  CertificateText certificate = without_proof(Certificate::Kind::Definitions, statement, rule, bank);
  certificate.proof = unfollowed;
  return to_string(certificate);
}

bool is_followed(const std::string& certificate) { return !certificate.ends_with(std::string("\n") + unfollowed); }

CitedRules::CitedRules(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                       algebra::Symbols& symbols)
    : library_(library), bank_(bank), symbols_(symbols) {
  for (const algebra::RuleRecord& record : rules.rules) {
    if (record.certificate.kind == Certificate::Kind::Definitions) rules_.emplace(record.rule.id, &record.rule);
  }
}

std::map<std::string, std::string> CitedRules::named_in(const std::vector<std::string>& uses) {
  std::map<std::string, std::string> result;
  for (const std::string& use : uses) {
    const std::string name = rule_of(use);
    if (auto text = statement(name)) result.emplace(name, std::move(*text));
  }
  return result;
}

std::optional<std::string> CitedRules::statement(const std::string& name) {
  const auto [known, is_new] = statements_.try_emplace(name);
  if (!is_new) return known->second;
  const std::size_t at = std::min(name.find('@'), name.size());
  const auto rule = rules_.find(name.substr(0, at));
  if (rule == rules_.end()) return std::nullopt;
  if (at == name.size()) {
    known->second = statement_of(*rule->second, bank_, symbols_);
  } else if (const auto instance =
                 algebra::instance_named(*rule->second, std::string_view(name).substr(at), library_, bank_, symbols_)) {
    known->second = statement_of(*instance, bank_, symbols_);
  }
  return known->second;
}

void certify_by(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols,
                const std::function<std::vector<std::string>(const std::vector<std::string>&)>& texts_of) {
  CitedRules cited(rules, library, bank, symbols);
  std::vector<std::string> requests;
  std::vector<Certificate*> certificates;
  for (algebra::RuleRecord& record : rules.rules) {
    Certificate& certificate = record.certificate;
    const bool is_final = certificate.kind == Certificate::Kind::Definitions && !certificate.text.empty();
    if (certificate.kind == Certificate::Kind::None || is_final) continue;
    const bool derived = certificate.kind == Certificate::Kind::Derivation;
    requests.push_back(certificate_request(
        statement_of(record.rule, bank, symbols), certificate.kind, certificate.text,
        derived ? cited.named_in(lines_of(certificate.text)) : std::map<std::string, std::string>()));
    certificates.push_back(&certificate);
  }
  std::vector<std::string> texts = texts_of(requests);
  for (std::size_t i = 0; i < certificates.size(); ++i) certificates[i]->text = std::move(texts.at(i));
  std::erase_if(rules.rules, [](const algebra::RuleRecord& record) {
    return record.certificate.kind == Certificate::Kind::Derivation && !is_followed(record.certificate.text);
  });
}

void certify(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols,
             const ProverOptions& options) {
  certify_by(rules, library, bank, symbols, [&](const std::vector<std::string>& requests) {
    std::vector<std::string> texts;
    for (const std::string& request : requests) texts.push_back(certificate_for(request, library, options));
    return texts;
  });
}

}  // namespace rulemill::prove
