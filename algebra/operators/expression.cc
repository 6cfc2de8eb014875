#include "algebra/operators/expression.h"

#include <numeric>

#include "algebra/sizes/checked.h"

namespace rulemill::algebra {

Rational make_rational(std::int64_t num, std::int64_t den) {
  if (den == 0) throw runtime::Error("", "a rational number with denominator zero");
  checked(false, num);
  checked(false, den);
  const std::int64_t divisor = den < 0 ? -std::gcd(num, den) : std::gcd(num, den);
  return {num / divisor, den / divisor};
}

Rational operator+(Rational a, Rational b) {
  // Over the least common denominator, so that sums of fractions with long denominators stay within 64 bits.
  const std::int64_t common = std::gcd(a.den, b.den), left_factor = b.den / common, right_factor = a.den / common;
  const std::int64_t sum = checked_add(checked_multiply(a.num, left_factor), checked_multiply(b.num, right_factor));
  return make_rational(sum, checked_multiply(a.den, left_factor));
}

Rational operator*(Rational a, Rational b) {
  const Rational p = make_rational(a.num, b.den), q = make_rational(b.num, a.den);
  return make_rational(checked_multiply(p.num, q.num), checked_multiply(p.den, q.den));
}

bool is_less(Rational a, Rational b) {
  return static_cast<__int128>(a.num) * b.den < static_cast<__int128>(b.num) * a.den;
}

std::string to_string(Rational value) {
  return value.den == 1 ? std::to_string(value.num) : std::to_string(value.num) + "/" + std::to_string(value.den);
}

std::int64_t evaluate(const IndexExpr& expr, std::span<const std::int64_t> sizes,
                      std::span<const std::int64_t> indices) {
  using Kind = IndexExpr::Kind;
  switch (expr.kind) {
    case Kind::Constant:
      return expr.value;
    case Kind::Size:
      return sizes[expr.slot];
    case Kind::Index:
      RM_CHECK(expr.slot < indices.size(), "an index expression over an index that has no value here");
      return indices[expr.slot];
    default:
      break;
  }
  const std::int64_t a = evaluate(*expr.a, sizes, indices), b = evaluate(*expr.b, sizes, indices);
  switch (expr.kind) {
    case Kind::Add:
      return checked_add(a, b);
    case Kind::Sub:
      return checked_subtract(a, b);
    case Kind::Mul:
      return checked_multiply(a, b);
    case Kind::Div:
      return floor_quotient(a, b);
    case Kind::Mod:
      return checked_subtract(a, checked_multiply(b, floor_quotient(a, b)));
    case Kind::Min:
      return a < b ? a : b;
    default:
      return a < b ? b : a;
  }
}

bool holds(Relation relation, std::int64_t a, std::int64_t b) {
  switch (relation) {
    case Relation::Eq:
      return a == b;
    case Relation::Ne:
      return a != b;
    case Relation::Lt:
      return a < b;
    default:
      return a <= b;
  }
}

}  // namespace rulemill::algebra
