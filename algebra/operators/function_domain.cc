#include "algebra/operators/function_domain.h"

#include <limits>
#include <vector>

#include "algebra/operators/function_evaluation.h"

namespace rulemill::algebra {

using FunctionOp = Function::Op;

Signs operator+(Signs a, Signs b) {
  const bool opposite = (a.negative && b.positive) || (a.positive && b.negative);
  return {a.negative || b.negative, (a.zero && b.zero) || opposite, a.positive || b.positive};
}

Signs operator*(Signs a, Signs b) {
  return {(a.negative && b.positive) || (a.positive && b.negative), a.zero || b.zero,
          (a.positive && b.positive) || (a.negative && b.negative)};
}

Signs square(Signs a) { return {false, a.zero, a.positive || a.negative}; }

Signs sign_of(double number) { return {number<0, number == 0, number> 0}; }

namespace {

Signs negate(Signs a) { return {a.positive, a.zero, a.negative}; }

Signs maximum(Signs a, Signs b) {
  const bool never_positive = !a.positive && !b.positive;
  return {a.negative && b.negative, (a.zero && (b.negative || b.zero)) || (b.zero && (a.negative || a.zero)),
          !never_positive};
}

/// Evaluates one instruction on signs; `b` is the last operand, `a` the first of two.
FunctionRange evaluate_signs(FunctionOp op, Signs a, Signs b) {
  switch (op) {
    case FunctionOp::Add:
      return {true, a + b};
    case FunctionOp::Sub:
      return {true, a + negate(b)};
    case FunctionOp::Mul:
      return {true, a * b};
    case FunctionOp::Div:
      return {!b.zero, a * Signs{b.negative, false, b.positive}};
    case FunctionOp::Max:
      return {true, maximum(a, b)};
    case FunctionOp::Min:
      return {true, negate(maximum(negate(a), negate(b)))};
    case FunctionOp::Less:
    case FunctionOp::Equal:
      return {true, {false, true, true}};
    case FunctionOp::Gate:
      return {true, {b.negative, true, b.positive}};
    case FunctionOp::Power:
      return {b.natural || (!a.negative && !a.zero), {a.negative, a.zero || a.negative, true}};
    case FunctionOp::Exp:
      return {true, {false, false, true}};
    case FunctionOp::Log:
      return {!b.negative && !b.zero, {}};
    case FunctionOp::Sqrt:
      return {!b.negative, {false, b.zero, b.positive}};
    case FunctionOp::Tanh:
    case FunctionOp::Erf:
    case FunctionOp::Atan:
      return {true, b};
    case FunctionOp::Floor:
      return {true, {b.negative, b.zero || b.positive, b.positive}};
    case FunctionOp::Sin:
    case FunctionOp::Cos:
      return {true, {}};
    case FunctionOp::Asin:
      return {!b.negative && !b.positive, b};  // between -1 and 1
    case FunctionOp::Acos:
      return {!b.negative && !b.positive, {false, true, true}};
    case FunctionOp::Abs:
      return {true, {false, b.zero, b.negative || b.positive}};
    case FunctionOp::Argument:
    case FunctionOp::Number:
      break;
  }
  return {false, {}};
}

/// Whether t, which is not 0, may be 0 or have the other sign in exact arithmetic.
bool is_near_zero(double t, double scale) { return t != 0 && std::fabs(t) <= 1e-9 * std::max(1.0, scale); }

}  // namespace

FunctionRange range_of(const Function& function, std::span<const Signs> arguments) {
  FunctionRange result;
  std::vector<Signs> stack;
  for (const Function::Instruction& instruction : function.program) {
    if (instruction.op == FunctionOp::Argument) {
      stack.push_back(arguments[instruction.argument]);
    } else if (instruction.op == FunctionOp::Number) {
      stack.push_back(sign_of(instruction.number));
    } else {
      const Signs b = stack.back();
      stack.pop_back();
      Signs a;
      if (!is_unary(instruction.op)) {
        a = stack.back();
        stack.pop_back();
      }
      const FunctionRange made = evaluate_signs(instruction.op, a, b);
      result.defined &= made.defined;
      stack.push_back(made.signs);
    }
  }
  if (!stack.empty()) result.signs = stack.back();
  return result;
}

bool is_total(const Function& function) {
  const std::vector<Signs> any(function.arity);
  return range_of(function, any).defined;
}

std::set<std::uint32_t> domain_arguments(const Function& function) {
  std::set<std::uint32_t> result;
  std::vector<std::set<std::uint32_t>> stack;
  for (const Function::Instruction& instruction : function.program) {
    std::set<std::uint32_t> used;
    if (instruction.op == FunctionOp::Argument) used.insert(instruction.argument);
    if (instruction.op != FunctionOp::Argument && instruction.op != FunctionOp::Number) {
      used = std::move(stack.back());
      stack.pop_back();
      const Signs any;
      const bool partial = !evaluate_signs(instruction.op, any, any).defined;
      if (partial) result.insert(used.begin(), used.end());
      if (!is_unary(instruction.op)) {
        used.insert(stack.back().begin(), stack.back().end());
        stack.pop_back();
      }
      if (instruction.op == FunctionOp::Power) result.insert(used.begin(), used.end());
    }
    stack.push_back(std::move(used));
  }
  return result;
}

double evaluate_strictly(const Function& function, std::span<const double> arguments, bool& doubtful) {
  constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
  double scale = 0;
  for (const double argument : arguments) {
    if (std::isnan(argument)) return undefined;
    scale = std::max(scale, std::fabs(argument));
  }
  std::vector<double> stack;
  for (const Function::Instruction& instruction : function.program) {
    if (instruction.op == FunctionOp::Argument || instruction.op == FunctionOp::Number) {
      stack.push_back(instruction.op == FunctionOp::Number ? instruction.number : arguments[instruction.argument]);
      continue;
    }
    const double b = stack.back();
    stack.pop_back();
    const bool bounded =
        instruction.op == FunctionOp::Div || instruction.op == FunctionOp::Log || instruction.op == FunctionOp::Sqrt;
    if (bounded && is_near_zero(b, scale)) doubtful = true;
    if ((instruction.op == FunctionOp::Div && b == 0) || (instruction.op == FunctionOp::Log && b <= 0) ||
        (instruction.op == FunctionOp::Sqrt && b < 0))
      return undefined;
    const bool arc = instruction.op == FunctionOp::Asin || instruction.op == FunctionOp::Acos;
    if (arc && is_near_zero(std::fabs(b) - 1, scale)) doubtful = true;
    if (arc && std::fabs(b) > 1) return undefined;
    double a = b;
    if (!is_unary(instruction.op)) {
      a = stack.back();
      stack.pop_back();
    }
    // Discontinuities: rounding may select the branch.
    if ((instruction.op == FunctionOp::Less || instruction.op == FunctionOp::Equal) && is_near_zero(a - b, scale))
      doubtful = true;
    if (instruction.op == FunctionOp::Gate && is_near_zero(a, scale)) doubtful = true;
    if (instruction.op == FunctionOp::Floor && is_near_zero(b - std::nearbyint(b), scale)) doubtful = true;
    if (instruction.op == FunctionOp::Power && is_near_zero(a, scale)) doubtful = true;
    if (instruction.op == FunctionOp::Power && ((a < 0 && b != std::nearbyint(b)) || (a == 0 && b < 0)))
      return undefined;
    const double value = apply(instruction.op, a, b);
    if (!std::isfinite(value)) doubtful = true;
    stack.push_back(value);
  }
  return stack.back();
}

}  // namespace rulemill::algebra
