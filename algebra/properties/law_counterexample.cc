#include "algebra/properties/law_counterexample.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "algebra/operators/function_evaluation.h"
#include "algebra/properties/function_interpreter.h"

namespace rulemill::algebra {
namespace {

using Op = Function::Op;
using Real = long double;

/// f(s, t), or nullopt if it is undefined.
std::optional<Real> evaluate_at(const Function& function, Real s, Real t) {
  bool defined = true;
  const auto leaf = [&](const Function::Instruction& instruction) -> std::optional<Real> {
    if (instruction.op == Op::Argument) return instruction.argument == 0 ? s : t;
    return instruction.exact ? static_cast<Real>(instruction.exact->num) / static_cast<Real>(instruction.exact->den)
                             : instruction.number;
  };
  const auto apply_op = [&](Op op, Real a, Real b) -> std::optional<Real> {
    defined &= !((op == Op::Div && b == 0) || (op == Op::Log && b <= 0) || (op == Op::Sqrt && b < 0) ||
                 ((op == Op::Asin || op == Op::Acos) && std::fabs(b) > 1));
    return apply(op, a, b);
  };
  const Real result = *interpret<Real>(function, leaf, apply_op);
  return defined ? std::optional(result) : std::nullopt;
}

Real value_or_zero(const Function& function, Real s, Real t) { return evaluate_at(function, s, t).value_or(0); }

/// Numbers of all magnitudes and signs, round and random ones, and numbers near the function's constants.
std::vector<Real> samples(const Function& function, int random_count) {
  std::vector<Real> points = {0};
  const auto both_signs = [&](Real point) { points.insert(points.end(), {point, -point}); };
  for (const Real round : {0.1L, 0.25L, 0.5L, 1.0L, 1.5L, 2.0L, 3.0L, 7.0L, 10.0L}) both_signs(round);
  for (int exponent = -30; exponent <= 30; exponent += 3) both_signs(std::pow(10.0L, static_cast<Real>(exponent)));
  for (const Function::Instruction& instruction : function.program) {
    if (instruction.op != Op::Number) continue;
    const Real c = instruction.number;
    for (const Real near : {c, c - 1, c + 1, c * 0.999L, c * 1.001L, c / 2, c * 2, c * 3}) both_signs(near);
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < random_count; ++i) {
    const Real mantissa = 1 + static_cast<Real>(random() % 1'000'003) / 1'000'003;
    both_signs(std::ldexp(mantissa, static_cast<int>(random() % 80) - 40));
  }
  return points;
}

/// Whether two values for an input of this magnitude differ by more than rounding. Infinite values never differ.
bool differ(Real a, Real b, Real input) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) != std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return false;
  return std::fabs(a - b) > 1e-9L * std::max({std::fabs(a), std::fabs(b), 1e-6L * std::fabs(input)});
}

std::string format(Real number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

/// Tests f(s + t) = f(s) f(t), f(c t) = c f(t) or f(t) / c, or max(f(s), f(t)) = f(max(s, t)) at pairs of points.
std::optional<std::string> find_counterexample_of_pairs(const Function& f, Law law) {
  const std::vector<Real> points = samples(f, 40);
  const auto at = [&](Real s, Real t) {
    return f.name + "(" + format(s) + (f.arity == 2 ? ", " + format(t) : "") + ") = " + format(value_or_zero(f, s, t));
  };
  for (const Real s : points) {
    for (const Real t : points) {
      if (law == Law::Exponential) {
        const Real whole = value_or_zero(f, s + t, 0), product = value_or_zero(f, s, 0) * value_or_zero(f, t, 0);
        if (std::fabs(s) < 1e3L && std::fabs(t) < 1e3L && differ(whole, product, 0))
          return at(s, 0) + ", " + at(t, 0) + ", " + at(s + t, 0);
      } else if (law == Law::Monotone) {
        const Real low = value_or_zero(f, std::min(s, t), 0), high = value_or_zero(f, std::max(s, t), 0);
        if (low > high && differ(low, high, 0)) return at(std::min(s, t), 0) + ", " + at(std::max(s, t), 0);
      } else {
        for (const Real c : {0.5L, 2.0L, 3.0L}) {
          const Real scaled = value_or_zero(f, c * s, c * t), own = value_or_zero(f, s, t);
          if (differ(scaled, law == Law::Homogeneous ? c * own : own / c, 0)) return at(s, t) + ", " + at(c * s, c * t);
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_counterexample(const Function& function, Law law) {
  const std::string& f = function.name;
  if (law == Law::ZeroToZero) {
    const std::optional<Real> result = evaluate_at(function, 0, 0);
    if (result && std::fabs(*result) <= 1e-15L) return std::nullopt;
    return result ? f + "(0) = " + format(*result) : f + "(0) is undefined";
  }
  if (law == Law::Idempotent) {
    for (const Real t : samples(function, 2000)) {
      const Real once = value_or_zero(function, t, 0), twice = value_or_zero(function, once, 0);
      if (!std::isnan(once) && differ(once, twice, t)) {
        return fmt::format("{0}({1}) = {2}, {0}({0}({1})) = {3}", f, format(t), format(once), format(twice));
      }
    }
    return std::nullopt;
  }
  if (law == Law::Odd || law == Law::Even) {
    for (const Real t : samples(function, 2000)) {
      const std::optional<Real> here = evaluate_at(function, t, 0), there = evaluate_at(function, -t, 0);
      const Real expected = here.value_or(0) * (law == Law::Odd ? -1 : 1);
      if (here.has_value() == there.has_value() && !differ(there.value_or(0), expected, 0)) continue;
      const auto at = [&](Real s, const std::optional<Real>& of) {
        return f + "(" + format(s) + ")" + (of ? " = " + format(*of) : " is undefined");
      };
      return at(t, here) + ", " + at(-t, there);
    }
    return std::nullopt;
  }
  if (law != Law::Commutative) return find_counterexample_of_pairs(function, law);
  const std::vector<Real> points = samples(function, 40);
  for (const Real s : points) {
    for (const Real t : points) {
      const std::optional<Real> one = evaluate_at(function, s, t), other = evaluate_at(function, t, s);
      if (!one && !other) continue;
      if (one && other && !differ(*one, *other, std::max(std::fabs(s), std::fabs(t)))) continue;
      const auto describe = [](const std::optional<Real>& v) { return v ? " = " + format(*v) : " is undefined"; };
      const std::string a = format(s), b = format(t);
      return fmt::format("{0}({1}, {2}){3}, {0}({2}, {1}){4}", f, a, b, describe(one), describe(other));
    }
  }
  return std::nullopt;
}

}  // namespace rulemill::algebra
