#include "prove/certificate/certificate.h"

#include <algorithm>
#include <set>
#include <span>

#include "algebra/rules/specialization.h"
#include "algebra/terms/rule_text.h"
#include "check/core_rule.h"
#include "check/evaluate.h"
#include "check/proof_text.h"
#include "prove/certificate/rule_instance_text.h"
#include "prove/certificate/term_scope.h"
#include "prove/elaboration/elaborate.h"
#include "runtime/text/byte_lists.h"
#include "runtime/text/error.h"
#include "runtime/text/printable.h"

namespace rulemill::prove {

using algebra::Certificate;
using algebra::Rule;
using runtime::InputError;

namespace {

// The number is incremented whenever the format changes.
constexpr const char* format = "; rulemill certificate ";
constexpr const char* first_line = "; rulemill certificate 6, by ";
constexpr const char* assumed_word = "; assumed law ";
constexpr const char* definitions_word = "definitions";
constexpr const char* derivation_word = "derivation";

}  // namespace

std::string statement_of(const Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols) {
  Rule statement = rule;
  statement.id = "statement";
  statement.tier = algebra::Tier::None;
  return algebra::to_string(statement, bank, symbols);
}

bool is_statement_of(const std::string& statement, const Rule& rule, algebra::Library& library, algebra::TermBank& bank,
                     algebra::Symbols& symbols) {
  const std::vector<Rule> stated = algebra::parse_rules(statement, "statement", library, bank, symbols);
  return stated.size() == 1 && stated[0].variables == rule.variables && stated[0].shapes == rule.shapes &&
         stated[0].source == rule.source && stated[0].target == rule.target && stated[0].condition == rule.condition &&
         stated[0].packs == rule.packs && stated[0].widens == rule.widens;
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
  for (const std::string& line : certificate.rule_instances) text += "; use " + line + "\n";
  return text + certificate.proof;
}

namespace {

/// A parser that consumes a certificate's lines in order.
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
    if (!by_definitions && kind != derivation_word) fail("expected definitions or derivation, found '" + kind + "'");
    certificate.kind = by_definitions ? Certificate::Kind::Definitions : Certificate::Kind::Derivation;
    while (starts(";   ")) certificate.statement += take(";   ", "the statement") + "\n";
    while (starts("; definition ")) {
      const std::string line = take("; definition ", "a definition");
      const std::size_t space = line.find(' ');
      if (space == std::string::npos) fail("expected an operator and the digest of its definition");
      certificate.definitions.emplace_back(line.substr(0, space), line.substr(space + 1));
    }
    while (starts(assumed_word)) certificate.assumed.push_back(take(assumed_word, "a law"));
    while (!by_definitions && starts("; use ")) certificate.rule_instances.push_back(take("; use ", "an instance"));
    certificate.proof_line = next_ + 1;
    while (next_ < lines_.size()) certificate.proof += lines_[next_++] + "\n";
    return certificate;
  }

