// Checks a derivation without trusting the e-graph that found it: every rule instance types and satisfies its
// condition, and the instances imply the goal by ground congruence closure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "egraph/derive.h"

namespace rulemill::egraph {

/// Nothing if the instances imply the goal; else what is wrong, naming the instance. `rules` are numbered as in the
/// instances. Commutative arguments count as equal in either order. Terms are added to `bank`.
std::optional<std::string> check_instances(const algebra::TypedRule& goal, std::span<const RuleInstance> instances,
                                           std::span<const algebra::TypedRule> rules, algebra::TermBank& bank,
                                           algebra::Symbols& symbols);

}  // namespace rulemill::egraph
