#include "egraph/derive.h"

#include <algorithm>

#include "algebra/sizes/checked.h"
#include "algebra/terms/factor_refinement.h"
#include "egraph/explain.h"
#include "egraph/goal.h"
#include "runtime/text/error.h"

namespace rulemill::egraph {

using algebra::TypedRule;

const char* to_string(LimitReached::Kind kind) {
  switch (kind) {
    case LimitReached::Kind::Iterations:
      return "iterations";
    case LimitReached::Kind::Nodes:
      return "nodes";
    case LimitReached::Kind::Matches:
      return "matches";
    case LimitReached::Kind::Overflow:
      return "numbers";
  }
  return "unknown";
}

struct Deriver::Impl {
  Impl(algebra::TermBank& term_bank, algebra::Symbols& symbols, Limits all_limits)
      : bank(term_bank),
        limits(all_limits),
        sizes(term_bank.library(), symbols),
        canonical_sizes(symbols),
        egraph(term_bank.library(), sizes),
        saturation(index, egraph) {}

  Derivation derive(const TypedRule& rule, bool explain);
  std::vector<RuleInstance> explain(Goal& goal) const;

  algebra::TermBank& bank;
  Limits limits;
  SizeTable sizes;
  CanonicalSizes canonical_sizes;
  RuleIndex index;
  std::vector<TypedRule> rules;
  EGraph egraph;
  Saturation saturation;
  DeriveStatistics statistics;
};

Deriver::Deriver(algebra::TermBank& bank, algebra::Symbols& symbols, Limits limits)
    : impl_(std::make_unique<Impl>(bank, symbols, limits)) {}
Deriver::~Deriver() = default;
Deriver::Deriver(Deriver&&) noexcept = default;
Deriver& Deriver::operator=(Deriver&&) noexcept = default;

std::uint32_t Deriver::add(const TypedRule& rule) {
  RM_CHECK(rule.rule.shapes.size() == rule.rule.variables.size(), "a rule is typed before it is used");
  RM_CHECK(rule.rule.source.size() == rule.rule.target.size(), "the sides of a rule have equally many outputs");
  impl_->rules.push_back(rule);
  return impl_->index.add(compile(rule, impl_->bank, impl_->sizes));
}

void Deriver::enable(std::uint32_t rule, bool enabled) { impl_->index.enable(rule, enabled); }
std::uint32_t Deriver::rule_count() const { return impl_->index.size(); }
const TypedRule& Deriver::rule(std::uint32_t number) const { return impl_->rules[number]; }
const DeriveStatistics& Deriver::statistics() const { return impl_->statistics; }

Deriver::Mark Deriver::mark() const {
  return {rule_count(), impl_->sizes.poly_count(), impl_->canonical_sizes.count()};
}

void Deriver::roll_back(const Mark& mark) {
  impl_->index.truncate(mark.rules);
  impl_->rules.resize(mark.rules);
  impl_->egraph.clear();
  impl_->saturation.clear_cache();
  impl_->canonical_sizes.roll_back(mark.canonical_sizes);
  impl_->sizes.roll_back(mark.sizes);
}

Derivation Deriver::derive(const TypedRule& rule, bool explain) {
  RM_CHECK(rule.rule.shapes.size() == rule.rule.variables.size(), "a goal is typed before it is derived");
  if (rule.rule.widens) return Saturated{};  // it is no equation, so no equations imply it
  try {
    const auto refined = algebra::refine_factors(rule, impl_->bank, impl_->sizes.symbols());
    return impl_->derive(refined ? refined->rule : rule, explain);
  } catch (const algebra::Overflow&) {  // rules can create tensors larger than those of the goal
    return LimitReached{LimitReached::Kind::Overflow};
  }
}

Derivation Deriver::derive_with_extended_limits(const TypedRule& goal, bool explain) {
  constexpr std::uint32_t factor = 4;
  Derivation derivation = derive(goal, explain);
  if (!std::holds_alternative<LimitReached>(derivation)) return derivation;
  const Limits ordinary = impl_->limits;
  impl_->limits = ordinary.scaled(factor);
  derivation = derive(goal, explain);
  impl_->limits = ordinary;
  return derivation;
}

Derivation Deriver::Impl::derive(const TypedRule& rule, bool explain) {
  egraph.clear();
  Goal goal(rule, bank, canonical_sizes, egraph);
  const auto same_type = [&](const auto& output) { return egraph.shape(output.first) == egraph.shape(output.second); };
  if (!std::ranges::all_of(goal.outputs(), same_type)) {
    statistics = {};
    return Saturated{};
  }
  const Saturation::StopReason stop_reason =
      saturation.run(goal.outputs(), goal.operator_count() + limits.max_growth_over_goal, limits);
  statistics = {saturation.counts().iterations, egraph.node_count(), egraph.class_count(), saturation.counts().matches};
  switch (stop_reason) {
    case Saturation::StopReason::GoalReached:
      return Derived{explain ? this->explain(goal) : std::vector<RuleInstance>{}};
    case Saturation::StopReason::Saturated:
      return Saturated{};
    case Saturation::StopReason::IterationLimit:
      return LimitReached{LimitReached::Kind::Iterations};
    case Saturation::StopReason::NodeLimit:
      return LimitReached{LimitReached::Kind::Nodes};
    case Saturation::StopReason::MatchLimit:
      break;
  }
  return LimitReached{LimitReached::Kind::Matches};
}

std::vector<RuleInstance> Deriver::Impl::explain(Goal& goal) const {
  Explainer explainer(saturation, egraph);
  for (const auto& [source, target] : goal.outputs()) explainer.add(source, target);
  std::vector<RuleInstance> instances;
  for (const std::uint32_t number : explainer.applications()) {
    const Application& application = saturation.application(number);
    const CompiledRule& rule = index.rule(application.direction.rule);
    const std::span<const std::uint32_t> words = saturation.words(application);
    RuleInstance instance{application.direction.rule, {}, {}};
    for (std::size_t v = 0; v < rule.variables.size(); ++v) instance.variables.push_back(goal.term(words[v]));
    for (std::size_t s = 0; s < rule.sizes.size(); ++s)
      instance.sizes.emplace_back(rule.sizes[s], goal.size(SizeId{words[rule.variables.size() + s]}));
    std::ranges::sort(instance.sizes);
    if (std::ranges::find(instances, instance) == instances.end()) instances.push_back(std::move(instance));
  }
  return instances;
}

}  // namespace rulemill::egraph
