#include "algebra/properties/function_properties.h"

#include "algebra/operators/function_domain.h"
#include "algebra/operators/function_interpreter.h"
#include "algebra/properties/piecewise_linear.h"

namespace rulemill::algebra {

using Op = Function::Op;

namespace {

/// The factor c^power of a value when all arguments are scaled by c; `zero` if the value is always 0.
struct Homogeneity {
  bool zero = false;
  Rational power{0, 1};
};

std::optional<Homogeneity> apply_homogeneity(Op op, const Homogeneity& a, const Homogeneity& b) {
  const Rational minus_one{-1, 1};
  const auto is_constant = [](const Homogeneity& value) { return value.zero || value.power.num == 0; };
  switch (op) {
    case Op::Add:
    case Op::Sub:
    case Op::Max:
    case Op::Min:
      if (a.zero) return b;
      if (b.zero) return a;
      return a.power == b.power ? std::optional(a) : std::nullopt;
    case Op::Mul:
      return Homogeneity{a.zero || b.zero, a.power + b.power};
    case Op::Div:
      return Homogeneity{a.zero, a.power + minus_one * b.power};
    case Op::Abs:
      return b;
    case Op::Sqrt:
      return Homogeneity{b.zero, b.power * Rational{1, 2}};
    case Op::Less:
    case Op::Equal:  // unchanged if both sides have the same factor
      return a.zero || b.zero || a.power == b.power ? std::optional(Homogeneity{}) : std::nullopt;
    case Op::Gate:  // a nonzero value stays nonzero
      return Homogeneity{a.zero || b.zero, b.power};
    default:  // known only for operands that scaling does not change
      return is_constant(a) && is_constant(b) ? std::optional(Homogeneity{}) : std::nullopt;
  }
}

/// The monotonicity of a value in one argument of the function, and its signs.
struct Monotonicity {
  bool nondecreasing = true, nonincreasing = true;
  Signs signs;

  bool is_constant() const { return nondecreasing && nonincreasing; }
};

std::optional<Monotonicity> apply_monotonicity(Op op, const Monotonicity& a, const Monotonicity& b) {
  Monotonicity result;
  const auto set_directions = [&](bool nondecreasing, bool nonincreasing) {
    result.nondecreasing = nondecreasing, result.nonincreasing = nonincreasing;
  };
  switch (op) {
    case Op::Add:
      set_directions(a.nondecreasing && b.nondecreasing, a.nonincreasing && b.nonincreasing);
      result.signs = a.signs + b.signs;
      return result;
    case Op::Sub:
      set_directions(a.nondecreasing && b.nonincreasing, a.nonincreasing && b.nondecreasing);
      result.signs = a.signs + sign_of(-1) * b.signs;
      return result;
    case Op::Max:
    case Op::Min:
      set_directions(a.nondecreasing && b.nondecreasing, a.nonincreasing && b.nonincreasing);
      return result;  // any sign
    case Op::Mul:
      // Known for a constant times any value, and for two nonnegative values.
      if (a.is_constant() && !b.is_constant()) return apply_monotonicity(op, b, a);
      result.signs = a.signs * b.signs;
      if (b.is_constant()) {
        set_directions(b.signs.negative ? a.nonincreasing : a.nondecreasing,
                       b.signs.negative ? a.nondecreasing : a.nonincreasing);
        if (b.signs.negative && b.signs.positive) return std::nullopt;
        return result;
      }
      if (a.signs.negative || b.signs.negative) return std::nullopt;
      set_directions(a.nondecreasing && b.nondecreasing, a.nonincreasing && b.nonincreasing);
      return result;
    case Op::Div: {
      // The reciprocal of a positive divisor is positive, with the opposite monotonicity.
      if (b.signs.negative || b.signs.zero) return std::nullopt;
      const Monotonicity reciprocal{b.nonincreasing, b.nondecreasing, b.signs};
      return apply_monotonicity(Op::Mul, a, reciprocal);
    }
    case Op::Less:
      set_directions(a.nonincreasing && b.nondecreasing, a.nondecreasing && b.nonincreasing);
      result.signs = {false, true, true};
      return result;
    case Op::Exp:
      set_directions(b.nondecreasing, b.nonincreasing);
      result.signs = {false, false, true};
      return result;
    case Op::Floor:
      set_directions(b.nondecreasing, b.nonincreasing);
      result.signs = {b.signs.negative, b.signs.zero || b.signs.positive, b.signs.positive};
      return result;
    case Op::Tanh:
    case Op::Erf:
    case Op::Atan:
      set_directions(b.nondecreasing, b.nonincreasing);
      result.signs = b.signs;
      return result;
    case Op::Sqrt:
      if (b.signs.negative) return std::nullopt;
      set_directions(b.nondecreasing, b.nonincreasing);
      result.signs = b.signs;
      return result;
    case Op::Log:
      if (b.signs.negative || b.signs.zero) return std::nullopt;
      set_directions(b.nondecreasing, b.nonincreasing);
      return result;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Degree> degree(const Function& function) {
  const auto leaf = [](const Function::Instruction& instruction) -> std::optional<Homogeneity> {
    if (instruction.op == Op::Argument) return Homogeneity{false, {1, 1}};
    return Homogeneity{instruction.exact == Rational{0, 1}, {0, 1}};
  };
  const std::optional<Homogeneity> result = interpret<Homogeneity>(function, leaf, apply_homogeneity);
  return result && !result->zero ? std::optional(result->power) : std::nullopt;
}

int monotonicity(const Function& function, std::size_t argument) {
  // 0 for t < 0, where it is undefined, and increasing from 0.
  if (applies_only(function, Op::Sqrt)) return 1;
  const auto leaf = [&](const Function::Instruction& instruction) -> std::optional<Monotonicity> {
    if (instruction.op == Op::Argument) return Monotonicity{true, instruction.argument != argument, {}};
    return Monotonicity{true, true, sign_of(instruction.number)};
  };
  const auto apply = [](Op op, const Monotonicity& a, const Monotonicity& b) {
    const std::optional<Monotonicity> result = apply_monotonicity(op, a, b);
    return result || !a.is_constant() || !b.is_constant() ? result : std::optional(Monotonicity());
  };
  const std::optional<Monotonicity> result = interpret<Monotonicity>(function, leaf, apply);
  return !result ? 0 : result->nondecreasing ? 1 : result->nonincreasing ? -1 : 0;
}

bool is_exponential(const Function& function) {
  if (function.arity != 1 || function.program.empty() || function.program.back().op != Op::Exp) return false;
  Function inner = function;
  inner.program.pop_back();
  const std::optional<PiecewiseLinear> exponent = to_piecewise_linear(inner);
  const std::optional<Line> line = exponent ? exponent->line() : std::nullopt;  // a · t + b
  return line && line->offset.num == 0;
}

}  // namespace rulemill::algebra
