#include "algebra/sizes/minimal_solutions.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

namespace rulemill::algebra {
namespace {

using Vectors = std::set<UnknownsVector, std::greater<>>;

constexpr std::size_t max_visited = 10'000;  // 215 at most in rules of five operators

/// The left sides of the equations at x.
UnknownsVector values_of(const std::vector<UnknownsVector>& equations, const UnknownsVector& x) {
  UnknownsVector values;
  for (const UnknownsVector& equation : equations)
    values.push_back(std::inner_product(equation.begin(), equation.end(), x.begin(), 0));
  return values;
}

}  // namespace

/// Visits vectors by the sum of their components, from those of sum 1, and increments a component j only if that turns
/// the values A·x back: (A·x)·(A·e_j) < 0. Every minimal solution s is reached: if x < s is visited, then A·(s − x) =
/// −A·x is not 0, or x would be a smaller solution, so that (A·x)·(A·(s − x)) < 0, and thus (A·x)·(A·e_j) < 0 for some
/// j with x_j < s_j. Vectors above a solution are dropped: no other minimal solution is above them.
std::optional<std::vector<UnknownsVector>> minimal_solutions(const std::vector<UnknownsVector>& equations) {
  const std::size_t unknowns = equations.empty() ? 0 : equations.front().size();
  const auto is_zero = [](int value) { return value == 0; };
  Vectors solutions, visited;
  for (std::size_t j = 0; j < unknowns; ++j) {
    UnknownsVector unit(unknowns);
    unit[j] = 1;
    visited.insert(std::move(unit));
  }
  const Vectors units = visited;
  for (std::size_t count = 0; !visited.empty();) {
    count += visited.size();
    if (count > max_visited) return std::nullopt;
    const auto is_solution = [&](const UnknownsVector& x) {
      return std::ranges::all_of(values_of(equations, x), is_zero);
    };
    std::ranges::copy_if(visited, std::inserter(solutions, solutions.end()), is_solution);
    Vectors next;
    for (const UnknownsVector& x : visited) {
      const UnknownsVector values = values_of(equations, x);
      for (const UnknownsVector& unit : units) {
        const UnknownsVector change = values_of(equations, unit);
        if (std::inner_product(values.begin(), values.end(), change.begin(), 0) >= 0) continue;
        UnknownsVector larger = x;
        std::ranges::transform(x, unit, larger.begin(), std::plus<>());
        const bool is_minimal = std::ranges::none_of(
            solutions, [&](const auto& s) { return std::ranges::equal(s, larger, std::less_equal<>()); });
        if (is_minimal) next.insert(std::move(larger));
      }
    }
    visited = std::move(next);
  }
  return std::vector<UnknownsVector>(solutions.begin(), solutions.end());
}

}  // namespace rulemill::algebra
