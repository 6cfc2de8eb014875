#include "algebra/sizes/poly.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <random>

#include "algebra/sizes/checked.h"

using namespace rulemill::algebra;

namespace {

struct Sizes {
  Symbols symbols;
  Poly g{symbols.size("g")}, h{symbols.size("h")}, m{symbols.size("m")}, G{symbols.size("G")};
  Poly i{symbols.index("i")}, j{symbols.index("j")};
};

/// Random polynomials with divisions, minima and maxima, over three sizes and an index.
Poly random_poly(Symbols& symbols, const std::vector<Atom>& atoms, std::mt19937& random, int depth) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  if (depth == 0) return pick(3) == 0 ? Poly(pick(7) - 3) : Poly(atoms[random() % atoms.size()]);
  const Poly a = random_poly(symbols, atoms, random, depth - 1);
  const Poly b = random_poly(symbols, atoms, random, depth - 1);
  switch (pick(8)) {
    case 0:
    case 1:
      return a + b;
    case 2:
      return a - b;
    case 3:
    case 4:
      return a * b;
    case 5:
      return symbols.min(a, b);
    case 6:
      return symbols.max(a, b);
    default: {
      const Poly s(atoms[random() % 3]);  // a size: never zero
      const Poly by = pick(2) == 0 ? s : pick(2) == 0 ? s + Poly(atoms[random() % 3]) : Poly(1 + pick(4));
      return symbols.floor_div(a, by);
    }
  }
}

}  // namespace

TEST_CASE("equal polynomials have equal terms however they were built") {
  Sizes s;
  CHECK((s.g + s.h) * (s.g - s.h) == s.g * s.g - s.h * s.h);
  CHECK((s.g + 1) * (s.g + 1) - s.g * s.g == 2 * s.g + 1);
  CHECK((s.g - s.g).is_zero());
  CHECK(Poly(5).constant() == 5);
  CHECK(Poly(0).constant() == 0);
  CHECK_FALSE(s.g.constant().has_value());
  CHECK((3 * s.g + s.h).coefficient(*s.g.atom()) == 3);
  CHECK((s.g * s.h + s.g).hash() == (s.g + s.h * s.g).hash());
}

TEST_CASE("sizes and indices are interned by name, and fresh ones are unused") {
  Symbols symbols;
  CHECK(symbols.size("n") == symbols.size("n"));
  CHECK(symbols.size("n") != symbols.index("n"));
  const Atom taken = symbols.size("d1");
  CHECK(symbols.fresh_size("d") != taken);
}

TEST_CASE("floor division takes whole multiples out exactly") {
  Sizes s;
  Symbols& y = s.symbols;
  CHECK(y.floor_div(s.i + s.G * s.m, s.m) == s.G + y.floor_div(s.i, s.m));
  CHECK(y.floor_div(s.G * s.m, s.m) == s.G);
  CHECK(y.floor_div(s.g, s.g) == Poly(1));
  CHECK(y.floor_div(s.g, 1) == s.g);
  CHECK(y.floor_div(7, 2) == Poly(3));
  CHECK(y.floor_div(-7, 2) == Poly(-4));
  CHECK(y.floor_div(4 * s.g + 3, 4) == s.g);
  CHECK(y.floor_div(2 * s.g - 1, 2) == s.g - 1);
  CHECK(y.floor_div(2 * s.i + 5, 4) == 1 + y.floor_div(s.i, 2));
  CHECK(y.floor_div(s.i * s.G, s.m * s.G) == y.floor_div(s.i, s.m));
  CHECK(y.floor_div((s.g + s.h) * s.m, s.g + s.h) == s.m);
  CHECK(y.floor_div(s.i + 2 * s.g + 2 * s.h, s.g + s.h) == 2 + y.floor_div(s.i, s.g + s.h));
  CHECK(y.floor_div(s.i, -2) == y.floor_div(-s.i, 2));
  CHECK_THROWS_AS(y.floor_div(s.g, 0), rulemill::runtime::Error);
}

