#include "algebra/language/expression.h"

#include "runtime/error.h"

namespace rulemill::algebra {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) throw runtime::Error("", "division by zero in an index expression");
  const std::int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

}  // namespace

Rational make_rational(std::int64_t num, std::int64_t den) {
  if (den == 0) throw runtime::Error("", "a rational number with denominator zero");
  if (den < 0) {
    num = -num;
    den = -den;
  }
  const std::int64_t divisor = std::gcd(num, den);
  return divisor > 1 ? Rational{num / divisor, den / divisor} : Rational{num, den};
}

Rational operator+(Rational a, Rational b) {
  std::int64_t left, right, num, den;
  const bool overflow = __builtin_mul_overflow(a.num, b.den, &left) || __builtin_mul_overflow(b.num, a.den, &right) ||
                        __builtin_add_overflow(left, right, &num) || __builtin_mul_overflow(a.den, b.den, &den);
  if (overflow) throw runtime::Error("", "overflow in rational arithmetic");
  return make_rational(num, den);
}

Rational operator*(Rational a, Rational b) {
  const Rational p = make_rational(a.num, b.den), q = make_rational(b.num, a.den);
  std::int64_t num, den;
  if (__builtin_mul_overflow(p.num, q.num, &num) || __builtin_mul_overflow(p.den, q.den, &den)) {
    throw runtime::Error("", "overflow in rational arithmetic");
  }
  return make_rational(num, den);
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
      return indices[expr.slot];
    default:
      break;
  }
  const std::int64_t a = evaluate(*expr.a, sizes, indices), b = evaluate(*expr.b, sizes, indices);
  switch (expr.kind) {
    case Kind::Add:
      return a + b;
    case Kind::Sub:
      return a - b;
    case Kind::Mul:
      return a * b;
    case Kind::Div:
      return floor_div(a, b);
    case Kind::Mod:
      return a - b * floor_div(a, b);
    case Kind::Min:
      return a < b ? a : b;
    default:
      return a < b ? b : a;
  }
}

Poly evaluate(const IndexExpr& expr, std::span<const Poly> sizes, std::span<const Poly> indices, Symbols& symbols) {
  using Kind = IndexExpr::Kind;
  switch (expr.kind) {
    case Kind::Constant:
      return Poly(expr.value);
    case Kind::Size:
      return sizes[expr.slot];
    case Kind::Index:
      return indices[expr.slot];
    default:
      break;
  }
  const Poly a = evaluate(*expr.a, sizes, indices, symbols), b = evaluate(*expr.b, sizes, indices, symbols);
  switch (expr.kind) {
    case Kind::Add:
      return a + b;
    case Kind::Sub:
      return a - b;
    case Kind::Mul:
      return a * b;
    case Kind::Div:
      return symbols.floor_div(a, b);
    case Kind::Mod:
      return symbols.mod(a, b);
    case Kind::Min:
      return symbols.min(a, b);
    default:
      return symbols.max(a, b);
  }
}

}  // namespace rulemill::algebra
