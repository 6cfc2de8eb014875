// Linear equations in natural numbers: the minimal solutions, of which all other solutions are sums (the Hilbert
// basis).
#pragma once

#include <optional>
#include <vector>

namespace rulemill::algebra {

/// A number for each unknown: of a solution, or the coefficients of an equation Σ coefficient · unknown = 0.
using UnknownsVector = std::vector<int>;

/// Returns the minimal solutions other than zero, in lexicographic order, largest first. A solution is minimal if no
/// other one is at most as large in every unknown. So every solution is a sum of minimal ones: a minimal one below it
/// leaves a smaller solution. All equations have equally many unknowns. nullopt if the search is too large. Algorithm:
/// E. Contejean and H. Devie, An efficient incremental algorithm for solving systems of linear Diophantine equations,
/// 1994.
std::optional<std::vector<UnknownsVector>> minimal_solutions(const std::vector<UnknownsVector>& equations);

}  // namespace rulemill::algebra
