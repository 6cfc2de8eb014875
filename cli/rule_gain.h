// What a rule saves, at the shapes on which it was found; one in general form, at small ones.
#pragma once

#include <optional>

#include "algebra/rules/rule_set.h"

namespace rulemill::cli {

/// The arithmetic of both sides: products that are summed, and elements that are written, of all their nodes.
struct RuleCost {
  std::uint64_t source = 0, target = 0;
  /// Which part of the dearer side's the other one saves: 0 to 1.
  double gain() const;
};

/// At sizes of at most 8 where the record has no example; nothing if these, or the example, do not fix all sizes.
std::optional<RuleCost> cost_at_example(const algebra::RuleRecord& record, algebra::TermBank& bank,
                                        algebra::Symbols& symbols);

}  // namespace rulemill::cli
