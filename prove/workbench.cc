#include "prove/workbench.h"

#include "algebra/text.h"
#include "runtime/error.h"

namespace rulemill::prove {

using algebra::Rule;
using algebra::TypedRule;

Workbench::Workbench(algebra::Library& library, const ProverOptions& options, const egraph::Limits& limits)
    : library_(library), bank_(library), prover_(bank_, symbols_, options), deriver_(bank_, symbols_, limits) {}

TypedRule Workbench::typed(const std::string& rule) {
  const std::vector<Rule> rules = algebra::parse_rules(rule, "rule", library_, bank_, symbols_);
  RM_CHECK(rules.size() == 1, "the text of one rule");
  auto result = algebra::infer_types(rules[0], bank_, symbols_);
  if (const auto* error = std::get_if<algebra::TypeError>(&result)) {
    throw runtime::Error("rule " + rules[0].id, "a typed rule does not type again: " + error->what);
  }
  return std::move(std::get<TypedRule>(result));
}

void Workbench::add_core(const std::string& rule) { deriver_.add(typed(rule)); }

Outcome Workbench::judge(const std::string& candidate) {
  std::vector<Rule> rules = algebra::parse_rules(candidate, "candidate", library_, bank_, symbols_);
  RM_CHECK(rules.size() == 1, "the text of one candidate");
  Rule& rule = rules[0];
  Outcome outcome;
  outcome.candidate = rule.id;
  for (const algebra::Shape& shape : rule.shapes) {
    auto& dims = outcome.example.emplace_back();
    for (const algebra::Poly& dim : shape) dims.push_back(dim.constant().value());
  }
  rule.shapes.clear();
  const auto general = algebra::infer_types(rule, bank_, symbols_, &outcome.example);
  if (const auto* error = std::get_if<algebra::TypeError>(&general)) {
    outcome.kind = Outcome::Kind::IllTyped;
    outcome.detail = error->what;
    return outcome;
  }
  const auto& typed_rule = std::get<TypedRule>(general);
  outcome.rule = algebra::to_string(typed_rule.rule, bank_, symbols_);
  const ProverOptions& options = prover_.options();
  const Refutation refutation = refute(typed_rule, bank_, symbols_, options.seed, options.refute);
  if (!refutation.counterexample && derives(outcome.rule, false)) {
    outcome.kind = Outcome::Kind::Derived;
    return outcome;
  }
  Verdict verdict = prover_.prove(rule, &outcome.example);
  if (auto* proved = std::get_if<Proved>(&verdict)) {
    outcome.rule = algebra::to_string(proved->typed.rule, bank_, symbols_);
    outcome.kind = Outcome::Kind::Proved;
    outcome.queries = proved->queries;
    for (const std::string& obligation : proved->obligations) outcome.certificate += obligation + "\n";
    if (refutation.counterexample && derives(outcome.rule, false)) outcome.kind = Outcome::Kind::Derived;
  } else if (const auto* refuted = std::get_if<Refuted>(&verdict)) {
    outcome.kind = Outcome::Kind::Refuted;
    outcome.detail = to_string(refuted->counterexample);
  } else if (const auto* unknown = std::get_if<Unknown>(&verdict)) {
    outcome.kind = Outcome::Kind::Unknown;
    outcome.detail = unknown->reason;
  } else {
    outcome.kind = Outcome::Kind::IllTyped;
    outcome.detail = std::get<IllTyped>(verdict).what;
  }
  return outcome;
}

bool Workbench::derives(const std::string& rule, bool explain, Outcome* outcome) {
  const egraph::Derivation derivation = deriver_.derive(typed(rule), explain);
  const auto* derived = std::get_if<egraph::Derived>(&derivation);
  if (!derived) return false;
  if (outcome) {
    outcome->instances = derived->instances.size();
    outcome->certificate = derivation_text(*derived);
  }
  return true;
}

bool Workbench::proves(const std::string& rule, Outcome& outcome) {
  Verdict verdict = prover_.prove(algebra::parse_rules(rule, "rule", library_, bank_, symbols_).at(0));
  auto* proved = std::get_if<Proved>(&verdict);
  if (!proved) return false;
  outcome.queries = proved->queries;
  outcome.certificate.clear();
  for (const std::string& obligation : proved->obligations) outcome.certificate += obligation + "\n";
  return true;
}

/// A line an instance: the core rule's name, a term for each variable, a polynomial for each size.
std::string Workbench::derivation_text(const egraph::Derived& derived) const {
  std::string text;
  for (const egraph::RuleInstance& instance : derived.instances) {
    const Rule& rule = deriver_.rule(instance.rule).rule;
    text += rule.id + ":";
    for (std::size_t i = 0; i < rule.variables.size(); ++i) {
      text += (i == 0 ? " " : ", ") + bank_.term(rule.variables[i]).name + " := " + algebra::to_string(instance.variables[i], bank_, symbols_);
    }
    const char* separator = "; ";
    for (const auto& [atom, value] : instance.sizes) {
      text += separator + symbols_.name(atom) + " := " + symbols_.to_string(value);
      separator = ", ";
    }
    text += "\n";
  }
  return text;
}

}  // namespace rulemill::prove
