// Finds values of a law's variables at which one side of it is a given sum. Not trusted: the kernel checks the
// instance.
#pragma once

#include <optional>
#include <vector>

#include "check/kernel/statement.h"

namespace rulemill::prove {

using LawValues = std::vector<std::optional<check::Sum>>;

/// Returns up to `max_matches` ways. A product of variables is divided at its first factor; a variable of a condition
/// c > 0 takes the number and the factors that all products have and that are positive by their signs.
std::vector<LawValues> match_law(const algebra::LawEquation& law, const algebra::ScalarExpr& side,
                                 const check::Sum& sum, const check::Statement& statement);
/// The number and the positive factors that all products of the sum have, without the indices, and the rest; nothing if
/// that is 1.
std::optional<std::pair<check::Sum, check::Sum>> divide_by_positive(const check::Sum& sum,
                                                                    const std::vector<check::Atom>& without,
                                                                    const check::Statement& statement);
/// The values as a step takes them: variables that do not occur are 0.
std::vector<check::Sum> to_sums(const LawValues& values);

}  // namespace rulemill::prove
