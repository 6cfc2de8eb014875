#include "execute/kernels/real_functions.h"

#include <cmath>
#include <limits>

#include "algebra/operators/function_evaluation.h"

namespace rulemill::execute {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// ln 2 and π split in two: the product of the first half and a small integer is exact.
constexpr double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
constexpr double pi_high = 0x1.921fb544p+1, pi_low = 0x1.0b4611a626331p-33;
constexpr double half_pi = 0x1.921fb54442d18p+0;

bool is_integer(double x) { return std::floor(x) == x; }

/// Σ (−1)^k r^(2k+1) / (2k+1)! for |r| ≤ π.
double sine_series(double r) {
  double term = r, sum = r;
  for (int n = 2; n <= 34; n += 2) {
    term *= -r * r / (n * (n + 1.0));
    sum += term;
  }
  return sum;
}

}  // namespace

// exp(k · ln 2 + r) = 2^k · Σ rⁿ / n!, |r| ≤ ln 2 / 2.
double real_exp(double x) {
  if (std::isnan(x)) return undefined;
  if (x > 709) return infinity;
  if (x < -745) return 0;
  const double k = std::floor(x * 0x1.71547652b82fep+0 + 0.5);
  const double r = (x - k * ln2_high) - k * ln2_low;
  double sum = 1;
  for (int n = 14; n >= 1; --n) sum = 1 + r / n * sum;
  return std::ldexp(sum, static_cast<int>(k));
}

// log(2^e · m) = e · ln 2 + 2 · Σ s^(2k+1) / (2k+1), s = (m − 1) / (m + 1), √½ ≤ m < √2.
double real_log(double x) {
  if (x == infinity) return infinity;
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1), square = s * s;
  double sum = 0;
  for (int n = 27; n >= 1; n -= 2) sum = sum * square + 1.0 / n;
  return exponent * ln2_high + (exponent * ln2_low + 2 * s * sum);
}

double real_tanh(double x) {
  const double t = real_exp(-2 * std::fabs(x));
  return std::copysign((1 - t) / (1 + t), x);
}

// erf(x) = 2/√π · exp(−x²) · Σ 2ⁿ x^(2n+1) / (1 · 3 ⋯ (2n+1)); all terms have the same sign.
double real_erf(double x) {
  if (std::fabs(x) > 6) return std::copysign(1.0, x);
  double term = x, sum = x;
  for (int n = 1; std::fabs(term) > 0x1p-60 * std::fabs(sum); ++n) {
    term *= 2 * x * x / (2 * n + 1);
    sum += term;
  }
  return 0x1.20dd750429b6dp+0 * real_exp(-x * x) * sum;
}

// sin(k · π + r) = (−1)^k · sin(r), |r| ≤ π/2.
double real_sin(double x) {
  if (std::fabs(x) > 0x1p20) return undefined;  // the argument reduction has no accuracy there
  const double k = std::floor(x / (pi_high + pi_low) + 0.5);
  const double value = sine_series((x - k * pi_high) - k * pi_low);
  return is_integer(k / 2) ? value : -value;
}

double real_cos(double x) { return real_sin(x + half_pi); }

// atan(x) = π/2 − atan(1/x), and = 2 · atan(x / (1 + √(1 + x²))), applied twice to reduce to |x| < 0.2.
double real_atan(double x) {
  const double size = std::fabs(x);
  if (size > 1) return std::copysign(half_pi - real_atan(1 / size), x);
  double t = size;
  for (int halved = 0; halved < 2; ++halved) t /= 1 + std::sqrt(1 + t * t);
  double sum = 0;
  for (int n = 25; n >= 1; n -= 2) sum = 1.0 / n - t * t * sum;
  return std::copysign(4 * t * sum, x);
}

double real_asin(double x) {
  return std::fabs(x) == 1 ? std::copysign(half_pi, x) : real_atan(x / std::sqrt((1 - x) * (1 + x)));
}

double real_power(double base, double exponent) {
  if ((base < 0 && !is_integer(exponent)) || (base == 0 && exponent < 0)) return undefined;
  if (is_integer(exponent) && std::fabs(exponent) <= 64) {
    double value = 1;
    for (int n = static_cast<int>(std::fabs(exponent)); n > 0; --n) value *= base;
    return exponent < 0 ? 1 / value : value;
  }
  if (base == 0) return 0;
  const double value = real_exp(exponent * real_log(std::fabs(base)));
  return base < 0 && !is_integer(exponent / 2) ? -value : value;
}

double real_step(algebra::Function::Op op, double a, double b) {
  using Op = algebra::Function::Op;
  switch (op) {
    case Op::Div:
      return b == 0 ? undefined : a / b;
    case Op::Power:
      return real_power(a, b);
    case Op::Exp:
      return real_exp(b);
    case Op::Log:
      return b <= 0 ? undefined : real_log(b);
    case Op::Sqrt:
      return b < 0 ? undefined : std::sqrt(b);
    case Op::Tanh:
      return real_tanh(b);
    case Op::Erf:
      return real_erf(b);
    case Op::Sin:
      return real_sin(b);
    case Op::Cos:
      return real_cos(b);
    case Op::Asin:
      return std::fabs(b) > 1 ? undefined : real_asin(b);
    case Op::Acos:
      return std::fabs(b) > 1 ? undefined : half_pi - real_asin(b);
    case Op::Atan:
      return real_atan(b);
    default:
      return algebra::apply(op, a, b);  // exact, or rounded as IEEE 754 requires
  }
}

}  // namespace rulemill::execute
