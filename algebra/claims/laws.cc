#include "algebra/claims/laws.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <sstream>

#include "algebra/claims/piecewise.h"
#include "algebra/claims/program.h"
#include "algebra/claims/shape.h"
#include "algebra/claims/sum_form.h"
#include "algebra/language/scalar_op.h"
#include "algebra/sizes/checked.h"

namespace rulemill::algebra {
namespace {

using Op = Function::Op;

bool below(Rational a, Rational b) {
  return static_cast<__int128>(a.num) * b.den < static_cast<__int128>(b.num) * a.den;
}

Rational negative(Rational a) { return {-a.num, a.den}; }

/// A real number: known exactly, or not but that it is positive, or not at all.
struct Number {
  std::optional<Rational> exact;
  bool above_zero = false;

  bool zero() const { return exact && exact->num == 0; }
  bool positive() const { return exact ? exact->num > 0 : above_zero; }
};

std::optional<Number> apply_exactly(Op op, const Number& a, const Number& b) {
  const auto exactly = [](Rational value) { return Number{value, false}; };
  const bool both = a.exact && b.exact, both_positive = a.positive() && b.positive();
  switch (op) {
    case Op::Add:
      return both ? exactly(*a.exact + *b.exact) : Number{{}, both_positive};
    case Op::Sub:
      return both ? exactly(*a.exact + negative(*b.exact)) : Number{};
    case Op::Mul:
      if (a.zero() || b.zero()) return exactly({0, 1});
      return both ? exactly(*a.exact * *b.exact) : Number{{}, both_positive};
    case Op::Div:
      if (b.exact ? b.zero() : !b.positive()) return std::nullopt;
      if (a.zero()) return exactly({0, 1});
      return both ? exactly(*a.exact * make_rational(b.exact->den, b.exact->num)) : Number{{}, both_positive};
    case Op::Max:
      return both ? exactly(below(*a.exact, *b.exact) ? *b.exact : *a.exact) : Number{{}, a.positive() || b.positive()};
    case Op::Min:
      return both ? exactly(below(*a.exact, *b.exact) ? *a.exact : *b.exact) : Number{{}, both_positive};
    case Op::Abs:
      return b.exact ? exactly(b.exact->num < 0 ? negative(*b.exact) : *b.exact) : b;
    case Op::Exp:
      return b.zero() ? exactly({1, 1}) : Number{{}, true};
    case Op::Log:
      if (b.exact == Rational{1, 1}) return exactly({0, 1});
      return b.positive() ? std::optional(Number{}) : std::nullopt;
    case Op::Sqrt:
      if (b.zero() || b.exact == Rational{1, 1}) return b;
      return b.positive() ? std::optional(Number{{}, true}) : std::nullopt;
    case Op::Less:
      return both ? exactly({below(*a.exact, *b.exact) ? 1 : 0, 1}) : Number{};
    case Op::Equal:
      return both ? exactly({*a.exact == *b.exact ? 1 : 0, 1}) : Number{};
    case Op::Gate:
      if (a.zero() || b.zero()) return exactly({0, 1});
      return a.exact ? b : Number{};
    case Op::Cos:
      return b.zero() ? exactly({1, 1}) : Number{};
    case Op::Floor:
    case Op::Sin:
      return b.zero() ? b : Number{};
    case Op::Asin:  // of what is not 0 it may be undefined
      return b.zero() ? std::optional(b) : std::nullopt;
    case Op::Tanh:
    case Op::Erf:
    case Op::Atan:
      return b.zero() ? b : Number{{}, b.positive()};
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Rational> exact_value(const Function& function, std::span<const Rational> arguments) {
  const auto leaf = [&](const Function::Node& node) -> std::optional<Number> {
    if (node.op == Op::Argument) return Number{arguments[node.argument], false};
    return Number{node.exact, node.number > 0};
  };
  const std::optional<Number> result = run<Number>(function, leaf, apply_exactly);
  return result ? result->exact : std::nullopt;
}

namespace {

/// The value at zero, where its steps show it exactly.
std::optional<Rational> at_zero(const Function& function) {
  return exact_value(function, std::vector<Rational>(function.arity, Rational{0, 1}));
}

/// A function of one argument, where it is piecewise linear by its form.
std::optional<Piecewise> piecewise(const Function& function) {
  const auto leaf = [](const Function::Node& node) -> std::optional<Piecewise> {
    if (node.op == Op::Argument) return Piecewise({{1, 1}, {0, 1}});
    return node.exact ? std::optional(Piecewise({{0, 1}, *node.exact})) : std::nullopt;
  };
  const auto constant = [](const Piecewise& f) -> std::optional<Rational> {
    const std::optional<Line> line = f.line();
    return line && line->slope.num == 0 ? std::optional(line->offset) : std::nullopt;
  };
  const auto apply = [&](Op op, const Piecewise& a, const Piecewise& b) -> std::optional<Piecewise> {
    const Rational minus_one{-1, 1};
    switch (op) {
      case Op::Add:
        return a + b;
      case Op::Sub:
        return a + b.scaled(minus_one);
      case Op::Mul:
        if (const auto factor = constant(a)) return b.scaled(*factor);
        if (const auto factor = constant(b)) return a.scaled(*factor);
        return std::nullopt;
      case Op::Div: {
        const auto divisor = constant(b);
        if (!divisor || divisor->num == 0) return std::nullopt;
        return a.scaled(make_rational(divisor->den, divisor->num));
      }
      case Op::Max:
        return Piecewise::max(a, b);
      case Op::Min:
        return Piecewise::max(a.scaled(minus_one), b.scaled(minus_one)).scaled(minus_one);
      case Op::Abs:
        return Piecewise::max(b, b.scaled(minus_one));
      default:
        return std::nullopt;
    }
  };
  return run<Piecewise>(function, leaf, apply);
}

/// What a function multiplies out to, and what it demands to be defined: the divisors, the arguments of roots and so
/// on. Terms may cancel, demands stay.
struct Symmetric {
  std::string value;
  std::set<std::string> demands;
  bool operator==(const Symmetric&) const = default;
};

enum class Change : std::uint8_t { None, Exchanged, Negated, NegatedOutside };

/// Either of a form and its negative is taken for both.
SumForm with_one_sign(const SumForm& form, int& sign) {
  const SumForm other = form * SumForm::constant({-1, 1});
  sign = other.text() < form.text() ? -1 : 1;
  return sign < 0 ? other : form;
}

/// The function at exchanged arguments, at the negative one, or its own negative.
std::optional<Symmetric> form(const Function& function, Change change) {
  Symmetric result;
  const auto leaf = [&](const Function::Node& node) -> std::optional<SumForm> {
    if (node.op == Op::Argument) {
      const SumForm argument = SumForm::factor((node.argument == 0) != (change == Change::Exchanged) ? "s" : "t");
      return change == Change::Negated ? argument * SumForm::constant({-1, 1}) : argument;
    }
    return node.exact ? std::optional(SumForm::constant(*node.exact)) : std::nullopt;
  };
  // Of an odd function of a form, or of an even one, which is defined for both signs or for neither.
  const auto of_one_sign = [&](const SumForm& form, const std::string& word, Op op) {
    int sign = 1;
    const std::string name = word + "(" + with_one_sign(form, sign).text() + ")";
    if (op == Op::Div || op == Op::Asin) result.demands.insert(name);
    const bool even = op == Op::Abs || op == Op::Cos;
    return SumForm::factor(name) * SumForm::constant({even ? 1 : sign, 1});
  };
  const auto apply = [&](Op op, const SumForm& a, const SumForm& b) -> std::optional<SumForm> {
    const bool sorted = op == Op::Max || op == Op::Min || op == Op::Equal;
    std::array<std::string, 2> both{is_unary(op) ? "" : a.text(), b.text()};
    if (sorted) std::ranges::sort(both);
    const std::string name = std::to_string(static_cast<int>(op)) + "(" + both[0] + "," + both[1] + ")";
    switch (op) {
      case Op::Add:
        return a + b;
      case Op::Sub:
        return a + b * SumForm::constant({-1, 1});
      case Op::Mul:
        return a * b;
      case Op::Div:
        if (const auto divisor = b.constant(); divisor && divisor->num != 0) {
          return a * SumForm::constant(make_rational(divisor->den, divisor->num));
        }
        return of_one_sign(b, "1/", Op::Div) * a;
      case Op::Asin:
      case Op::Tanh:
      case Op::Erf:
      case Op::Sin:
      case Op::Atan:
      case Op::Abs:
      case Op::Cos:
        return of_one_sign(b, std::to_string(static_cast<int>(op)), op);
      case Op::Log:
      case Op::Sqrt:
      case Op::Acos:
      case Op::Power:
        result.demands.insert(name);
        return SumForm::factor(name);
      default:
        return SumForm::factor(name);
    }
  };
  const std::optional<SumForm> value = run<SumForm>(function, leaf, apply);
  if (!value) return std::nullopt;
  result.value = (change == Change::NegatedOutside ? *value * SumForm::constant({-1, 1}) : *value).text();
  return result;
}

// ---- trying ----

using Real = long double;

/// Nothing where it is undefined.
std::optional<Real> value(const Function& function, Real s, Real t) {
  bool defined = true;
  const auto leaf = [&](const Function::Node& node) -> std::optional<Real> {
    if (node.op == Op::Argument) return node.argument == 0 ? s : t;
    return node.exact ? static_cast<Real>(node.exact->num) / static_cast<Real>(node.exact->den) : node.number;
  };
  const auto step = [&](Op op, Real a, Real b) -> std::optional<Real> {
    defined &= !((op == Op::Div && b == 0) || (op == Op::Log && b <= 0) || (op == Op::Sqrt && b < 0) ||
                 ((op == Op::Asin || op == Op::Acos) && std::fabs(b) > 1));
    return apply(op, a, b);
  };
  const Real result = *run<Real>(function, leaf, step);
  return defined ? std::optional(result) : std::nullopt;
}

Real value_or_zero(const Function& function, Real s, Real t) { return value(function, s, t).value_or(0); }

/// Numbers of all magnitudes and signs, round and not, and those around the function's own constants.
std::vector<Real> samples(const Function& function, int random_ones) {
  std::vector<Real> points = {0};
  const auto both_signs = [&](Real point) { points.insert(points.end(), {point, -point}); };
  for (const Real round : {0.1L, 0.25L, 0.5L, 1.0L, 1.5L, 2.0L, 3.0L, 7.0L, 10.0L}) both_signs(round);
  for (int exponent = -30; exponent <= 30; exponent += 3) both_signs(std::pow(10.0L, static_cast<Real>(exponent)));
  for (const Function::Node& node : function.real) {
    if (node.op != Op::Number) continue;
    const Real c = node.number;
    for (const Real near : {c, c - 1, c + 1, c * 0.999L, c * 1.001L, c / 2, c * 2, c * 3}) both_signs(near);
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < random_ones; ++i) {
    const Real mantissa = 1 + static_cast<Real>(random() % 1'000'003) / 1'000'003;
    both_signs(std::ldexp(mantissa, static_cast<int>(random() % 80) - 40));
  }
  return points;
}

/// Whether the two values tell the sides apart at an input of this magnitude. What overflows tells nothing.
bool apart(Real a, Real b, Real input) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) != std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return false;
  return std::fabs(a - b) > 1e-9L * std::max({std::fabs(a), std::fabs(b), 1e-6L * std::fabs(input)});
}

std::string shown(Real number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

/// Of f(s + t) = f(s) f(t), f(c t) = c f(t) or f(t) / c, max(f(s), f(t)) = f(max(s, t)): what two values of it say.
std::optional<std::string> counterexample_of_shape(const Function& f, Law law) {
  const std::vector<Real> points = samples(f, 40);
  const auto at = [&](Real s, Real t) {
    return f.name + "(" + shown(s) + (f.arity == 2 ? ", " + shown(t) : "") + ") = " + shown(value_or_zero(f, s, t));
  };
  for (const Real s : points) {
    for (const Real t : points) {
      if (law == Law::Exponential) {
        const Real whole = value_or_zero(f, s + t, 0), parts = value_or_zero(f, s, 0) * value_or_zero(f, t, 0);
        if (std::fabs(s) < 1e3L && std::fabs(t) < 1e3L && apart(whole, parts, 0))
          return at(s, 0) + ", " + at(t, 0) + ", " + at(s + t, 0);
      } else if (law == Law::Monotone) {
        const Real low = value_or_zero(f, std::min(s, t), 0), high = value_or_zero(f, std::max(s, t), 0);
        if (low > high && apart(low, high, 0)) return at(std::min(s, t), 0) + ", " + at(std::max(s, t), 0);
      } else {
        for (const Real c : {0.5L, 2.0L, 3.0L}) {
          const Real scaled = value_or_zero(f, c * s, c * t), own = value_or_zero(f, s, t);
          if (apart(scaled, law == Law::Homogeneous ? c * own : own / c, 0)) return at(s, t) + ", " + at(c * s, c * t);
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> counterexample(const Function& function, Law law) {
  const std::string& f = function.name;
  if (law == Law::ZeroToZero) {
    const std::optional<Real> result = value(function, 0, 0);
    if (result && std::fabs(*result) <= 1e-15L) return std::nullopt;
    return result ? f + "(0) = " + shown(*result) : f + "(0) is undefined";
  }
  if (law == Law::Idempotent) {
    for (const Real t : samples(function, 2000)) {
      const Real once = value_or_zero(function, t, 0), twice = value_or_zero(function, once, 0);
      if (!std::isnan(once) && apart(once, twice, t)) {
        return f + "(" + shown(t) + ") = " + shown(once) + ", " + f + "(" + f + "(" + shown(t) + ")) = " + shown(twice);
      }
    }
    return std::nullopt;
  }
  if (law == Law::Odd || law == Law::Even) {
    for (const Real t : samples(function, 2000)) {
      const std::optional<Real> here = value(function, t, 0), there = value(function, -t, 0);
      const Real expected = here.value_or(0) * (law == Law::Odd ? -1 : 1);
      if (here.has_value() == there.has_value() && !apart(there.value_or(0), expected, 0)) continue;
      const auto at = [&](Real s, const std::optional<Real>& of) {
        return f + "(" + shown(s) + ")" + (of ? " = " + shown(*of) : " is undefined");
      };
      return at(t, here) + ", " + at(-t, there);
    }
    return std::nullopt;
  }
  if (law != Law::Commutative) return counterexample_of_shape(function, law);
  const std::vector<Real> points = samples(function, 40);
  for (const Real s : points) {
    for (const Real t : points) {
      const std::optional<Real> one = value(function, s, t), other = value(function, t, s);
      if (!one && !other) continue;
      if (one && other && !apart(*one, *other, std::max(std::fabs(s), std::fabs(t)))) continue;
      const auto says = [](const std::optional<Real>& v) { return v ? " = " + shown(*v) : " is undefined"; };
      const std::string a = shown(s), b = shown(t);
      return f + "(" + a + ", " + b + ")" + says(one) + ", " + f + "(" + b + ", " + a + ")" + says(other);
    }
  }
  return std::nullopt;
}

/// Yes or no where it can be decided exactly.
std::optional<LawVerdict> decide(const Function& function, Law law) {
  const auto refuted = [](const std::string& counterexample) {
    return LawVerdict{LawVerdict::Kind::Refuted, counterexample};
  };
  const LawVerdict proved{LawVerdict::Kind::Proved, {}};
  if (law == Law::ZeroToZero) {
    const std::optional<Rational> result = at_zero(function);
    if (!result) return std::nullopt;
    return result->num == 0 ? proved : refuted(function.name + "(0) = " + to_string(*result));
  }
  if (law == Law::Commutative) {
    const std::optional<Symmetric> one = form(function, Change::None), other = form(function, Change::Exchanged);
    if (one && one == other) return proved;
    return std::nullopt;
  }
  if (law == Law::Odd || law == Law::Even) {
    const std::optional<Symmetric> one = form(function, Change::Negated),
                                   other = form(function, law == Law::Odd ? Change::NegatedOutside : Change::None);
    if (one && one == other) return proved;
    const std::optional<Piecewise> lines = piecewise(function);
    if (!lines) return std::nullopt;
    const bool same = lines->after(Piecewise({{-1, 1}, {0, 1}})) == (law == Law::Odd ? lines->scaled({-1, 1}) : *lines);
    return same ? std::optional(proved) : std::nullopt;
  }
  const auto if_shown = [&](bool shown) { return shown ? std::optional(proved) : std::nullopt; };
  if (law == Law::Exponential) return if_shown(is_exponential(function));
  if (law == Law::Homogeneous) return if_shown(degree(function) == Degree{1, 1});
  if (law == Law::Reciprocal) return if_shown(degree(function) == Degree{-1, 1});
  if (law == Law::Monotone) return if_shown(never_falls(function));
  const std::optional<Piecewise> once = piecewise(function);
  if (!once) return std::nullopt;
  const Piecewise twice = once->after(*once);
  if (*once == twice) return proved;
  const Rational t = Piecewise::difference(*once, twice).value();
  const std::string f = function.name, at = to_string(t);
  return refuted(f + "(" + at + ") = " + to_string(once->at(t)) + ", " + f + "(" + f + "(" + at +
                 ")) = " + to_string(twice.at(t)));
}

}  // namespace

LawVerdict judge(const Function& function, Law law) {
  try {
    if (std::optional<LawVerdict> decided = decide(function, law)) return *decided;
  } catch (const Overflow&) {  // numbers too large to decide it exactly
  }
  if (std::optional<std::string> found = counterexample(function, law)) return {LawVerdict::Kind::Refuted, *found};
  return {};
}

}  // namespace rulemill::algebra
