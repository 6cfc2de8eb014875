// Limits on derivations and saturation. All are counts, so results depend on the input only.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rulemill::egraph {

/// Limits on the work of a derivation, and on the terms that it may build.
struct Limits {
  std::uint32_t iterations = 12;  // in each phase (RulePhase)
  std::uint32_t nodes = 5000;
  std::uint32_t matches = 10'000;              // in all iterations
  std::uint32_t matches_per_rule = 200;        // of one direction of a rule, in one iteration
  std::uint32_t node_visits = 20'000'000;      // e-nodes compared with pattern nodes, in all iterations
  std::uint32_t node_visits_per_rule = 3'000;  // of one direction of a rule, in one iteration
  bool rewrite_constants = true;               // also match terms over constants only
  /// Maximum number of operators of a new term, minus those of the smallest term of its class.
  std::uint32_t max_growth_over_class = 0xffffffff;
  /// Maximum number of operators of any term, minus those of the larger side of the goal.
  std::uint32_t max_growth_over_goal = 2;

  /// Multiplies the limits on work by `factor`, those per rule by its square. Keeps the limits on terms.
  Limits scaled(std::uint32_t factor) const {
    const auto multiply = [](std::uint32_t& count, std::uint64_t by) {
      constexpr std::uint64_t max = 0xffffffff;
      count = static_cast<std::uint32_t>(std::min(max, count * std::min(max, by)));
    };
    const std::uint64_t square = std::uint64_t{factor} * factor;
    Limits result = *this;
    for (std::uint32_t* count : {&result.iterations, &result.nodes, &result.matches, &result.node_visits})
      multiply(*count, factor);
    for (std::uint32_t* count : {&result.matches_per_rule, &result.node_visits_per_rule}) multiply(*count, square);
    return result;
  }
};

}  // namespace rulemill::egraph
