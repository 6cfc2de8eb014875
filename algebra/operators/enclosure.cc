#include "algebra/operators/enclosure.h"

#include <algorithm>

#include "algebra/operators/function_interpreter.h"

namespace rulemill::algebra {
namespace {

using Op = Function::Op;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest = std::numeric_limits<double>::max();

/// The error of a library function, in units of the last place; the largest that the GNU C library states is 2.
constexpr int library_error = 4;

/// Products below this may lose digits of their rounding error.
constexpr double smallest_normal_product = 0x1p-900;

/// A result to the nearest double, and the exact result less this, of which only the sign counts; NaN: not known.
struct Rounded {
  double nearest, error;

  double down() const {
    if (std::isinf(nearest)) return nearest < 0 ? nearest : largest;
    return error >= 0 ? nearest : std::nextafter(nearest, -infinity);
  }
  double up() const {
    if (std::isinf(nearest)) return nearest > 0 ? nearest : -largest;
    return error <= 0 ? nearest : std::nextafter(nearest, infinity);
  }
  Enclosure bounds() const { return {down(), up()}; }
};

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

Rounded add(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

/// 0 · ∞ is 0: an infinite bound stands for finite numbers.
Rounded multiply(double a, double b) {
  if (a == 0 || b == 0) return {0, 0};
  const double product = a * b;
  return {product, std::fabs(product) < smallest_normal_product ? not_known : std::fma(a, b, -product)};
}

Rounded divide(double a, double b) {
  if (a == 0 || std::isinf(b)) return {0, 0};
  const double quotient = a / b;
  const bool is_tiny = std::min(std::fabs(quotient), std::fabs(a)) < smallest_normal_product;
  return {quotient, is_tiny ? not_known : std::copysign(1.0, b) * std::fma(-quotient, b, a)};
}

Rounded square_root(double a) {
  if (a == 0) return {0, 0};
  const double root = std::sqrt(a);
  return {root, a < smallest_normal_product ? not_known : std::fma(-root, root, a)};
}

/// The bounds of the values `of(x, y)` at the corners: it is monotone in both numbers.
template <class Of>
Enclosure at_corners(Enclosure a, Enclosure b, const Of& of) {
  Enclosure result = of(a.low, b.low).bounds();
  if (a.is_exact() && b.is_exact()) return result;
  for (const Rounded& corner : {of(a.low, b.high), of(a.high, b.low), of(a.high, b.high)}) {
    result.low = std::min(result.low, corner.down());
    result.high = std::max(result.high, corner.up());
  }
  return result;
}

double moved(double number, double direction) {
  for (int i = 0; i < library_error; ++i) number = std::nextafter(number, direction);
  return number;
}

/// A library function at a number, rounded in one direction. The library is exact where the value at 0 or 1 is whole.
double library_value(double (*function)(double), double at, double direction) {
  const double value = function(at);
  const bool is_exact = (at == 0 || at == 1) && value == std::floor(value);
  return is_exact ? value : moved(value, direction);
}

/// A nondecreasing library function with values from `least` to `most`.
Enclosure increasing(double (*function)(double), Enclosure b, double least, double most) {
  return {std::max(least, library_value(function, b.low, -infinity)),
          std::min(most, library_value(function, b.high, infinity))};
}

/// Sine or cosine, whose values at two points differ by at most the points' distance.
Enclosure wave(double (*function)(double), Enclosure b) {
  const double middle = b.middle();
  if (!std::isfinite(b.low) || !std::isfinite(b.high)) return {-1, 1};
  const double radius = std::max(add(b.high, -middle).up(), add(middle, -b.low).up());
  return {std::max(-1.0, add(library_value(function, middle, -infinity), -radius).down()),
          std::min(1.0, add(library_value(function, middle, infinity), radius).up())};
}

Enclosure absolute(Enclosure b) {
  if (b.low >= 0) return b;
  return b.high <= 0 ? -b : Enclosure{0, std::max(-b.low, b.high)};
}

Enclosure possibly_undefined(bool& doubtful) {
  doubtful = true;
  return Enclosure::any();
}

Enclosure quotient(Enclosure a, Enclosure b, bool& doubtful) {
  if (b.low == 0 && b.high == 0) return Enclosure::undefined();
  if (b.contains(0)) return possibly_undefined(doubtful);
  return at_corners(a, b, divide);
}

/// A power with a whole exponent from 1 on. Even powers lie between those of the smallest and the largest magnitude.
Enclosure whole_power(Enclosure a, double exponent) {
  constexpr double max_factors = 64;
  const bool is_even = std::fmod(exponent, 2) == 0;
  const Enclosure base = is_even ? absolute(a) : a;
  const auto at = [&](double x, double direction) {
    if (exponent > max_factors)
      return x == 0 || std::fabs(x) == 1 ? std::pow(x, exponent) : moved(std::pow(x, exponent), direction);
    Enclosure product = x;
    for (int i = 1; i < static_cast<int>(exponent); ++i) product *= x;
    return direction < 0 ? product.low : product.high;
  };
  return {at(base.low, -infinity), at(base.high, infinity)};
}

/// pow(0, 0) is 1.
Enclosure power(Enclosure a, Enclosure b, bool& doubtful) {
  const bool is_whole = b.is_exact() && b.low == std::floor(b.low) && std::isfinite(b.low);
  if (is_whole && b.low == 0) return 1;
  if (is_whole && b.low > 0) return whole_power(a, b.low);
  if (is_whole) return quotient(1, whole_power(a, -b.low), doubtful);
  if (a.low > 0) {
    Enclosure values{infinity, 0};
    for (const double x : {a.low, a.high}) {
      for (const double y : {b.low, b.high}) {
        values.low = std::min(values.low, x == 1 ? 1 : std::max(0.0, moved(std::pow(x, y), -infinity)));
        values.high = std::max(values.high, x == 1 ? 1 : moved(std::pow(x, y), infinity));
      }
    }
    return values;
  }
  if (a.low == 0 && a.high == 0 && b.low > 0) return 0;
  if ((a.low == 0 && a.high == 0 && b.high < 0) || (a.high < 0 && b.is_exact())) return Enclosure::undefined();
  return possibly_undefined(doubtful);
}

/// A function that is defined from `least` to `most`, both included.
template <class Of>
Enclosure within(Enclosure b, double least, double most, bool& doubtful, const Of& of) {
  if (b.high < least || b.low > most) return Enclosure::undefined();
  return b.low >= least && b.high <= most ? of(b) : possibly_undefined(doubtful);
}

Enclosure truth(bool certain, bool possible) { return {certain ? 1.0 : 0.0, possible ? 1.0 : 0.0}; }

}  // namespace

Enclosure::Enclosure(Rational number) {
  const auto enclose = [](std::int64_t whole) -> Enclosure {
    const auto nearest = static_cast<double>(whole);
    constexpr std::int64_t exact = std::int64_t{1} << 53;
    if (whole >= -exact && whole <= exact) return nearest;
    return {std::nextafter(nearest, -infinity), std::nextafter(nearest, infinity)};
  };
  *this = at_corners(enclose(number.num), enclose(number.den), divide);
}

double Enclosure::middle() const {
  return is_exact() || is_undefined() ? low : std::max(low, -largest) / 2 + std::min(high, largest) / 2;
}

Enclosure& Enclosure::operator+=(Enclosure other) { return *this = *this + other; }
Enclosure& Enclosure::operator*=(Enclosure other) { return *this = *this * other; }

Enclosure operator-(Enclosure a) { return {-a.high, -a.low}; }

Enclosure operator+(Enclosure a, Enclosure b) {
  const Rounded low = add(a.low, b.low);
  if (a.is_exact() && b.is_exact()) return low.bounds();
  return {low.down(), add(a.high, b.high).up()};
}

Enclosure operator*(Enclosure a, Enclosure b) {
  if (a.is_undefined() || b.is_undefined()) return Enclosure::undefined();
  return at_corners(a, b, multiply);
}

Enclosure larger(Enclosure a, Enclosure b) {
  if (a.is_undefined() || b.is_undefined()) return Enclosure::undefined();
  return {std::max(a.low, b.low), std::max(a.high, b.high)};
}

bool certainly_differ(Enclosure a, Enclosure b) {
  const bool is_finite = std::isfinite(a.low) && std::isfinite(a.high) && std::isfinite(b.low) && std::isfinite(b.high);
  return is_finite && (a.high < b.low || b.high < a.low);
}

Enclosure apply(Op op, Enclosure a, Enclosure b, bool& doubtful) {
  switch (op) {
    case Op::Add:
      return a + b;
    case Op::Sub:
      return a + -b;
    case Op::Mul:
      return a * b;
    case Op::Div:
      return quotient(a, b, doubtful);
    case Op::Max:
      return larger(a, b);
    case Op::Min:
      return -larger(-a, -b);
    case Op::Less:
      return truth(a.high < b.low, a.low < b.high);
    case Op::Equal:
      return truth(a.is_exact() && b.is_exact() && a.low == b.low, a.low <= b.high && b.low <= a.high);
    case Op::Gate:
      if (!a.contains(0)) return b;
      return a.is_exact() ? 0 : Enclosure{std::min(b.low, 0.0), std::max(b.high, 0.0)};
    case Op::Power:
      return power(a, b, doubtful);
    case Op::Exp:
      return increasing(std::exp, b, 0, infinity);
    case Op::Log:
      if (b.high <= 0) return Enclosure::undefined();
      return b.low > 0 ? increasing(std::log, b, -infinity, infinity) : possibly_undefined(doubtful);
    case Op::Sqrt:
      return within(b, 0, infinity, doubtful, [](Enclosure t) -> Enclosure {
        return {square_root(t.low).down(), square_root(t.high).up()};
      });
    case Op::Tanh:
      return increasing(std::tanh, b, -1, 1);
    case Op::Erf:
      return increasing(std::erf, b, -1, 1);
    case Op::Floor:
      return {std::floor(b.low), std::floor(b.high)};
    case Op::Sin:
      return wave(std::sin, b);
    case Op::Cos:
      return wave(std::cos, b);
    case Op::Asin:
      return within(b, -1, 1, doubtful, [](Enclosure t) { return increasing(std::asin, t, -infinity, infinity); });
    case Op::Acos:
      return within(b, -1, 1, doubtful, [](Enclosure t) -> Enclosure {
        return {std::max(0.0, library_value(std::acos, t.high, -infinity)), library_value(std::acos, t.low, infinity)};
      });
    case Op::Atan:
      return increasing(std::atan, b, -infinity, infinity);
    case Op::Abs:
      return absolute(b);
    case Op::Argument:
    case Op::Number:
      break;
  }
  return Enclosure::undefined();
}

Enclosure enclosure_of(const Function::Instruction& instruction) {
  if (instruction.exact) return Enclosure(*instruction.exact);
  return {std::nextafter(instruction.number, -HUGE_VAL), std::nextafter(instruction.number, HUGE_VAL)};
}

Enclosure evaluate_strictly(const Function& function, std::span<const Enclosure> arguments, bool& doubtful) {
  if (std::ranges::any_of(arguments, &Enclosure::is_undefined)) return Enclosure::undefined();
  const auto leaf = [&](const Function::Instruction& instruction) -> std::optional<Enclosure> {
    return instruction.op == Op::Argument ? arguments[instruction.argument] : enclosure_of(instruction);
  };
  const auto apply_defined = [&](Op op, Enclosure a, Enclosure b) {
    const Enclosure value = apply(op, a, b, doubtful);
    return value.is_undefined() ? std::nullopt : std::optional(value);
  };
  return interpret<Enclosure>(function, leaf, apply_defined).value_or(Enclosure::undefined());
}

}  // namespace rulemill::algebra
