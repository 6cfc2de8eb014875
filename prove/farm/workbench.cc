#include "prove/farm/workbench.h"

#include <algorithm>
#include <chrono>

#include "algebra/terms/rule_text.h"
#include "prove/certificate/instance_text.h"
#include "prove/farm/definition_proof.h"
#include "prove/farm/hardness.h"
#include "prove/farm/task.h"
#include "prove/normal_form/definedness.h"
#include "runtime/error.h"

namespace rulemill::prove {

using algebra::Rule;
using algebra::TypedRule;

namespace {

/// Polynomials are written in the order in which their sizes were first met: here the same whatever rules came before.
void meet_names_in_order(algebra::Symbols& symbols) {
  constexpr int most = 16;
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    symbols.size(std::string(1, letter));
    for (int number = 2; number <= most; ++number) symbols.size(letter + std::to_string(number));
  }
}

}  // namespace

CandidateRule parse_candidate(const std::string& candidate, algebra::Library& library, algebra::TermBank& bank,
                              algebra::Symbols& symbols) {
  std::vector<Rule> rules = algebra::parse_rules(candidate, "candidate", library, bank, symbols);
  RM_CHECK(rules.size() == 1, "the text of one candidate");
  CandidateRule result{std::move(rules[0]), {}};
  for (const algebra::Shape& shape : result.rule.shapes) {
    auto& dims = result.example.emplace_back();
    for (const algebra::Poly& dim : shape) dims.push_back(dim.constant().value());
  }
  result.rule.shapes.clear();
  return result;
}

Workbench::Workbench(algebra::Library& library, const egraph::Limits& limits)
    : library_(library),
      bank_(library),
      deriver_(bank_, symbols_, limits),
      partial_functions_(partial_functions(library.functions())) {
  meet_names_in_order(symbols_);
}

TypedRule Workbench::typed(const std::string& rule) {
  const std::vector<Rule> rules = algebra::parse_rules(rule, "rule", library_, bank_, symbols_);
  RM_CHECK(rules.size() == 1, "the text of one rule");
  auto result = algebra::infer_types(rules[0], bank_, symbols_);
  if (const auto* error = std::get_if<algebra::TypeError>(&result)) {
    throw runtime::Error("rule " + rules[0].id, "a typed rule does not type again: " + error->what);
  }
  return std::move(std::get<TypedRule>(result));
}

void Workbench::add_rule(const std::string& rule) {
  deriver_.add(typed(rule));
  texts_.push_back(rule);
}

Workbench::Session::Session(Workbench& bench)
    : bench_(bench), terms_(bench.bank_.mark()), symbols_(bench.symbols_.mark()), rules_(bench.deriver_.mark()) {}

Workbench::Session::~Session() {
  bench_.deriver_.roll_back(rules_);
  bench_.bank_.roll_back(terms_);
  bench_.symbols_.roll_back(symbols_);
}

egraph::Derivation Workbench::derive(const TypedRule& goal, bool explain, Try how) {
  const auto begin = std::chrono::steady_clock::now();
  egraph::Derivation derivation =
      how == Try::Harder ? deriver_.derive_harder(goal, explain) : deriver_.derive(goal, explain);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return derivation;
}

Outcome Workbench::derive(const std::string& candidate, Domains domains) {
  CandidateRule parsed = parse_candidate(candidate, library_, bank_, symbols_);
  Outcome outcome;
  outcome.candidate = parsed.rule.id;
  outcome.example = std::move(parsed.example);
  const auto general = algebra::infer_types(parsed.rule, bank_, symbols_, &outcome.example);
  if (const auto* error = std::get_if<algebra::TypeError>(&general)) {
    outcome.kind = Outcome::Kind::IllTyped;
    outcome.detail = error->what;
    return outcome;
  }
  const TypedRule& goal = std::get<TypedRule>(general);
  outcome.rule = algebra::to_string(goal.rule, bank_, symbols_);
  outcome.operators = std::max(bank_.nodes(goal.rule.source).size(), bank_.nodes(goal.rule.target).size());
  // Derivations compare values: where they are defined is asked by itself.
  const auto are_alike = [&] {
    return domains == Domains::Alike || !applies(goal, bank_, partial_functions_) ||
           same_domain(outcome.rule, library_, {});
  };
  const egraph::Derivation derivation = derive(goal, true, Try::Once);
  if (const auto* derived = std::get_if<egraph::Derived>(&derivation); derived != nullptr && are_alike()) {
    outcome.kind = Outcome::Kind::Derived;
    outcome.instances = derived->instances.size();
    outcome.certificate = derivation_text(*derived);
  } else {
    outcome.hardness = hardness(goal.rule, bank_);
  }
  return outcome;
}

Implied Workbench::implied(const std::string& rule, Try how) {
  const egraph::Derivation derivation = derive(typed(rule), false, how);
  if (std::holds_alternative<egraph::Derived>(derivation)) return Implied::Yes;
  return std::holds_alternative<egraph::Saturated>(derivation) ? Implied::No : Implied::Limit;
}

Outcome Workbench::explain(const std::string& rule, Try how) {
  const TypedRule goal = typed(rule);
  Outcome outcome;
  outcome.candidate = goal.rule.id;
  outcome.rule = rule;
  const egraph::Derivation derivation = derive(goal, true, how);
  if (const auto* derived = std::get_if<egraph::Derived>(&derivation)) {
    outcome.kind = Outcome::Kind::Derived;
    outcome.instances = derived->instances.size();
    outcome.certificate = derivation_text(*derived);
  } else {
    outcome.detail = std::holds_alternative<egraph::Saturated>(derivation) ? implied_no : implied_limit;
  }
  return outcome;
}

/// A line an instance.
std::string Workbench::derivation_text(const egraph::Derived& derived) const {
  std::string text;
  for (const egraph::RuleInstance& use : derived.instances) {
    const Rule& rule = deriver_.rule(use.rule).rule;
    Instance instance{rule.id, {}, {}};
    for (std::size_t i = 0; i < rule.variables.size(); ++i)
      instance.terms.emplace_back(bank_.term(rule.variables[i]).name, use.variables[i]);
    for (const auto& [atom, value] : use.sizes) instance.sizes.emplace(symbols_.name(atom), value);
    text += to_string(instance, bank_, symbols_) + "\n";
  }
  return text;
}

}  // namespace rulemill::prove
