#include "egraph/derive.h"

#include <algorithm>

#include "algebra/sizes/checked.h"
#include "algebra/terms/equal_products.h"
#include "egraph/explain.h"
#include "egraph/goal.h"
#include "runtime/error.h"

namespace rulemill::egraph {

using algebra::TypedRule;

const char* to_string(LimitReached::Which which) {
  switch (which) {
    case LimitReached::Which::Iterations:
      return "iterations";
    case LimitReached::Which::Nodes:
      return "nodes";
    case LimitReached::Which::Matches:
      return "matches";
    case LimitReached::Which::Numbers:
      return "numbers";
  }
  return "unknown";
}

Limits Limits::times(std::uint32_t factor) const {
  Limits more = *this;
  for (std::uint32_t* count : {&more.iterations, &more.nodes, &more.matches, &more.tries}) *count *= factor;
  for (std::uint32_t* count : {&more.matches_each, &more.tries_each}) *count *= factor * factor;
  return more;
}

struct Deriver::State {
  State(algebra::TermBank& term_bank, algebra::Symbols& symbols, Limits all_limits)
      : bank(term_bank),
        limits(all_limits),
        sizes(term_bank.library(), symbols),
        names(symbols),
        egraph(term_bank.library(), sizes),
        saturation(index, egraph) {}

  Derivation derive(const TypedRule& rule, bool explain);
  std::vector<RuleInstance> explain(Goal& goal) const;

  algebra::TermBank& bank;
  Limits limits;
  SizeTable sizes;
  CanonicalSizes names;
  RuleIndex index;
  std::vector<TypedRule> rules;
  EGraph egraph;
  Saturation saturation;
  DeriveStatistics statistics;
};

Deriver::Deriver(algebra::TermBank& bank, algebra::Symbols& symbols, Limits limits)
    : state_(std::make_unique<State>(bank, symbols, limits)) {}
Deriver::~Deriver() = default;
Deriver::Deriver(Deriver&&) noexcept = default;
Deriver& Deriver::operator=(Deriver&&) noexcept = default;

std::uint32_t Deriver::add(const TypedRule& rule) {
  RM_CHECK(rule.rule.shapes.size() == rule.rule.variables.size(), "a rule is typed before it is used");
  RM_CHECK(rule.rule.source.size() == rule.rule.target.size(), "the sides of a rule have equally many outputs");
  state_->rules.push_back(rule);
  return state_->index.add(compile(rule, state_->bank, state_->sizes));
}

void Deriver::enable(std::uint32_t rule, bool enabled) { state_->index.enable(rule, enabled); }
std::uint32_t Deriver::rule_count() const { return state_->index.size(); }
const TypedRule& Deriver::rule(std::uint32_t number) const { return state_->rules[number]; }
const DeriveStatistics& Deriver::statistics() const { return state_->statistics; }

Deriver::Mark Deriver::mark() const { return {rule_count(), state_->sizes.poly_count(), state_->names.count()}; }

void Deriver::roll_back(const Mark& mark) {
  state_->index.truncate(mark.rules);
  state_->rules.resize(mark.rules);
  state_->egraph.clear();
  state_->saturation.forget();
  state_->names.roll_back(mark.names);
  state_->sizes.roll_back(mark.sizes);
}

Derivation Deriver::derive(const TypedRule& rule, bool explain) {
  RM_CHECK(rule.rule.shapes.size() == rule.rule.variables.size(), "a goal is typed before it is derived");
  try {
    const auto dealt_out = algebra::with_equal_products_dealt_out(rule, state_->bank, state_->sizes.symbols());
    return state_->derive(dealt_out ? dealt_out->rule : rule, explain);
  } catch (const algebra::Overflow&) {  // rules can make tensors larger than any that the goal has
    return LimitReached{LimitReached::Which::Numbers};
  }
}

Derivation Deriver::derive_harder(const TypedRule& goal, bool explain) {
  constexpr std::uint32_t factor = 4;
  Derivation derivation = derive(goal, explain);
  if (!std::holds_alternative<LimitReached>(derivation)) return derivation;
  const Limits ordinary = state_->limits;
  state_->limits = ordinary.times(factor);
  derivation = derive(goal, explain);
  state_->limits = ordinary;
  return derivation;
}

Derivation Deriver::State::derive(const TypedRule& rule, bool explain) {
  egraph.clear();
  Goal goal(rule, bank, names, egraph);
  const auto same_type = [&](const auto& output) { return egraph.shape(output.first) == egraph.shape(output.second); };
  if (!std::ranges::all_of(goal.outputs(), same_type)) {
    statistics = {};
    return Saturated{};
  }
  const Saturation::Outcome outcome = saturation.run(goal.outputs(), goal.operators() + limits.extra_operators, limits);
  statistics = {saturation.counts().iterations, egraph.node_count(), egraph.class_count(), saturation.counts().matches};
  switch (outcome) {
    case Saturation::Outcome::Reached:
      return Derived{explain ? this->explain(goal) : std::vector<RuleInstance>{}};
    case Saturation::Outcome::Saturated:
      return Saturated{};
    case Saturation::Outcome::IterationLimit:
      return LimitReached{LimitReached::Which::Iterations};
    case Saturation::Outcome::NodeLimit:
      return LimitReached{LimitReached::Which::Nodes};
    case Saturation::Outcome::MatchLimit:
      break;
  }
  return LimitReached{LimitReached::Which::Matches};
}

std::vector<RuleInstance> Deriver::State::explain(Goal& goal) const {
  Explainer explainer(saturation, egraph);
  for (const auto& [source, target] : goal.outputs()) explainer.add(source, target);
  std::vector<RuleInstance> instances;
  for (const std::uint32_t number : explainer.applications()) {
    const Application& application = saturation.application(number);
    const CompiledRule& rule = index.rule(application.use.rule);
    const std::span<const std::uint32_t> words = saturation.words(application);
    RuleInstance instance{application.use.rule, {}, {}};
    for (std::size_t v = 0; v < rule.variables.size(); ++v) instance.variables.push_back(goal.term(words[v]));
    for (std::size_t s = 0; s < rule.sizes.size(); ++s) {
      instance.sizes.emplace_back(rule.sizes[s], goal.size(SizeId{words[rule.variables.size() + s]}));
    }
    std::ranges::sort(instance.sizes);
    if (std::ranges::find(instances, instance) == instances.end()) instances.push_back(std::move(instance));
  }
  return instances;
}

}  // namespace rulemill::egraph
