// Rules at any rank. A size of a rule through which every operator only passes is a *group*: any number of dimensions
// may stand in its place, none as well (docs/any_rank.md says why, group_lift.h what is checked).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algebra/terms/typing.h"

namespace rulemill::algebra {

/// The typed rule with `rank` sizes for the size `group`, named after it. Nothing if an operator does more with it than
/// pass it through, or has no instance of those ranks. `bank` is of `library`.
std::optional<Rule> with_rank(const Rule& rule, Atom group, std::uint32_t rank, Library& library, TermBank& bank,
                              Symbols& symbols);

/// The rule with its groups marked (Rule::groups), and with as few dimensions as say the same: groups that stand side
/// by side in every tensor are one.
Rule at_any_rank(const Rule& rule, Library& library, TermBank& bank, Symbols& symbols);

/// The rule with a new size before the first (or after the last) dimension of every variable, where every operator
/// takes it and only passes it through. Not implied by the rule: it is to be proved.
std::optional<Rule> widened(const Rule& rule, bool in_front, Library& library, TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
