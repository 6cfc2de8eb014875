#include "prove/certificate/certificate.h"

#include <algorithm>
#include <set>

#include "algebra/terms/rule_text.h"
#include "prove/solver/lemma_scheme.h"
#include "runtime/error.h"
#include "runtime/json_report.h"

namespace rulemill::prove {

using algebra::Certificate;
using algebra::Rule;
using runtime::InputError;

namespace {

constexpr const char* first_line = "; rulemill certificate 1, by ";
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
  for (const std::string& use : certificate.uses) text += "; use " + use + "\n";
  if (!by_definitions) {
    text += "(set-logic QF_UF)\n";
    for (const std::string& assertion : certificate.assertions) text += assertion + "\n";
    return text + "(check-sat)\n";
  }
  text += "; solver " + certificate.solver + "\n(set-logic QF_LIA)\n";
  std::vector<std::string> all;
  for (const Obligation& obligation : certificate.obligations) {
    all.insert(all.end(), obligation.assertions.begin(), obligation.assertions.end());
  }
  text += smtlib_declarations(all);
  for (const Obligation& obligation : certificate.obligations) {
    text += "(push 1) ; " + obligation.name + "\n";
    for (const std::string& assertion : obligation.assertions) text += assertion + "\n";
    text += "(check-sat)\n(pop 1)\n";
  }
  return text;
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
    if (by_definitions) {
      read_obligations(certificate);
    } else {
      while (starts("; use ")) certificate.uses.push_back(take("; use ", "an instance"));
      expect("(set-logic QF_UF)");
      while (starts("(declare-") || starts("(assert ")) certificate.assertions.push_back(take("", ""));
      expect("(check-sat)");
    }
    if (next_ < lines_.size()) fail("expected the end, found '" + lines_[next_] + "'");
    return certificate;
  }

 private:
  void read_obligations(CertificateText& certificate) {
    certificate.solver = take("; solver ", "the solver");
    expect("(set-logic QF_LIA)");
    while (starts("(declare-const ")) take("", "");  // they follow from what is asserted
    while (starts("(push 1) ; ")) {
      Obligation& obligation = certificate.obligations.emplace_back();
      obligation.name = take("(push 1) ; ", "an obligation");
      while (starts("(assert ")) obligation.assertions.push_back(take("", ""));
      expect("(check-sat)");
      expect("(pop 1)");
    }
  }

  bool starts(const char* prefix) const { return next_ < lines_.size() && lines_[next_].starts_with(prefix); }
  std::string take(const std::string& prefix, const char* what) {
    if (!starts(prefix.c_str())) {
      fail(std::string("expected ") + what + ", found " +
           (next_ < lines_.size() ? "'" + lines_[next_] + "'" : "the end"));
    }
    return lines_[next_++].substr(prefix.size());
  }
  void expect(const char* line) {
    if (take(line, line) != "") fail(std::string("expected '") + line + "' alone");
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(origin_ + ", line " + std::to_string(next_ + 1), what);
  }

  const std::string& origin_;
  std::vector<std::string> lines_;
  std::size_t next_ = 0;
};

std::vector<std::pair<std::string, std::string>> digests(const Rule& rule, const algebra::TermBank& bank) {
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

std::vector<std::pair<std::string, std::string>> digests(const std::string& statement, algebra::Library& library) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  return digests(parse_statement(statement, library, bank, symbols), bank);
}

}  // namespace

CertificateText parse_certificate(std::string_view text, const std::string& origin) {
  return CertificateReader(text, origin).read();
}

std::optional<std::vector<Obligation>> obligations_of(const std::string& statement, algebra::Library& library,
                                                      const ProverOptions& options, std::vector<std::string>* lemmas) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const Rule rule = parse_statement(statement, library, bank, symbols);
  auto typed = algebra::infer_types(rule, bank, symbols);
  if (std::holds_alternative<algebra::TypeError>(typed)) return std::nullopt;
  ProverOptions keeping = options;
  keeping.certificates = true;
  Prover prover(bank, symbols, keeping);
  if (!prover.prove_equal(std::get<algebra::TypedRule>(typed)).proved) return std::nullopt;
  std::vector<Obligation> obligations;
  for (const Query& query : prover.obligations()) {
    Obligation obligation{query.name, smtlib_assertions(query, symbols)};
    if (lemmas) {
      const std::size_t first = query.asserted.size();
      for (std::size_t i = 0; i < query.lemmas.size(); ++i) {
        if (!scheme_of(query.lemmas[i], symbols)) lemmas->push_back(obligation.assertions[first + i]);
      }
    }
    if (std::find(obligations.begin(), obligations.end(), obligation) == obligations.end()) {
      obligations.push_back(std::move(obligation));
    }
  }
  return obligations;
}