TEST_CASE("floor division by a divisor of unknown sign is exact wherever the divisor is not zero") {
  std::mt19937 random(23);
  std::size_t negative = 0;
  for (int round = 0; round < 4000; ++round) {
    Symbols symbols;
    const std::vector<Atom> atoms = {symbols.size("a"), symbols.size("b"), symbols.size("c"), symbols.index("i")};
    const auto linear = [&](std::size_t variables) {
      Poly sum(static_cast<std::int64_t>(random() % 7) - 3);
      for (std::size_t v = 0; v < variables; ++v)
        sum += Poly(atoms[v]) * Poly(static_cast<std::int64_t>(random() % 9) - 4);
      return sum;
    };
    const Poly a = linear(4) * (random() % 3 == 0 ? linear(3) : Poly(1));
    const Poly b = linear(3) * (random() % 3 == 0 ? Poly(atoms[random() % 3]) : Poly(1));
    const Poly inner = random() % 2 == 0 ? linear(3) : Poly(1);
    if (b.is_zero() || inner.is_zero()) continue;
    const Poly quotient = symbols.floor_div(a, b);
    const Poly nested = symbols.floor_div(symbols.floor_div(a, inner), b);
    for (int point = 0; point < 20; ++point) {
      const auto size = [&] { return 1 + static_cast<std::int64_t>(random() % 60); };
      const std::int64_t values[] = {size(), size(), size(), size() - 30};
      const auto value = [&](Atom atom) {
        return values[static_cast<std::size_t>(std::find(atoms.begin(), atoms.end(), atom) - atoms.begin())];
      };
      const std::int64_t x = symbols.evaluate(a, value), y = symbols.evaluate(b, value);
      const std::int64_t z = symbols.evaluate(inner, value);
      if (y == 0 || z == 0) continue;
      negative += y < 0 ? 1 : 0;
      const auto floor = [](std::int64_t n, std::int64_t d) {
        return n / d - (n % d != 0 && (n < 0) != (d < 0) ? 1 : 0);
      };
      if (symbols.evaluate(quotient, value) == floor(x, y) && symbols.evaluate(nested, value) == floor(floor(x, z), y))
        continue;
      FAIL_CHECK("(" << symbols.to_string(a) << ") / (" << symbols.to_string(b) << ") = " << symbols.to_string(quotient)
                     << ", of the quotient by " << symbols.to_string(inner) << ": " << symbols.to_string(nested));
    }
  }
  CHECK(negative > 10'000);
}

TEST_CASE("numbers beyond 64 bits throw Overflow") {
  Symbols symbols;
  const Poly n(symbols.size("n"));
  const Poly large(std::int64_t{1} << 62);
  CHECK_THROWS_AS(large + large, Overflow);
  CHECK_THROWS_AS(large * 2, Overflow);
  CHECK_THROWS_AS(-large - large, Overflow);
  CHECK_THROWS_AS(Poly(std::numeric_limits<std::int64_t>::min()), Overflow);
  CHECK_THROWS_AS(symbols.evaluate(large * n, [](Atom) { return 2; }), Overflow);
  CHECK(floor_quotient(std::numeric_limits<std::int64_t>::max(), -1) == -std::numeric_limits<std::int64_t>::max());
  CHECK_THROWS_AS(floor_quotient(std::numeric_limits<std::int64_t>::min(), -1), Overflow);
  CHECK(element_count(std::vector<std::int64_t>{std::int64_t{1} << 31, std::int64_t{1} << 30}) == std::int64_t{1}
                                                                                                      << 61);
  CHECK_THROWS_AS(element_count(std::vector<std::int64_t>{std::int64_t{1} << 32, std::int64_t{1} << 32}), Overflow);
}

TEST_CASE("nested floor divisions by positive sizes become one") {
  Sizes s;
  Symbols& y = s.symbols;
  CHECK(y.floor_div(y.floor_div(s.i, s.g), s.h) == y.floor_div(s.i, s.g * s.h));
  CHECK(y.floor_div(y.floor_div(s.i, 2), 3) == y.floor_div(s.i, 6));
  CHECK(y.floor_div(y.floor_div(s.i, 2) + 1, 3) == y.floor_div(s.i + 2, 6));
  CHECK(y.floor_div(y.floor_div(s.i, 2) - 1, 2) == y.floor_div(s.i - 2, 4));
}

TEST_CASE("a division whose value is the same for all sizes is replaced by it") {
  Sizes s;
  Symbols& y = s.symbols;
  CHECK(y.floor_div(s.g - 1, s.g) == Poly(0));
  CHECK(y.floor_div(s.g, s.g + s.h) == Poly(0));
  CHECK(y.mod(s.g * s.h + s.g - 1, s.g) == s.g - 1);
}

TEST_CASE("minimum and maximum of an ordered pair simplify to one of the two") {
  Sizes s;
  Symbols& y = s.symbols;
  CHECK(y.min(s.g, s.g + s.h) == s.g);
  CHECK(y.max(s.g, s.g + s.h) == s.g + s.h);
  CHECK(y.min(s.g, s.h) == y.min(s.h, s.g));
  CHECK(y.max(s.g + 1, s.h + 1) == 1 + y.max(s.g, s.h));
  CHECK(y.max(s.g, s.g) == s.g);
  CHECK(y.min(s.g, s.h) != y.max(s.g, s.h));
}

TEST_CASE("signs that follow from coefficients, divisions and extrema are shown") {
  Sizes s;
  Symbols& y = s.symbols;
  CHECK(y.is_nonnegative(s.g - 1));
  CHECK_FALSE(y.is_nonnegative(s.g - 2));
  CHECK(y.is_nonnegative(s.g * s.h - s.g));
  CHECK(y.is_nonnegative(s.g * s.h - s.g - s.h + 1));
  CHECK_FALSE(y.is_nonnegative(s.g - s.h));
  CHECK_FALSE(y.is_nonnegative(s.i));
  const Poly half = y.floor_div(s.g - 1, 2);
  CHECK(y.is_nonnegative(half));
  CHECK(y.is_nonnegative(s.g - 1 - half));
  CHECK(y.is_nonnegative(s.g - 1 - 2 * half));
  CHECK_FALSE(y.is_nonnegative(half - 1));
  CHECK(y.is_nonnegative(s.g - y.min(s.g, s.h)));
  CHECK(y.is_nonnegative(y.max(s.g, s.h) - s.h));
  CHECK(y.is_positive(y.min(s.g, s.h)));
}

TEST_CASE("a sign is shown if and only if no coefficient is negative after increasing every size by one") {
  Sizes s;
  const std::vector<Poly> sizes = {s.g, s.h, s.m, s.G};
  Substitution larger;
  for (const Poly& size : sizes) larger.emplace(*size.atom(), size + 1);
  std::mt19937 random(11);
  const auto pick = [&](unsigned n) { return static_cast<std::int64_t>(random() % n); };
  int shown = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Poly poly(pick(5));
    for (std::int64_t term = 0; term < 2 + pick(4); ++term) {
      Poly product(term == 0 ? 1 + pick(4) : pick(7) - 3);
      for (std::int64_t factor = 0; factor < 1 + pick(5); ++factor) product = product * sizes[random() % sizes.size()];
      poly += product;
    }
    const Poly shifted = s.symbols.substitute(poly, larger);
    const bool expected = std::ranges::all_of(shifted.terms(), [](const Poly::Term& t) { return t.coefficient >= 0; });
    INFO(s.symbols.to_string(poly));
    CHECK(s.symbols.is_nonnegative(poly) == expected);
    shown += expected ? 1 : 0;
  }
  CHECK(shown > 400);
  CHECK(shown < 1800);
}

