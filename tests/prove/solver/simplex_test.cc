#include "prove/solver/simplex.h"

#include <catch2/catch.hpp>

using rulemill::prove::Simplex;

namespace {

/// Solves rows · x + constants ≥ 0, or = 0 where `equal`.
bool is_infeasible(const std::vector<std::vector<std::int64_t>>& rows, const std::vector<std::int64_t>& constants,
                   const std::vector<bool>& equal = {}) {
  Simplex simplex(rows[0].size());
  for (std::size_t r = 0; r < rows.size(); ++r) simplex.add(rows[r], constants[r], !equal.empty() && equal[r]);
  return simplex.is_infeasible();
}

}  // namespace

TEST_CASE("simplex decides small systems over the rationals") {
  CHECK(is_infeasible({{1}, {-1}}, {0, -1}));                    // x ≥ 0, x ≤ −1
  CHECK_FALSE(is_infeasible({{1}, {-1}}, {0, 0}));               // x = 0
  CHECK(is_infeasible({{1, 1}, {-1, 0}, {0, -1}}, {-3, 1, 1}));  // x + y ≥ 3, x ≤ 1, y ≤ 1
  CHECK_FALSE(is_infeasible({{1, 1}, {-1, 0}, {0, -1}}, {-2, 1, 1}));
  CHECK_FALSE(is_infeasible({{2}, {-2}}, {-1, 1}));              // 2x = 1 has a rational solution
  CHECK(is_infeasible({{1, 2}, {2, 4}}, {0, 1}, {true, true}));  // parallel planes
  CHECK(is_infeasible({{0}}, {-1}));
}

TEST_CASE("simplex combines a chain of inequalities") {
  // x ≥ y + 1, y ≥ z + 1, z ≥ x
  CHECK(is_infeasible({{1, -1, 0}, {0, 1, -1}, {-1, 0, 1}}, {-1, -1, 0}));
  CHECK_FALSE(is_infeasible({{1, -1, 0}, {0, 1, -1}, {-1, 0, 1}}, {-1, -1, 2}));  // z ≥ x − 2
}

TEST_CASE("simplex decides equations") {
  CHECK(is_infeasible({{1}, {1}}, {-1, -2}, {true, true}));                            // x = 1, x = 2
  CHECK_FALSE(is_infeasible({{1, 0}, {0, 1}}, {-1, -2}, {true, true}));                // x = 1, y = 2
  CHECK(is_infeasible({{1, 1}, {-1, 0}, {0, -1}}, {-5, 2, 2}, {true, false, false}));  // x + y = 5, x ≤ 2, y ≤ 2
}

TEST_CASE("simplex reduces large coefficients by their common divisor") {
  const std::int64_t large = std::int64_t{1} << 62;
  CHECK(is_infeasible({{large}, {-large}}, {0, -1}));
}

TEST_CASE("a system without constraints is feasible") {
  Simplex empty(2);
  CHECK_FALSE(empty.is_infeasible());
  Simplex simplex(1);
  simplex.add({1}, 0, false);
  CHECK_FALSE(simplex.is_infeasible());
}
