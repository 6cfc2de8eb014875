#include "optimize/gpu/index_range.h"

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
  std::int64_t value(const Poly& poly, const std::vector<std::int64_t>& at) const {
    return symbols.evaluate(poly, [&](Atom atom) {
      for (std::size_t i = 0; i < atoms.size(); ++i) {
        if (atoms[i] == atom) return at[i];
      }
      throw runtime::Error("test", "an index that was never made");
    });
  }
  Poly index(std::size_t i) const { return Poly(atoms[i]); }
};

TEST_CASE("places in a reshaped tensor are found again", "[gpu]") {
  Indices at({6, 8, 4});
  const Poly place = at.index(0) * Poly(32) + at.index(1) * Poly(4) + at.index(2);
  const auto all = [&](const Poly& poly) { return simplified(poly, at.extents, at.symbols); };
  CHECK(all(at.symbols.mod(place, 4)) == at.index(2));
  CHECK(all(at.symbols.floor_div(place, 32)) == at.index(0));
  CHECK(all(at.symbols.mod(at.symbols.floor_div(place, 4), 8)) == at.index(1));
  // Two of the eight rows at once: as if one row had twice the elements.
  CHECK(all(at.symbols.floor_div(place, 8)) == at.index(0) * Poly(4) + at.symbols.floor_div(at.index(1), 2));
  CHECK(all(at.symbols.min(at.index(0), 5)) == at.index(0));
  CHECK(all(at.symbols.max(at.index(0), at.index(2) + Poly(9))) == at.index(2) + Poly(9));
}

TEST_CASE("an index without extent and a divisor that may be zero are errors", "[gpu]") {
  Indices at({3});
  CHECK_THROWS_AS(range_of(Poly(at.symbols.index("elsewhere")), at.extents, at.symbols), runtime::Error);
  CHECK_THROWS_AS(range_of(at.symbols.floor_div(at.index(0) + Poly(7), at.index(0)), at.extents, at.symbols),
                  algebra::Overflow);
}

/// A random expression over the indices: sums, multiples, quotients, remainders, least and largest.
Poly random_poly(Indices& at, int depth, std::mt19937& random) {
  const auto below = [&](int end) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(end)); };
  if (depth == 0) return below(3) == 0 ? Poly(below(9) - 4) : at.index(random() % at.atoms.size());
  const Poly a = random_poly(at, depth - 1, random), b = random_poly(at, depth - 1, random);
  switch (below(7)) {
    case 0:
      return a + b * Poly(below(9) - 4);
    case 1:
      return a - b;
    case 2:
      return a * Poly(below(12) + 1) + b;
    case 3:
      return at.symbols.floor_div(a * Poly(below(4) + 1) + b, below(12) + 1);
    case 4:
      return at.symbols.mod(a * Poly(below(4) + 1) + b, below(12) + 1);
    case 5:
      return at.symbols.min(a, b);
    default:
      return at.symbols.max(a, b);
  }
}

TEST_CASE("what is simplified is equal at every index, and in the range", "[gpu]") {
  std::mt19937 random(5);
  std::size_t changed = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const std::vector<std::int64_t> sizes{1 + static_cast<std::int64_t>(random() % 5),
                                          1 + static_cast<std::int64_t>(random() % 7),
                                          1 + static_cast<std::int64_t>(random() % 4)};
    Indices at(sizes);
    const Poly poly = random_poly(at, 3, random), simple = simplified(poly, at.extents, at.symbols);
    changed += poly == simple ? 0 : 1;
    const Range range = range_of(simple, at.extents, at.symbols);
    for (std::int64_t i = 0; i < sizes[0] * sizes[1] * sizes[2]; ++i) {
      const std::vector<std::int64_t> place{i / (sizes[1] * sizes[2]), i / sizes[2] % sizes[1], i % sizes[2]};
      const std::int64_t expected = at.value(poly, place);
      INFO(at.symbols.to_string(poly) << " as " << at.symbols.to_string(simple));
      REQUIRE(at.value(simple, place) == expected);
      REQUIRE(range.low <= expected);
      REQUIRE(expected <= range.high);
    }
  }
  CHECK(changed > 100);
}

}  // namespace
}  // namespace rulemill::optimize::gpu