TEST_CASE("the sign of a product of many sizes is shown without expanding it") {
  Symbols symbols;
  Poly all(1), half(1);
  for (int i = 0; i < 16; ++i) {
    const Poly size(symbols.size("s" + std::to_string(i)));
    all = all * size;
    if (i < 8) half = half * size;
  }
  CHECK(symbols.is_positive(all));
  CHECK(symbols.is_nonnegative(all - half));
  CHECK_FALSE(symbols.is_positive(all - half));
}

TEST_CASE("the difference of floors with one divisor is at least the floor of the difference") {
  Sizes s;
  Symbols& y = s.symbols;
  const Poly low = y.floor_div(s.g, 2), high = y.floor_div(s.g + 1, 2);
  CHECK(y.min(low, high) == low);
  CHECK(y.max(low, high) == high);
  CHECK(y.is_nonnegative(1 + low - high));
  CHECK_FALSE(y.is_nonnegative(low - high));
  CHECK(y.is_nonnegative(y.floor_div(s.g + s.h, 3) - y.floor_div(s.g, 3)));
  CHECK_FALSE(y.is_nonnegative(y.floor_div(s.g, 3) - y.floor_div(s.g, 2)));
}

TEST_CASE("a polynomial shown to be non-negative evaluates to non-negative numbers") {
  std::mt19937 random(11);
  int shown = 0;
  for (int round = 0; round < 4000; ++round) {
    Symbols symbols;
    const std::vector<Atom> atoms{symbols.size("a"), symbols.size("b"), symbols.size("c")};
    const Poly poly = random_poly(symbols, atoms, random, 3) - random_poly(symbols, atoms, random, 2);
    if (!symbols.is_nonnegative(poly)) continue;
    ++shown;
    for (int trial = 0; trial < 20; ++trial) {
      std::map<Atom, std::int64_t> values;
      for (const Atom atom : atoms) values[atom] = 1 + random() % 9;
      CAPTURE(symbols.to_string(poly));
      REQUIRE(symbols.evaluate(poly, [&](Atom atom) { return values.at(atom); }) >= 0);
    }
  }
  CHECK(shown > 500);
}