std::optional<CertificateText> certify_by_definitions(const std::string& statement, algebra::Library& library,
                                                      const ProverOptions& options, Z3Session& z3) {
  std::optional<std::vector<Obligation>> obligations = obligations_of(statement, library, options);
  if (!obligations) return std::nullopt;
  CertificateText certificate{
      Certificate::Kind::Definitions, statement, digests(statement, library), Solver::version(), {}, {}, {}};
  for (Obligation& full : *obligations) {
    Obligation kept{full.name, {}};
    const auto core = z3.unsatisfiable_core(smtlib_declarations(full.assertions), full.assertions);
    if (core) {
      for (const std::size_t position : *core) kept.assertions.push_back(std::move(full.assertions[position]));
    } else {
      kept = std::move(full);
    }
    auto& all = certificate.obligations;
    const auto same = [&](const Obligation& other) { return other.assertions == kept.assertions; };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(std::move(kept));
  }
  return certificate;
}

std::string certificate_request(const std::string& statement, Certificate::Kind kind, const std::string& uses,
                                const std::map<std::string, std::string>& cited) {
  const bool derived = kind == Certificate::Kind::Derivation;
  runtime::Json request = {{"statement", statement},
                           {"derived", derived},
                           {"uses", runtime::Json::array()},
                           {"cited", runtime::Json::object()}};
  if (derived) {
    for (std::size_t begin = 0; begin < uses.size();) {
      const std::size_t end = std::min(uses.find('\n', begin), uses.size());
      const std::string use = uses.substr(begin, end - begin);
      const std::string name = use.substr(0, use.find(':'));
      if (!use.empty()) request["uses"].push_back(use);
      if (const auto found = cited.find(name); found != cited.end()) request["cited"][name] = found->second;
      begin = end + 1;
    }
  }
  return request.dump();
}

std::string certificate_for(const std::string& request, algebra::Library& library, const ProverOptions& options) {
  const runtime::Json json = runtime::Json::parse(request);
  const auto statement = json.at("statement").get<std::string>();
  if (json.at("derived").get<bool>()) {
    return to_string(certify_by_instances(statement, json.at("uses").get<std::vector<std::string>>(),
                                          json.at("cited").get<std::map<std::string, std::string>>(), library));
  }
  Z3Session z3;
  const auto certificate = certify_by_definitions(statement, library, options, z3);
  if (!certificate) throw runtime::Error("certificate", "is proved as a candidate, not as a rule: " + statement);
  return to_string(*certificate);
}

void certify(algebra::RuleSet& rules, const algebra::TermBank& bank, const algebra::Symbols& symbols,
             const std::function<std::vector<std::string>(const std::vector<std::string>&)>& texts_of) {
  std::map<std::string, std::string> cited;
  for (const algebra::RuleRecord& record : rules.rules) {
    if (record.certificate.kind == Certificate::Kind::Definitions) {
      cited[record.rule.id] = statement_of(record.rule, bank, symbols);
    }
  }
  std::vector<std::string> requests;
  std::vector<Certificate*> certificates;
  for (algebra::RuleRecord& record : rules.rules) {
    Certificate& certificate = record.certificate;
    if (certificate.kind == Certificate::Kind::None) continue;
    requests.push_back(
        certificate_request(statement_of(record.rule, bank, symbols), certificate.kind, certificate.text, cited));
    certificates.push_back(&certificate);
  }
  std::vector<std::string> texts = texts_of(requests);
  for (std::size_t i = 0; i < certificates.size(); ++i) certificates[i]->text = std::move(texts.at(i));
}

void certify(algebra::RuleSet& rules, algebra::Library& library, const algebra::TermBank& bank,
             const algebra::Symbols& symbols, const ProverOptions& options) {
  certify(rules, bank, symbols, [&](const std::vector<std::string>& requests) {
    std::vector<std::string> texts;
    for (const std::string& request : requests) texts.push_back(certificate_for(request, library, options));
    return texts;
  });
}

}  // namespace rulemill::prove
