// Certificates of derived rules: instances of others as text, and what the checker makes of them.
#include "check/derivation.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "algebra/language/poly_parse.h"
#include "algebra/terms/equal_products.h"
#include "algebra/terms/rule_text.h"
#include "prove/certificate/certificate.h"
#include "prove/elaboration/elaborate.h"
#include "runtime/error.h"

namespace rulemill::prove {

using algebra::Rule;
using algebra::TermId;
using runtime::InputError;

namespace {

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

/// The parts between separators that stand outside all brackets.
std::vector<std::string> split_outside(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == separator && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (std::string& part : parts) part = trimmed(part);
  std::erase(parts, "");
  return parts;
}

std::pair<std::string, std::string> definition_in(const std::string& part) {
  const std::size_t sign = part.find(":=");
  if (sign == std::string::npos) throw InputError("instance", "expected 'name := value', found '" + part + "'");
  return {trimmed(part.substr(0, sign)), trimmed(part.substr(sign + 2))};
}

/// A goal, the rules that it cites and their instances, all in terms and sizes of its own.
class DerivationText {
 public:
  DerivationText(const std::string& statement, const std::vector<std::string>& uses,
                 const std::map<std::string, std::string>& cited, algebra::Library& library)
      : library_(library), bank_(library), statement_(statement), stated_(statement) {
    goal_ = typed(statement);
    if (auto dealt_out = algebra::with_equal_products_dealt_out(goal_, bank_, symbols_)) {
      goal_ = std::move(*dealt_out);
      stated_ = statement_of(goal_.rule, bank_, symbols_);
    }
    for (const std::string& use : uses) read(use, cited);
  }

  /// What the instances leave to be shown, and where the goal is defined.
  check::Derived follow(const check::Proof& proof) {
    check::Followed domains = check::follow_domains(proof, statement());
    check::Derived result = check::derive(statement(), instances_, symbols_, proof.times);
    for (check::Obligation& obligation : domains.obligations) result.obligations.push_back(std::move(obligation));
    result.plain += domains.plain;
    return result;
  }

  check::Statement& statement() {
    if (!checked_) checked_ = std::make_unique<check::Statement>(goal_.rule, bank_, symbols_, atoms_);
    return *checked_;
  }
  check::Atoms& atoms() { return atoms_; }

  CertificateText certificate(const std::vector<std::string>& uses, const ProverOptions& options) {
    CertificateText result = without_proof(algebra::Certificate::Kind::Derivation, statement_, goal_.rule, bank_);
    result.uses = uses;
    try {
      const check::Derived derived = check::derive(statement(), instances_, symbols_, {});
      const bool demands = statement().demands(false).own + statement().demands(true).own > 0;
      if (derived.obligations.empty() && !demands) {
        result.proof = check::to_string(check::Proof(), atoms_);
        return result;
      }
      const auto samples = sample_sizes_by_name(goal_.rule, bank_, symbols_, options.seed);
      const Elaboration found =
          elaborate_domains(statement(), derived.obligations, samples, options.align, options.elaboration);
      result.proof = found.proof ? check::to_string(*found.proof, atoms_) : unfollowed;
    } catch (const check::Objection&) {
      result.proof = unfollowed;
    }
    return result;
  }

 private:
  algebra::TypedRule typed(const std::string& text) {
    const std::vector<Rule> rules = algebra::parse_rules(text, "statement", library_, bank_, symbols_);
    if (rules.size() != 1) throw InputError("statement", "expected one rule");
    auto result = algebra::infer_types(rules[0], bank_, symbols_);
    if (const auto* error = std::get_if<algebra::TypeError>(&result)) throw InputError("statement", error->what);
    return std::move(std::get<algebra::TypedRule>(result));
  }

  /// "rule: x := term, …; m := size, …"
  void read(const std::string& use, const std::map<std::string, std::string>& cited) {
    const std::size_t colon = use.find(':');
    const std::string name = use.substr(0, colon);
    const auto rule_text = cited.find(name);
    if (colon == std::string::npos || rule_text == cited.end()) {
      throw InputError("instance", "'" + name + "' is no rule that is proved from the definitions");
    }
    const auto [number, is_new] = numbers_.try_emplace(name, static_cast<std::uint32_t>(rules_.size()));
    if (is_new) rules_.push_back(typed(rule_text->second));
    const Rule& rule = rules_[number->second].rule;
    const std::vector<std::string> halves = split_outside(use.substr(colon + 1), ';');
    check::RuleInstance instance{&rule, {}, {}};
    if (!rule.variables.empty()) instance.terms = terms(rule, halves.empty() ? "" : halves[0]);
    if (halves.size() > (rule.variables.empty() ? 0 : 1)) {
      for (const std::string& part : split_outside(halves.back(), ',')) {
        const auto [size, value] = definition_in(part);
        instance.sizes.emplace(size, algebra::parse_poly(value, "instance", symbols_));
      }
    }
    instances_.push_back(std::move(instance));
  }

  /// The terms for the rule's variables, in the rule's order: read as the outputs of a rule over the goal's variables.
  std::vector<TermId> terms(const Rule& rule, const std::string& list) {
    std::map<std::string, std::string> values;
    for (const std::string& part : split_outside(list, ',')) values.insert(definition_in(part));
    std::string outputs;
    for (const TermId variable : rule.variables) {
      const auto value = values.find(bank_.term(variable).name);
      if (value == values.end()) throw InputError("instance", "no term for " + bank_.term(variable).name);
      outputs += (outputs.empty() ? "" : ", ") + value->second;
    }
    const std::string head = stated_.substr(0, stated_.find('\n'));
    return algebra::parse_rules(head + "\n" + outputs + " => " + outputs, "instance", library_, bank_, symbols_)
        .at(0)
        .source;
  }

  algebra::Library& library_;
  algebra::TermBank bank_;
  algebra::Symbols symbols_;
  const std::string& statement_;
  std::string stated_;  // as it is derived
  algebra::TypedRule goal_;
  std::deque<algebra::TypedRule> rules_;  // instances point to them
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<check::RuleInstance> instances_;
  check::Atoms atoms_;
  std::unique_ptr<check::Statement> checked_;
};

}  // namespace

CertificateText certify_by_instances(const std::string& statement, const std::vector<std::string>& uses,
                                     const std::map<std::string, std::string>& cited, algebra::Library& library,
                                     const ProverOptions& options) {
  return DerivationText(statement, uses, cited, library).certificate(uses, options);
}

FollowedDerivation follow_derivation(const CertificateText& certificate,
                                     const std::map<std::string, std::string>& cited, algebra::Library& library) {
  DerivationText text(certificate.statement, certificate.uses, cited, library);
  text.statement();
  const check::Proof proof = check::parse_proof(certificate.proof, "certificate", certificate.proof_line, text.atoms());
  if (!proof.outputs.empty() || check::to_string(proof, text.atoms()) != certificate.proof)
    throw check::Objection{"its certificate says what no certificate says"};
  const check::Derived derived = text.follow(proof);
  FollowedDerivation result{{derived.script}, derived.plain};
  for (const check::Obligation& obligation : derived.obligations)
    result.scripts.push_back(check::smtlib(obligation, text.atoms()));
  return result;
}

}  // namespace rulemill::prove
