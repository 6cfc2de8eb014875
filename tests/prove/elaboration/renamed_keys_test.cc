#include "prove/elaboration/renamed_keys.h"

#include <catch2/catch.hpp>

using namespace rulemill;
using namespace rulemill::prove;
using algebra::Poly;
using check::Atoms;
using check::Obligation;

TEST_CASE("obligations that differ in the names of bound indices and in their order have one key") {
  Atoms atoms;
  RenamedKeys keys(atoms);
  const Poly n = atoms.size("n"), g = atoms.size("g");
  const auto obligation = [&](check::Atom outer, check::Atom inner) {
    const Poly q = atoms.floor_div(Poly(inner) + g * Poly(outer), g);
    return Obligation{"test", {{false, Poly(outer)}, {false, n - 1 - q}}, check::Guard{false, q - Poly(inner)}, {}};
  };
  const auto a = atoms.fresh_bound(), b = atoms.fresh_bound();
  const Obligation first = obligation(a, b);
  Obligation second = obligation(b, a);
  REQUIRE(first.given != second.given);
  CHECK(keys.key(first) == keys.key(second));
  second.what = "another";
  second.lemmas.emplace_back(n, g);
  CHECK(keys.key(first) == keys.key(second));
  // Indices are numbered as they occur first, and then the guards are sorted.
  const check::Guards given = {{false, Poly(a)}, {false, Poly(b)}, {true, n - g}};
  CHECK(keys.key(given, Poly(a)) == keys.key({{false, Poly(b)}, {true, n - g}, {false, Poly(a)}}, Poly(b)));
}

TEST_CASE("obligations that differ in more than the names of bound indices have different keys") {
  Atoms atoms;
  RenamedKeys keys(atoms);
  const Poly n = atoms.size("n"), m = atoms.size("m"), a = Poly(atoms.fresh_bound()), b = Poly(atoms.fresh_bound());
  const std::vector<Obligation> different = {
      {"test", {{false, a + b}}, check::Guard{false, a}, {}},
      {"test", {{true, a + b}}, check::Guard{false, a}, {}},
      {"test", {{false, a + b}}, check::Guard{true, a}, {}},
      {"test", {{false, a + b}}, check::Guard{false, a + b}, {}},
      {"test", {{false, a + b}, {false, a}}, std::nullopt, {}},
      {"test", {{false, a + a}}, check::Guard{false, a}, {}},
      {"test", {{false, a + n}}, check::Guard{false, a}, {}},
      {"test", {{false, a + m}}, check::Guard{false, a}, {}},
      {"test", {{false, a + atoms.output(0)}}, check::Guard{false, a}, {}},
      {"test", {{false, a * b}}, check::Guard{false, a}, {}},
      {"test", {{false, atoms.floor_div(a, n)}}, check::Guard{false, a}, {}},
      {"test", {{false, atoms.floor_div(n, a)}}, check::Guard{false, a}, {}},
      {"test", {{false, atoms.min(a, n)}}, check::Guard{false, a}, {}},
  };
  for (std::size_t i = 0; i < different.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      CAPTURE(i, j);
      CHECK(keys.key(different[i]) != keys.key(different[j]));
    }
  }
}