 private:
  bool starts(const char* prefix) const { return next_ < lines_.size() && lines_[next_].starts_with(prefix); }
  std::string take(const std::string& prefix, const char* what) {
    if (!starts(prefix.c_str()))
      fail(std::string("expected ") + what + ", found " +
           (next_ < lines_.size() ? "'" + lines_[next_].substr(0, 80) + "'" : "the end"));
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

std::vector<std::pair<std::string, std::string>> definition_digests(const Rule& rule, const algebra::TermBank& bank) {
  std::set<std::string> names;
  for (const auto* side : {&rule.source, &rule.target}) {
    for (const algebra::NodeId node : bank.nodes(*side))
      names.insert(bank.library().instance(bank.node(node).instance).operator_name);
  }
  std::vector<std::pair<std::string, std::string>> result;
  for (const std::string& name : names) result.emplace_back(name, bank.library().digest(name));
  return result;
}

namespace {

/// The laws that steps name, and the functions in the sums that they name and in these laws.
class Uses {
 public:
  explicit Uses(std::span<const algebra::LawEquation> laws) : laws_(laws) {}

  void add(const std::vector<check::Step>& steps) {
    for (const check::Step& step : steps) {
      for (const algebra::LawEquation& law : laws_) {
        if (step.op == check::Step::Op::Law && law.name == step.name) add(law);
      }
      for (const check::Sum& sum : step.sums) add(sum);
      for (const std::vector<check::Step>& block : step.blocks) add(block);
    }
  }

  std::set<std::string> assumed;  // the declared equations among the laws
  std::set<std::uint32_t> functions;

 private:
  void add(const algebra::LawEquation& law) {
    if (!law.assumption.empty()) assumed.insert(law.assumption);
    add(*law.left), add(*law.right);
    for (const auto& condition : law.conditions) add(*condition.expression);
  }
  void add(const algebra::ScalarExpr& expression) {
    if (expression.kind == algebra::ScalarExpr::Kind::Apply) functions.insert(expression.function);
    for (const auto& operand : expression.operands) add(*operand);
  }
  void add(const check::Sum& sum) {
    for (const check::Product& product : sum) {
      for (const check::Factor& factor : product.factors) {
        using enum check::Factor::Kind;
        if (factor.kind == Apply || factor.kind == Defined) functions.insert(factor.symbol);
        for (const check::Sum& argument : factor.arguments) add(argument);
      }
    }
  }

  std::span<const algebra::LawEquation> laws_;
};

}  // namespace

std::vector<std::string> assumed_laws(const Rule& rule, const algebra::TermBank& bank, const check::Proof& proof) {
  Uses uses(bank.library().laws());
  for (const auto& output : proof.outputs) uses.add(output);
  for (const auto& side : proof.domains) {
    for (const auto& condition : side) uses.add(condition);
  }
  std::set<std::string> assumed = std::move(uses.assumed);
  for (const std::uint32_t f : uses.functions) {
    const std::vector<std::string>& laws = bank.library().functions()[f].assumed_laws;
    assumed.insert(laws.begin(), laws.end());
  }
  for (const std::string& law : algebra::assumed_laws(rule, bank)) assumed.insert(law);
  return {assumed.begin(), assumed.end()};
}

CertificateText make_certificate_without_proof(Certificate::Kind kind, std::string statement, const Rule& rule,
                                               const algebra::TermBank& bank) {
  CertificateText certificate;
  certificate.kind = kind;
  certificate.statement = std::move(statement);
  certificate.definitions = definition_digests(rule, bank);
  certificate.assumed = algebra::assumed_laws(rule, bank);
  return certificate;
}

CertificateText parse_certificate(std::string_view text, const std::string& origin) {
  return CertificateReader(text, origin).read();
}

std::optional<CertificateText> certify_by_definitions(const std::string& statement, algebra::Library& library,
                                                      const ProverOptions& options, std::string& reason,
                                                      bool assume_obligations) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const Rule rule = algebra::parse_rule(statement, "statement", library, bank, symbols);
  try {
    check::Atoms atoms;
    const check::Statement checked(check::to_core(rule, bank, symbols, atoms), atoms);
    const auto samples = sample_sizes_by_name(rule, bank, symbols, options.seed);
    const Elaboration elaboration = elaborate(checked, samples, options.elaboration, assume_obligations);
    reason = elaboration.reason;
    if (!elaboration.proof) return std::nullopt;
    const check::Evaluation evaluation = check::evaluate(rule, bank, symbols, samples, options.seed);
    if (!assume_obligations && (evaluation.difference || evaluation.evaluated == 0)) {
      reason = evaluation.difference.value_or("it was not evaluated: " + evaluation.obstacle);
      return std::nullopt;
    }
    CertificateText certificate = make_certificate_without_proof(Certificate::Kind::Definitions, statement, rule, bank);
    certificate.assumed = assumed_laws(rule, bank, *elaboration.proof);
    certificate.proof = check::to_string(*elaboration.proof, checked);
    return certificate;
  } catch (const check::CheckError& error) {
    reason = error.what;
    return std::nullopt;
  }
}

std::string certificate_request(const std::string& statement, Certificate::Kind kind, const std::string& rule_instances,
                                const std::map<std::string, std::string>& premises) {
  const bool derived = kind == Certificate::Kind::Derivation;
  std::vector<std::string> lines, names, rules;  // rules: numbers and statements alternate
  const auto numbered = [&](const std::string& name) {
    const std::string number = "#" + std::to_string(std::ranges::find(names, name) - names.begin());
    if (std::ranges::find(names, name) != names.end()) return number;
    names.push_back(name);
    if (const auto premise = premises.find(name); premise != premises.end())
      rules.insert(rules.end(), {number, premise->second});
    return number;
  };
  if (derived) lines = lines_of(with_rules_renamed(rule_instances, numbered));
  return runtime::pack_fields("rule statement" + statement.substr(statement.find('(')), derived, lines, rules);
}

CertificateRequest unpack_request(std::string_view request) {
  CertificateRequest result;
  std::vector<std::string> rules;
  runtime::unpack_fields(request, result.statement, result.derived, result.rule_instances, rules);
  for (std::size_t i = 0; i + 1 < rules.size(); i += 2) result.premises.emplace(rules[i], rules[i + 1]);
  return result;
}

std::string make_certificate(const std::string& packed_request, algebra::Library& library,
                             const ProverOptions& options) {
  const CertificateRequest request = unpack_request(packed_request);
  const std::string& statement = request.statement;
  if (request.derived)
    return to_string(certify_by_instances(statement, request.rule_instances, request.premises, library, options));
  std::string reason;
  if (const auto certificate = certify_by_definitions(statement, library, options, reason))
    return to_string(*certificate);
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const Rule rule = algebra::parse_rule(statement, "statement", library, bank, symbols);
  CertificateText certificate = make_certificate_without_proof(Certificate::Kind::Definitions, statement, rule, bank);
  certificate.proof = missing_proof(reason);
  return to_string(certificate);
}

std::string with_rule_instances(std::string_view certificate, const std::string& rule_instances) {
  const std::vector<std::string> lines = lines_of(rule_instances);
  const std::size_t begin = certificate.find("\n; use ") + 1;  // npos + 1 is 0
  if (lines.empty() || begin == 0) return std::string(certificate);
  std::string text(certificate.substr(0, begin));
  std::size_t end = begin;
  for (const std::string& line : lines) {
    text += "; use " + line + "\n";
    end = certificate.find('\n', end) + 1;
  }
  return text.append(certificate.substr(end));
}

std::string missing_proof(const std::string& reason) {
  constexpr std::size_t max_length = 200;
  return std::string(no_proof) + (reason.empty() ? "" : ": " + runtime::make_printable(reason, max_length)) + "\n";
}

namespace {

std::string_view last_line(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const std::size_t newline = text.rfind('\n');
  return newline == std::string_view::npos ? text : text.substr(newline + 1);
}

}  // namespace

bool has_checkable_proof(const std::string& certificate) { return !last_line(certificate).starts_with(no_proof); }

std::string reason_without_proof(const std::string& certificate) {
  const std::string_view line = last_line(certificate);
  const std::size_t colon = line.find(": ");
  return colon == std::string_view::npos ? "" : std::string(line.substr(colon + 2));
}

FindRule find_definition_rule(const algebra::RuleSet& rules) {
  std::map<std::string, const Rule*> by_name;
  for (const algebra::RuleRecord& record : rules.rules) {
    if (record.certificate.kind == Certificate::Kind::Definitions) by_name.emplace(record.rule.id, &record.rule);
  }
  return [by_name = std::move(by_name)](const std::string& name) {
    const auto found = by_name.find(name);
    return found == by_name.end() ? std::nullopt : std::optional(*found->second);
  };
}

PremiseRules::PremiseRules(FindRule find, algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols,
                           Texts texts)
    : find_(std::move(find)), library_(library), bank_(bank), symbols_(symbols), texts_(texts) {}

std::map<std::string, std::string> PremiseRules::statements_for(const std::vector<std::string>& rule_instances) {
  std::map<std::string, std::string> result;
  for (const std::string& line : rule_instances) {
    const std::string name = rule_name_in(line);
    if (auto text = statement(name)) result.emplace(name, std::move(*text));
  }
  return result;
}

std::optional<std::string> PremiseRules::statement(const std::string& name) {
  if (const auto known = statements_.find(name); known != statements_.end()) return known->second;
  const TermScope scope(bank_, symbols_);
  std::optional<std::string> text;
  if (const std::optional<Rule> found = rule(name)) {
    text = statement_of(*found, bank_, symbols_);
    if (texts_ == Texts::Verified && !is_statement_of(*text, *found, library_, bank_, symbols_))
      throw runtime::Error("instance", "the text of " + name + " states another rule");
  }
  return statements_.emplace(name, text).first->second;
}

std::optional<Rule> PremiseRules::rule(const std::string& name) {
  const std::size_t at = std::min(name.find('@'), name.size());
  const std::optional<Rule> general = find_(name.substr(0, at));
  if (general && general->widens) return std::nullopt;  // it is no equation
  if (!general || at == name.size()) return general;
  return algebra::specialize_by_name(*general, std::string_view(name).substr(at), library_, bank_, symbols_);
}

std::vector<UncertifiedRule> certify_with(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                                          algebra::Symbols& symbols, const MakeCertificates& make) {
  PremiseRules premises(find_definition_rule(rules), library, bank, symbols);
  std::vector<algebra::RuleRecord*> incomplete;
  for (algebra::RuleRecord& record : rules.rules) {
    const Certificate& certificate = record.certificate;
    const bool is_complete = certificate.kind == Certificate::Kind::Definitions && !certificate.text.empty();
    if (certificate.kind != Certificate::Kind::None && !is_complete) incomplete.push_back(&record);
  }
  const auto request = [&](std::size_t item) {
    const Certificate& certificate = incomplete[item]->certificate;
    const bool derived = certificate.kind == Certificate::Kind::Derivation;
    return certificate_request(
        statement_of(incomplete[item]->rule, bank, symbols), certificate.kind, certificate.text,
        derived ? premises.statements_for(lines_of(certificate.text)) : std::map<std::string, std::string>());
  };
  make(incomplete.size(), request, [&](std::size_t item, const std::string& text) {
    std::string& certificate = incomplete[item]->certificate.text;  // its rule instances so far
    certificate = with_rule_instances(text, certificate);
  });
  std::vector<UncertifiedRule> uncertified;
  std::erase_if(rules.rules, [&](const algebra::RuleRecord& record) {
    const Certificate& certificate = record.certificate;
    if (certificate.kind != Certificate::Kind::Derivation || has_checkable_proof(certificate.text)) return false;
    uncertified.push_back({record.rule.id, reason_without_proof(certificate.text)});
    return true;
  });
  return uncertified;
}

std::vector<UncertifiedRule> certify(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                                     algebra::Symbols& symbols, const ProverOptions& options) {
  return certify_with(rules, library, bank, symbols, [&](std::size_t count, const auto& request, const auto& take) {
    for (std::size_t item = 0; item < count; ++item) take(item, make_certificate(request(item), library, options));
  });
}

}  // namespace rulemill::prove