TEST_CASE("substitution agrees with evaluation on random polynomials") {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    Symbols symbols;
    std::vector<Atom> atoms = {symbols.size("a"), symbols.size("b"), symbols.size("c"), symbols.index("i")};
    const Poly poly = random_poly(symbols, atoms, random, 3);
    std::array<std::int64_t, 4> values{};
    for (int k = 0; k < 4; ++k) {
      values[static_cast<std::size_t>(k)] =
          k < 3 ? 1 + static_cast<std::int64_t>(random() % 5) : static_cast<std::int64_t>(random() % 11) - 5;
    }
    const auto value = [&](Atom atom) { return values[static_cast<std::uint32_t>(atom)]; };
    const std::int64_t expected = symbols.evaluate(poly, value);
    Substitution numbers;
    for (std::size_t k = 0; k < 4; ++k) numbers[atoms[k]] = values[k];
    INFO(symbols.to_string(poly));
    CHECK(symbols.substitute(poly, numbers).constant() == expected);
    if (symbols.is_nonnegative(poly)) CHECK(expected >= 0);
    // In two steps: first to other polynomials, then to numbers.
    const Substitution renamed{{atoms[0], Poly(atoms[1]) + 1}, {atoms[3], Poly(atoms[0]) - Poly(atoms[3])}};
    const Poly step = symbols.substitute(poly, renamed);
    const std::int64_t direct = symbols.evaluate(poly, [&](Atom atom) {
      return atom == atoms[0] ? values[1] + 1 : atom == atoms[3] ? values[0] - values[3] : value(atom);
    });
    INFO(symbols.to_string(step));
    CHECK(symbols.evaluate(step, value) == direct);
  }
}

TEST_CASE("identities of products and divisions hold for random polynomials") {
  std::mt19937 random(11);
  for (int round = 0; round < 1000; ++round) {
    Symbols symbols;
    std::vector<Atom> atoms = {symbols.size("a"), symbols.size("b"), symbols.size("c"), symbols.index("i")};
    const Poly p = random_poly(symbols, atoms, random, 2);
    const Poly q = random_poly(symbols, atoms, random, 2);
    CHECK((p + q) * (p - q) == p * p - q * q);
    CHECK(p * q == q * p);
    const Poly by(atoms[1]);
    CHECK(symbols.floor_div(p + q * by, by) == q + symbols.floor_div(p, by));
  }
}

TEST_CASE("text starts with a positive term and orders terms by decreasing degree") {
  Sizes s;
  CHECK(s.symbols.to_string(2 * s.g * s.h - s.m + 1) == "2*g*h - m + 1");
  CHECK(s.symbols.to_string(1 - s.g) == "1 - g");
  CHECK(s.symbols.to_string(-s.g) == "-g");
  CHECK(s.symbols.to_string(Poly(0)) == "0");
  CHECK(s.symbols.to_string(s.symbols.floor_div(s.i, s.m)) == "div(i, m)");
  CHECK(s.symbols.to_string(Shape{s.g, s.h + 1}) == "[g, h + 1]");
}
