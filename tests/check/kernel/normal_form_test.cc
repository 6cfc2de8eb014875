#include "check/kernel/normal_form.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace rulemill;
using namespace rulemill::check;

namespace {

Factor read(const Poly& index) { return {Factor::Kind::Read, 0, {index}, {}, {}, {}}; }

/// max_{b: guards} v[index]
Factor maximum(Atom b, const Guards& guards, const Poly& index) {
  return {Factor::Kind::Max, 0, {}, {{Product{{1, 1}, {}, {}, {read(index)}}}}, {b}, guards};
}

}  // namespace

TEST_CASE("a difference has the products of both sums, the second ones negated") {
  Atoms atoms;
  const Product a{{2, 3}, {}, {}, {read(atoms.output(0))}}, b{{1, 2}, {}, {}, {read(atoms.output(1))}};
  const Sum difference = subtract({a}, {b, a});
  REQUIRE(difference.size() == 3);
  CHECK(difference[0] == a);
  CHECK(difference[1].coefficient == Rational{-1, 2});
  CHECK(difference[1].factors == b.factors);
  CHECK(difference[2].coefficient == Rational{-2, 3});
}

TEST_CASE("a dependence on an index is found in quotients, guards and nested sums") {
  Atoms atoms;
  const Atom b = atoms.bound(0), other = atoms.bound(1);
  const Poly n = atoms.size("n");
  CHECK(depends_on(read(atoms.floor_div(Poly(b), n)), {b}, atoms));
  CHECK_FALSE(depends_on(read(atoms.floor_div(Poly(b), n)), {other}, atoms));
  CHECK(depends_on(maximum(other, {{false, Poly(b)}}, Poly(other)), {b}, atoms));
  CHECK(depends_on(maximum(other, {}, Poly(b)), {b}, atoms));
  const Product guarded{{1, 1}, {{false, Poly(b)}}, {}, {read(n)}};
  CHECK(depends_on(guarded, {other, b}, atoms));
  CHECK_FALSE(depends_on(guarded, {other}, atoms));
}

TEST_CASE("sums that differ in the order of guards or in names of indices have one canonical form, at any depth") {
  Atoms atoms;
  const Atom b = atoms.bound(0), c = atoms.bound(1);
  const auto range = [&](Atom index) { return Guards{{false, Poly(index)}, {false, atoms.size("n") - Poly(index)}}; };
  Factor one = maximum(b, range(b), Poly(b)), two = maximum(c, range(c), Poly(c));
  std::ranges::reverse(two.guards);
  CHECK_FALSE(one == two);
  const auto form = [&](const Factor& factor) { return canonical(to_sum(factor), atoms); };
  CHECK(form(one) == form(two));
  CHECK_FALSE(form(one) == form(maximum(c, range(c), Poly(b))));
  const auto outer = [&](Atom index, const Factor& inner) {
    return Sum{{{1, 1}, range(index), {index}, {read(Poly(index)), inner}}};
  };
  CHECK(canonical(outer(c, one), atoms) == canonical(outer(b, two), atoms));
  CHECK_FALSE(canonical(outer(c, maximum(b, {}, Poly(b))), atoms) ==
              canonical(outer(c, maximum(b, {}, Poly(c))), atoms));
}

TEST_CASE("every polynomial of a product is visited") {
  Atoms atoms;
  const Atom b = atoms.bound(0);
  Product product{{1, 1}, {{true, Poly(1)}}, {}, {read(Poly(2)), maximum(b, {{false, Poly(3)}}, Poly(4))}};
  Poly sum;
  for_each_poly(product, [&](Poly& poly) { sum += poly; });
  CHECK(sum == Poly(10));
}
