#include "prove/tasks/derivation_context.h"

#include <algorithm>

#include "algebra/terms/rule_text.h"
#include "algebra/terms/term.h"
#include "prove/certificate/rule_instance_text.h"
#include "prove/tasks/definition_proof.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

using algebra::Rule;
using algebra::TypedRule;

namespace {

/// Returns roughly milliseconds. A node's factor depends on the indices, cases and conditions of its definition; the
/// factors of all nodes are multiplied.
double estimated_cost(const algebra::Rule& rule, const algebra::TermBank& bank) {
  double product = 0.1;
  for (const auto* side : {&rule.source, &rule.target}) {
    for (const algebra::NodeId id : bank.nodes(*side)) {
      const algebra::OperatorInstance& instance = bank.library().instance(bank.node(id).instance);
      product *= 1 + 0.1 * static_cast<double>(instance.index_slots + instance.conditions.size());
    }
  }
  return product;
}

/// Creates the usual size names in a fixed order. Polynomials are written in the order in which their sizes were
/// created, which must not depend on the rules.
void create_size_names(algebra::Symbols& symbols) {
  constexpr int max_number = 16;
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    symbols.size(std::string(1, letter));
    for (int number = 2; number <= max_number; ++number) symbols.size(letter + std::to_string(number));
  }
}

}  // namespace

DerivationContext::DerivationContext(algebra::Library& library, const egraph::Limits& limits)
    : library_(library), bank_(library), deriver_(bank_, symbols_, limits) {
  create_size_names(symbols_);
}

TypedRule DerivationContext::typed(const std::string& rule) {
  const Rule parsed = algebra::parse_rule(rule, "rule", library_, bank_, symbols_);
  return algebra::require_types(parsed, bank_, symbols_, "rule " + parsed.id);
}

void DerivationContext::add_rule(const std::string& rule) {
  deriver_.add(typed(rule));
  texts_.push_back(rule);
}

DerivationContext::Session::Session(DerivationContext& context)
    : context_(context),
      terms_(context.bank_.mark()),
      symbols_(context.symbols_.mark()),
      rules_(context.deriver_.mark()) {}

DerivationContext::Session::~Session() {
  context_.deriver_.roll_back(rules_);
  context_.bank_.roll_back(terms_);
  context_.symbols_.roll_back(symbols_);
}

egraph::Derivation DerivationContext::derive(const TypedRule& goal, bool explain, LimitPolicy policy) {
  const runtime::ScopedStopwatch watch(seconds_);
  return policy == LimitPolicy::Extended ? deriver_.derive_with_extended_limits(goal, explain)
                                         : deriver_.derive(goal, explain);
}

CandidateResult DerivationContext::derive(const std::string& candidate, Domains domains) {
  CandidateRule parsed = parse_candidate(candidate, library_, bank_, symbols_);
  CandidateResult result;
  result.candidate = parsed.rule.id;
  result.goal_operators = operator_hashes(parsed.rule, bank_);
  result.example = std::move(parsed.example);
  const auto general = algebra::infer_types(parsed.rule, bank_, symbols_, &result.example);
  if (const auto* error = std::get_if<algebra::TypeError>(&general)) {
    result.status = RuleStatus::IllTyped;
    result.detail = error->what;
    return result;
  }
  const TypedRule& goal = std::get<TypedRule>(general);
  result.rule = algebra::to_string(goal.rule, bank_, symbols_);
  result.operators = std::max(bank_.nodes(goal.rule.source).size(), bank_.nodes(goal.rule.target).size());
  // Derivations compare values only; domains are compared separately.
  const auto have_equal_domains = [&] {
    return domains == Domains::Equal || !algebra::applies_partial_function(goal.rule, bank_) ||
           has_same_domain(result.rule, library_, {});
  };
  const egraph::Derivation derivation = derive(goal, true, LimitPolicy::Default);
  if (const auto* derived = std::get_if<egraph::Derived>(&derivation); derived != nullptr && have_equal_domains()) {
    set_derivation(*derived, result);
  } else {
    result.estimated_cost = estimated_cost(goal.rule, bank_);
  }
  return result;
}

Implication DerivationContext::is_implied(const std::string& rule, LimitPolicy policy) {
  const egraph::Derivation derivation = derive(typed(rule), false, policy);
  if (std::holds_alternative<egraph::Derived>(derivation)) return Implication::Yes;
  return std::holds_alternative<egraph::Saturated>(derivation) ? Implication::No : Implication::LimitReached;
}

CandidateResult DerivationContext::explain(const std::string& rule, LimitPolicy policy) {
  const TypedRule goal = typed(rule);
  CandidateResult result;
  result.candidate = goal.rule.id;
  result.rule = rule;
  result.goal_operators = operator_hashes(goal.rule, bank_);
  const egraph::Derivation derivation = derive(goal, true, policy);
  if (const auto* derived = std::get_if<egraph::Derived>(&derivation)) {
    set_derivation(*derived, result);
  } else {
    result.detail = std::holds_alternative<egraph::Saturated>(derivation) ? implied_no : implied_limit;
  }
  return result;
}

void DerivationContext::set_derivation(const egraph::Derived& derived, CandidateResult& result) const {
  result.status = RuleStatus::Derived;
  result.instance_count = derived.instances.size();
  result.certificate = derivation_text(derived);
}

/// One line per rule instance.
std::string DerivationContext::derivation_text(const egraph::Derived& derived) const {
  std::string text;
  for (const egraph::RuleInstance& used : derived.instances) {
    const Rule& rule = deriver_.rule(used.rule).rule;
    RuleInstance rule_instance{rule.id, {}, {}};
    for (std::size_t i = 0; i < rule.variables.size(); ++i)
      rule_instance.terms.emplace_back(bank_.term(rule.variables[i]).name, used.variables[i]);
    for (const auto& [atom, value] : used.sizes) rule_instance.sizes.emplace(symbols_.name(atom), value);
    text += to_string(rule_instance, bank_, symbols_) + "\n";
  }
  return text;
}

}  // namespace rulemill::prove
