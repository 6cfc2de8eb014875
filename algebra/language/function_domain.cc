#include "algebra/language/function_domain.h"

#include <limits>
#include <vector>

#include "algebra/language/scalar_op.h"

namespace rulemill::algebra {

using Op = Function::Op;

Signs operator+(Signs a, Signs b) {
  const bool opposite = (a.negative && b.positive) || (a.positive && b.negative);
  return {a.negative || b.negative, (a.zero && b.zero) || opposite, a.positive || b.positive};
}

Signs operator*(Signs a, Signs b) {
  return {(a.negative && b.positive) || (a.positive && b.negative), a.zero || b.zero,
          (a.positive && b.positive) || (a.negative && b.negative)};
}

Signs sign_of(double number) { return {number<0, number == 0, number> 0}; }

namespace {

Signs negated(Signs a) { return {a.positive, a.zero, a.negative}; }

Signs maximum(Signs a, Signs b) {
  const bool never_positive = !a.positive && !b.positive;
  return {a.negative && b.negative, (a.zero && (b.negative || b.zero)) || (b.zero && (a.negative || a.zero)),
          !never_positive};
}

/// One step of the formula; `b` is the last operand, `a` the one before if there are two.
FunctionRange step(Op op, Signs a, Signs b) {
  switch (op) {
    case Op::Add:
      return {true, a + b};
    case Op::Sub:
      return {true, a + negated(b)};
    case Op::Mul:
      return {true, a * b};
    case Op::Div:
      return {!b.zero, a * Signs{b.negative, false, b.positive}};
    case Op::Max:
      return {true, maximum(a, b)};
    case Op::Min:
      return {true, negated(maximum(negated(a), negated(b)))};
    case Op::Less:
    case Op::Equal:
      return {true, {false, true, true}};
    case Op::Gate:
      return {true, {b.negative, true, b.positive}};
    case Op::Power:  // of a positive base; of others it depends on whether the exponent is whole
      return {!a.negative && !a.zero, {a.negative, a.zero || a.negative, true}};
    case Op::Exp:
      return {true, {false, false, true}};
    case Op::Log:
      return {!b.negative && !b.zero, {}};
    case Op::Sqrt:
      return {!b.negative, {false, b.zero, b.positive}};
    case Op::Tanh:
    case Op::Erf:
    case Op::Atan:
      return {true, b};
    case Op::Floor:
      return {true, {b.negative, b.zero || b.positive, b.positive}};
    case Op::Sin:
    case Op::Cos:
      return {true, {}};
    case Op::Asin:
      return {!b.negative && !b.positive, b};  // between -1 and 1
    case Op::Acos:
      return {!b.negative && !b.positive, {false, true, true}};
    case Op::Abs:
      return {true, {false, b.zero, b.negative || b.positive}};
    case Op::Argument:
    case Op::Number:
      break;
  }
  return {false, {}};
}

/// Whether t is so near to a bound of a domain, and not on it, that exact arithmetic may have put it there or beyond.
bool near_zero(double t, double scale) { return t != 0 && std::fabs(t) <= 1e-9 * std::max(1.0, scale); }

}  // namespace

FunctionRange range_of(const Function& function, std::span<const Signs> arguments) {
  FunctionRange result;
  std::vector<Signs> stack;
  for (const Function::Node& node : function.real) {
    if (node.op == Op::Argument) {
      stack.push_back(arguments[node.argument]);
    } else if (node.op == Op::Number) {
      stack.push_back(sign_of(node.number));
    } else {
      const Signs b = stack.back();
      stack.pop_back();
      Signs a;
      if (!is_unary(node.op)) {
        a = stack.back();
        stack.pop_back();
      }
      const FunctionRange made = step(node.op, a, b);
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

double evaluate_strictly(const Function& function, std::span<const double> arguments, bool& doubtful) {
  constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
  double scale = 0;
  for (const double argument : arguments) {
    if (std::isnan(argument)) return undefined;
    scale = std::max(scale, std::fabs(argument));
  }
  std::vector<double> stack;
  for (const Function::Node& node : function.real) {
    if (node.op == Op::Argument || node.op == Op::Number) {
      stack.push_back(node.op == Op::Number ? node.number : arguments[node.argument]);
      continue;
    }
    const double b = stack.back();
    stack.pop_back();
    const bool bounded = node.op == Op::Div || node.op == Op::Log || node.op == Op::Sqrt;
    if (bounded && near_zero(b, scale)) doubtful = true;
    if ((node.op == Op::Div && b == 0) || (node.op == Op::Log && b <= 0) || (node.op == Op::Sqrt && b < 0))
      return undefined;
    const bool arc = node.op == Op::Asin || node.op == Op::Acos;
    if (arc && near_zero(std::fabs(b) - 1, scale)) doubtful = true;
    if (arc && std::fabs(b) > 1) return undefined;
    double a = b;
    if (!is_unary(node.op)) {
      a = stack.back();
      stack.pop_back();
    }
    // Where rounding decides: a step of the function.
    if ((node.op == Op::Less || node.op == Op::Equal) && near_zero(a - b, scale)) doubtful = true;
    if (node.op == Op::Gate && near_zero(a, scale)) doubtful = true;
    if (node.op == Op::Floor && near_zero(b - std::nearbyint(b), scale)) doubtful = true;
    if (node.op == Op::Power && near_zero(a, scale)) doubtful = true;
    if (node.op == Op::Power && ((a < 0 && b != std::nearbyint(b)) || (a == 0 && b < 0))) return undefined;
    const double value = apply(node.op, a, b);
    if (!std::isfinite(value)) doubtful = true;
    stack.push_back(value);
  }
  return stack.back();
}

}  // namespace rulemill::algebra
