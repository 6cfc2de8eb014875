#include "algebra/properties/laws.h"

#include <algorithm>
#include <array>
#include <set>

#include "algebra/operators/function_interpreter.h"
#include "algebra/properties/exact_value.h"
#include "algebra/properties/function_properties.h"
#include "algebra/properties/law_counterexample.h"
#include "algebra/properties/piecewise_linear.h"
#include "algebra/properties/sum_of_products.h"
#include "algebra/sizes/checked.h"

namespace rulemill::algebra {
namespace {

using Op = Function::Op;

/// A function multiplied out, and the names of its partial applications (divisors, arguments of roots and so on). A
/// factor that cancels in the value keeps its definedness condition.
struct NormalForm {
  std::string value;
  std::set<std::string> definedness_conditions;
  bool operator==(const NormalForm&) const = default;
};

enum class ArgumentChange : std::uint8_t { None, Exchanged, Negated, NegatedResult };

/// The same one of `form` and `-form` for both; `sign` is -1 if it is `-form`.
SumOfProducts canonicalize_sign(const SumOfProducts& form, int& sign) {
  const SumOfProducts other = form * SumOfProducts::constant({-1, 1});
  sign = other.text() < form.text() ? -1 : 1;
  return sign < 0 ? other : form;
}

/// The normal form of f(s, t), f(t, s), f(-t) or -f(t).
std::optional<NormalForm> normal_form(const Function& function, ArgumentChange change) {
  NormalForm result;
  const auto leaf = [&](const Function::Instruction& instruction) -> std::optional<SumOfProducts> {
    if (instruction.op == Op::Argument) {
      const SumOfProducts argument =
          SumOfProducts::factor((instruction.argument == 0) != (change == ArgumentChange::Exchanged) ? "s" : "t");
      return change == ArgumentChange::Negated ? argument * SumOfProducts::constant({-1, 1}) : argument;
    }
    return instruction.exact ? std::optional(SumOfProducts::constant(*instruction.exact)) : std::nullopt;
  };
  // The factor for an odd or even operation, which is defined for both signs of its operand or for neither.
  const auto even_or_odd_factor = [&](const SumOfProducts& form, const std::string& prefix, Op op) {
    int sign = 1;
    const std::string name = prefix + "(" + canonicalize_sign(form, sign).text() + ")";
    if (op == Op::Div || op == Op::Asin) result.definedness_conditions.insert(name);
    const bool even = op == Op::Abs || op == Op::Cos;
    return SumOfProducts::factor(name) * SumOfProducts::constant({even ? 1 : sign, 1});
  };
  const auto apply = [&](Op op, const SumOfProducts& a, const SumOfProducts& b) -> std::optional<SumOfProducts> {
    const bool sorted = op == Op::Max || op == Op::Min || op == Op::Equal;
    std::array<std::string, 2> both{is_unary(op) ? "" : a.text(), b.text()};
    if (sorted) std::ranges::sort(both);
    const std::string name = std::to_string(static_cast<int>(op)) + "(" + both[0] + "," + both[1] + ")";
    switch (op) {
      case Op::Add:
        return a + b;
      case Op::Sub:
        return a + b * SumOfProducts::constant({-1, 1});
      case Op::Mul:
        return a * b;
      case Op::Div:
        if (const auto divisor = b.constant(); divisor && divisor->num != 0)
          return a * SumOfProducts::constant(reciprocal(*divisor));
        return even_or_odd_factor(b, "1/", Op::Div) * a;
      case Op::Asin:
      case Op::Tanh:
      case Op::Erf:
      case Op::Sin:
      case Op::Atan:
      case Op::Abs:
      case Op::Cos:
        return even_or_odd_factor(b, std::to_string(static_cast<int>(op)), op);
      case Op::Log:
      case Op::Sqrt:
      case Op::Acos:
      case Op::Power:
        result.definedness_conditions.insert(name);
        return SumOfProducts::factor(name);
      default:
        return SumOfProducts::factor(name);
    }
  };
  const std::optional<SumOfProducts> value = interpret<SumOfProducts>(function, leaf, apply);
  if (!value) return std::nullopt;
  result.value = (change == ArgumentChange::NegatedResult ? *value * SumOfProducts::constant({-1, 1}) : *value).text();
  return result;
}

/// The verdict, if it can be decided exactly.
std::optional<LawVerdict> decide(const Function& function, Law law) {
  const auto refuted = [](const std::string& counterexample) {
    return LawVerdict{LawVerdict::Kind::Refuted, counterexample};
  };
  const LawVerdict proved{LawVerdict::Kind::Proved, {}};
  if (law == Law::ZeroToZero) {
    const std::optional<Rational> result = evaluate_exactly(function, std::vector<Rational>(function.arity, {0, 1}));
    if (!result) return std::nullopt;
    return result->num == 0 ? proved : refuted(function.name + "(0) = " + to_string(*result));
  }
  if (law == Law::Commutative) {
    const std::optional<NormalForm> one = normal_form(function, ArgumentChange::None),
                                    other = normal_form(function, ArgumentChange::Exchanged);
    if (one && one == other) return proved;
    return std::nullopt;
  }
  if (law == Law::Odd || law == Law::Even) {
    const std::optional<NormalForm> one = normal_form(function, ArgumentChange::Negated),
                                    other = normal_form(function, law == Law::Odd ? ArgumentChange::NegatedResult
                                                                                  : ArgumentChange::None);
    if (one && one == other) return proved;
    const std::optional<PiecewiseLinear> lines = to_piecewise_linear(function);
    if (!lines) return std::nullopt;
    const bool same =
        lines->compose(PiecewiseLinear({{-1, 1}, {0, 1}})) == (law == Law::Odd ? lines->scaled({-1, 1}) : *lines);
    return same ? std::optional(proved) : std::nullopt;
  }
  const auto if_shown = [&](bool shown) { return shown ? std::optional(proved) : std::nullopt; };
  if (law == Law::Exponential) return if_shown(is_exponential(function));
  if (law == Law::Homogeneous) return if_shown(degree(function) == Degree{1, 1});
  if (law == Law::Reciprocal) return if_shown(degree(function) == Degree{-1, 1});
  if (law == Law::Monotone) return if_shown(monotonicity(function, 0) == 1);
  const std::optional<PiecewiseLinear> once = to_piecewise_linear(function);
  if (!once) return std::nullopt;
  const PiecewiseLinear twice = once->compose(*once);
  if (*once == twice) return proved;
  const Rational t = PiecewiseLinear::find_difference(*once, twice).value();
  const std::string f = function.name, at = to_string(t);
  return refuted(f + "(" + at + ") = " + to_string(once->at(t)) + ", " + f + "(" + f + "(" + at +
                 ")) = " + to_string(twice.at(t)));
}

}  // namespace

LawVerdict check_law(const Function& function, Law law) {
  try {
    if (std::optional<LawVerdict> decided = decide(function, law)) return *decided;
  } catch (const Overflow&) {  // numbers too large to decide it exactly
  }
  if (std::optional<std::string> found = find_counterexample(function, law)) return {LawVerdict::Kind::Refuted, *found};
  return {};
}

}  // namespace rulemill::algebra
