#include "algebra/properties/law_counterexample.h"

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "algebra/operators/enclosure.h"

namespace rulemill::algebra {
namespace {

/// f(s, t). It is any number where rounding would decide whether it is defined.
Enclosure evaluate_at(const Function& function, Enclosure s, Enclosure t) {
  bool doubtful = false;
  return evaluate_strictly(function, std::array{s, t}, doubtful);
}

Enclosure value_or_zero(const Function& function, Enclosure s, Enclosure t) {
  const Enclosure value = evaluate_at(function, s, t);
  return value.is_undefined() ? 0.0 : value;
}

/// Whether two values differ, whatever rounding does. An undefined value differs from all numbers.
bool differ(Enclosure a, Enclosure b) {
  if (a.is_undefined() == b.is_undefined()) return certainly_differ(a, b);
  const Enclosure defined = a.is_undefined() ? b : a;
  return std::isfinite(defined.low) && std::isfinite(defined.high);
}

/// "f(2) = 4", "f(2, 3) is undefined"
std::string describe(const Function& f, Enclosure s, Enclosure t) {
  const Enclosure value = evaluate_at(f, s, t);
  const std::string arguments =
      fmt::format("{:g}{}", s.middle(), f.arity == 2 ? fmt::format(", {:g}", t.middle()) : "");
  return fmt::format("{}({}){}", f.name, arguments,
                     value.is_undefined() ? " is undefined" : fmt::format(" = {:g}", value.middle()));
}

/// Tests a law at a pair of numbers; of a law of one argument, at the first.
std::optional<std::string> find_counterexample_at(const Function& f, Law law, double s, double t) {
  const auto value = [&](Enclosure a, Enclosure b) { return value_or_zero(f, a, b); };
  switch (law) {
    case Law::ZeroToZero:
      return differ(evaluate_at(f, 0.0, 0.0), 0.0) ? std::optional(describe(f, 0.0, 0.0)) : std::nullopt;
    case Law::Idempotent: {
      const Enclosure once = value(s, 0.0), twice = value(once, 0.0);
      if (!differ(once, twice)) return std::nullopt;
      return fmt::format("{0}({1:g}) = {2:g}, {0}({0}({1:g})) = {3:g}", f.name, s, once.middle(), twice.middle());
    }
    case Law::Odd:
    case Law::Even: {
      const Enclosure here = evaluate_at(f, s, 0.0), there = evaluate_at(f, -s, 0.0);
      if (!differ(there, law == Law::Odd ? -here : here)) return std::nullopt;
      return describe(f, s, 0.0) + ", " + describe(f, -s, 0.0);
    }
    case Law::Commutative:
      if (!differ(evaluate_at(f, s, t), evaluate_at(f, t, s))) return std::nullopt;
      return describe(f, s, t) + ", " + describe(f, t, s);
    case Law::Exponential: {
      const Enclosure sum = Enclosure(s) + t;
      if (!differ(value(sum, 0.0), value(s, 0.0) * value(t, 0.0))) return std::nullopt;
      return describe(f, s, 0.0) + ", " + describe(f, t, 0.0) + ", " + describe(f, sum, 0.0);
    }
    case Law::Monotone: {
      const double least = std::min(s, t), most = std::max(s, t);
      if (!(value(least, 0.0).low > value(most, 0.0).high)) return std::nullopt;
      return describe(f, least, 0.0) + ", " + describe(f, most, 0.0);
    }
    case Law::Homogeneous:
    case Law::Reciprocal:
      for (const double c : {0.5, 2.0, 3.0}) {
        const Enclosure factor = c, scaled = value(factor * s, factor * t), own = value(s, t);
        if (law == Law::Homogeneous ? differ(scaled, factor * own) : differ(factor * scaled, own))
          return describe(f, s, t) + ", " + describe(f, factor * s, factor * t);
      }
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::vector<double> sample_numbers(const Function& function, int random_count) {
  std::vector<double> points = {0};
  const auto both_signs = [&](double point) { points.insert(points.end(), {point, -point}); };
  for (const double round : {0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0, 10.0}) both_signs(round);
  for (int exponent = -30; exponent <= 30; exponent += 3) both_signs(std::pow(10.0, exponent));
  for (const Function::Instruction& instruction : function.program) {
    if (instruction.op != Function::Op::Number) continue;
    const double c = instruction.number;
    for (const double near : {c, c - 1, c + 1, c * 0.999, c * 1.001, c / 2, c * 2, c * 3}) both_signs(near);
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < random_count; ++i) {
    const double mantissa = 1 + static_cast<double>(random() % 1'000'003) / 1'000'003;
    both_signs(std::ldexp(mantissa, static_cast<int>(random() % 80) - 40));
  }
  return points;
}

std::optional<std::string> find_counterexample(const Function& function, Law law) {
  const bool of_one = law == Law::ZeroToZero || law == Law::Idempotent || law == Law::Odd || law == Law::Even;
  const std::vector<double> points = sample_numbers(function, of_one ? 2000 : 40);
  for (const double s : points) {
    for (const double t : of_one ? std::vector{0.0} : points) {
      if (auto found = find_counterexample_at(function, law, s, t)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace rulemill::algebra
