#include "optimize/gpu/lowering/index_range.h"

#include <catch2/catch.hpp>
#include <random>

#include "algebra/sizes/checked.h"

namespace rulemill::optimize::gpu {
namespace {

using algebra::Atom;
using algebra::Poly;

struct Indices {
  algebra::Symbols symbols;
  std::vector<Atom> atoms;
  Extents extents;

  explicit Indices(const std::vector<std::int64_t>& sizes) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      atoms.push_back(symbols.index("i" + std::to_string(i)));
      extents[atoms.back()] = sizes[i];
    }
  }
  std::int64_t value(const Poly& poly, const std::vector<std::int64_t>& indices) const {
    return symbols.evaluate(poly, [&](Atom atom) {
      for (std::size_t i = 0; i < atoms.size(); ++i) {
        if (atoms[i] == atom) return indices[i];
      }
      throw runtime::Error("test", "an unknown index");
    });
  }
  Poly index(std::size_t i) const { return Poly(atoms[i]); }
};

TEST_CASE("indices of a reshaped tensor simplify to the original indices", "[gpu]") {
  Indices indices({6, 8, 4});
  const Poly position = indices.index(0) * Poly(32) + indices.index(1) * Poly(4) + indices.index(2);
  const auto simplified = [&](const Poly& poly) { return simplify(poly, indices.extents, indices.symbols); };
  CHECK(simplified(indices.symbols.mod(position, 4)) == indices.index(2));
  CHECK(simplified(indices.symbols.floor_div(position, 32)) == indices.index(0));
  CHECK(simplified(indices.symbols.mod(indices.symbols.floor_div(position, 4), 8)) == indices.index(1));
  // A row of 8 elements is half of a row of 4 times 8.
  CHECK(simplified(indices.symbols.floor_div(position, 8)) ==
        indices.index(0) * Poly(4) + indices.symbols.floor_div(indices.index(1), 2));
  CHECK(simplified(indices.symbols.min(indices.index(0), 5)) == indices.index(0));
  CHECK(simplified(indices.symbols.max(indices.index(0), indices.index(2) + Poly(9))) == indices.index(2) + Poly(9));
}

TEST_CASE("an index without extent and a possibly zero divisor are errors", "[gpu]") {
  Indices indices({3});
  CHECK_THROWS_AS(range_of(Poly(indices.symbols.index("elsewhere")), indices.extents, indices.symbols), runtime::Error);
  CHECK_THROWS_AS(range_of(indices.symbols.floor_div(indices.index(0) + Poly(7), indices.index(0)), indices.extents,
                           indices.symbols),
                  algebra::Overflow);
}

/// Returns a random expression of sums, multiples, quotients, remainders, minima and maxima.
Poly random_poly(Indices& indices, int depth, std::mt19937& random) {
  const auto below = [&](int end) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(end)); };
  if (depth == 0) return below(3) == 0 ? Poly(below(9) - 4) : indices.index(random() % indices.atoms.size());
  const Poly a = random_poly(indices, depth - 1, random), b = random_poly(indices, depth - 1, random);
  switch (below(7)) {
    case 0:
      return a + b * Poly(below(9) - 4);
    case 1:
      return a - b;
    case 2:
      return a * Poly(below(12) + 1) + b;
    case 3:
      return indices.symbols.floor_div(a * Poly(below(4) + 1) + b, below(12) + 1);
    case 4:
      return indices.symbols.mod(a * Poly(below(4) + 1) + b, below(12) + 1);
    case 5:
      return indices.symbols.min(a, b);
    default:
      return indices.symbols.max(a, b);
  }
}

TEST_CASE("what is simplify is equal indices every index, and in the range", "[gpu]") {
  std::mt19937 random(5);
  std::size_t changed = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const std::vector<std::int64_t> sizes{1 + static_cast<std::int64_t>(random() % 5),
                                          1 + static_cast<std::int64_t>(random() % 7),
                                          1 + static_cast<std::int64_t>(random() % 4)};
    Indices indices(sizes);
    const Poly poly = random_poly(indices, 3, random), simplified = simplify(poly, indices.extents, indices.symbols);
    changed += poly == simplified ? 0 : 1;
    const Range range = range_of(simplified, indices.extents, indices.symbols);
    for (std::int64_t i = 0; i < sizes[0] * sizes[1] * sizes[2]; ++i) {
      const std::vector<std::int64_t> position{i / (sizes[1] * sizes[2]), i / sizes[2] % sizes[1], i % sizes[2]};
      const std::int64_t expected = indices.value(poly, position);
      INFO(indices.symbols.to_string(poly) << " as " << indices.symbols.to_string(simplified));
      REQUIRE(indices.value(simplified, position) == expected);
      REQUIRE(range.low <= expected);
      REQUIRE(expected <= range.high);
    }
  }
  CHECK(changed > 100);
}

}  // namespace
}  // namespace rulemill::optimize::gpu
