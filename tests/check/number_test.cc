#include "check/number.h"
#include "tests/shipped_operators.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace rulemill;
using namespace rulemill::check;

TEST_CASE("a reciprocal is exact, and that of 0 is 0") {
  const Number a = random_number(0x123456789abcdef0ULL);
  CHECK(multiply(a, reciprocal(a)) == from_integer(1));
  CHECK(reciprocal(from_integer(0)) == from_integer(0));
  CHECK(add(a, negate(a)) == from_integer(0));
}

using Wide = unsigned __int128;

TEST_CASE("residues of sums and products are remainders, also of the largest residues") {
  const Number largest = from_integer(-1);
  std::vector<Number> numbers = {from_integer(0), from_integer(1), from_integer(INT64_MAX), largest,
                                 add(largest, largest)};
  for (std::uint64_t bits = 0x9e3779b97f4a7c15ULL; numbers.size() < 200; bits *= 0xbf58476d1ce4e5b9ULL)
    numbers.push_back(random_number(bits));
  for (const Number& a : numbers) {
    for (const Number& b : numbers) {
      const Number sum = add(a, b), product = multiply(a, b);
      for (std::size_t i = 0; i < a.residue.size(); ++i) {
        const Wide prime = Wide{1} + largest.residue[i];
        REQUIRE(sum.residue[i] == static_cast<std::uint64_t>((Wide{a.residue[i]} + b.residue[i]) % prime));
        REQUIRE(product.residue[i] == static_cast<std::uint64_t>(Wide{a.residue[i]} * b.residue[i] % prime));
      }
    }
  }
}

TEST_CASE("numbers whose reals are too close are not compared") {
  CHECK(is_less(from_integer(-1), from_integer(0)));
  CHECK_FALSE(is_less(from_integer(2), from_integer(2)));
  Number close = from_integer(2);
  close.real = 1;
  CHECK_THROWS_AS(is_less(from_integer(1), close), Undecided);
}

TEST_CASE("exp turns sums into products") {
  const algebra::Library& library = shipped_operators();
  const auto functions = library.functions();
  const auto exp = std::ranges::find_if(functions, [](const auto& function) { return function.exponential; });
  REQUIRE(exp != functions.end());
  const auto number = static_cast<std::uint32_t>(exp - functions.begin());
  const Number s = random_number(0x123456789abcdef0ULL), t = random_number(0xfedcba9876543210ULL);
  CHECK(apply(*exp, number, {add(s, t)}) == multiply(apply(*exp, number, {s}), apply(*exp, number, {t})));
  CHECK(apply(*exp, number, {from_integer(0)}) == from_integer(1));
  const Number half = reciprocal(from_integer(2));
  for (const std::int64_t n : {2, -2, 4, -4}) CHECK(apply(*exp, number, {half}) != from_integer(n));
  const auto cos = std::ranges::find(functions, "cos", &algebra::Function::name);
  CHECK(apply(*cos, static_cast<std::uint32_t>(cos - functions.begin()), {from_integer(0)}) == from_integer(1));
}

TEST_CASE("values of roots and logarithms agree if their reals do") {
  const algebra::Library& library = shipped_operators();
  const auto value_of = [&](algebra::Function::Op op, const Number& of) {
    const auto functions = library.functions();
    const auto found = std::ranges::find_if(functions, [&](const auto& f) { return algebra::applies_only(f, op); });
    REQUIRE(found != functions.end());
    return apply(*found, static_cast<std::uint32_t>(found - functions.begin()), {of});
  };
  using Op = algebra::Function::Op;
  const Number s = value_of(Op::Exp, random_number(0x123456789abcdef0ULL)),
               t = value_of(Op::Exp, random_number(0x2468ULL));
  CHECK(agree(value_of(Op::Log, multiply(s, t)), add(value_of(Op::Log, s), value_of(Op::Log, t))));
  CHECK_FALSE(agree(value_of(Op::Log, add(s, t)), add(value_of(Op::Log, s), value_of(Op::Log, t))));
  CHECK(agree(multiply(value_of(Op::Sqrt, multiply(s, s)), t), multiply(s, t)));
  CHECK_FALSE(agree(value_of(Op::Sqrt, multiply(s, t)), s));
  Number close = value_of(Op::Log, s);
  close.residue = t.residue;
  close.real += 1e-9L;
  CHECK_THROWS_AS(agree(close, value_of(Op::Log, s)), Undecided);
}

TEST_CASE("numbers are rounded down, and powers of natural exponents are products") {
  const algebra::Library& library = shipped_operators();
  const auto value_of = [&](const char* name, std::vector<Number> of) {
    const auto functions = library.functions();
    const auto found = std::ranges::find(functions, name, &algebra::Function::name);
    REQUIRE(found != functions.end());
    return apply(*found, static_cast<std::uint32_t>(found - functions.begin()), std::move(of));
  };
  const Number half = reciprocal(from_integer(2)), x = random_number(0x123456789abcdef0ULL);
  CHECK(value_of("floor", {half}) == from_integer(0));
  CHECK(value_of("floor", {negate(half)}) == from_integer(-1));
  CHECK(value_of("floor", {from_integer(-3)}) == from_integer(-3));
  CHECK(value_of("floor", {add(x, from_integer(5))}) == add(value_of("floor", {x}), from_integer(5)));
  CHECK(value_of("round", {add(half, from_integer(2))}) == from_integer(2));
  CHECK(value_of("power", {x, from_integer(2)}) == multiply(x, x));
  CHECK(value_of("power", {from_integer(0), from_integer(0)}) == from_integer(1));
  CHECK(agree(multiply(value_of("power", {from_integer(2), half}), value_of("power", {from_integer(2), half})),
              from_integer(2)));
  Number close = from_integer(2);
  close.residue = x.residue;
  CHECK_THROWS_AS(value_of("floor", {close}), Undecided);
  CHECK(to_natural(from_integer(7)) == 7);
  CHECK_FALSE(to_natural(from_integer(-1)));
  CHECK_FALSE(to_natural(half));
}
