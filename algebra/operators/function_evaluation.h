// Evaluates scalar functions in floating point.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "algebra/operators/function.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {

/// Evaluates one instruction. `b` is the last operand, `a` the first of two. `op` is neither Argument nor Number.
template <class Real>
Real apply(Function::Op op, Real a, Real b) {
  switch (op) {
    case Function::Op::Add:
      return a + b;
    case Function::Op::Sub:
      return a - b;
    case Function::Op::Mul:
      return a * b;
    case Function::Op::Div:
      return a / b;
    case Function::Op::Max:
      return std::max(a, b);
    case Function::Op::Min:
      return std::min(a, b);
    case Function::Op::Less:
      return a < b ? Real(1) : Real(0);
    case Function::Op::Equal:
      return a == b ? Real(1) : Real(0);
    case Function::Op::Gate:
      return a != 0 ? b : Real(0);
    case Function::Op::Power:
      return std::pow(a, b);
    case Function::Op::Exp:
      return std::exp(b);
    case Function::Op::Log:
      return std::log(b);
    case Function::Op::Sqrt:
      return std::sqrt(b);
    case Function::Op::Tanh:
      return std::tanh(b);
    case Function::Op::Erf:
      return std::erf(b);
    case Function::Op::Floor:
      return std::floor(b);
    case Function::Op::Sin:
      return std::sin(b);
    case Function::Op::Cos:
      return std::cos(b);
    case Function::Op::Asin:
      return std::asin(b);
    case Function::Op::Acos:
      return std::acos(b);
    case Function::Op::Atan:
      return std::atan(b);
    default:
      return std::fabs(b);
  }
}

template <class Real>
Real evaluate(const Function& function, std::span<const Real> arguments) {
  std::array<Real, 64> stack{};
  std::size_t top = 0;
  for (const Function::Instruction& instruction : function.program) {
    RM_CHECK(top + 1 < stack.size(), "a scalar function nests too deeply");
    if (instruction.op == Function::Op::Argument) {
      stack[top++] = arguments[instruction.argument];
    } else if (instruction.op == Function::Op::Number) {
      stack[top++] = instruction.number;
    } else {
      const Real b = stack[--top];
      const Real a = is_unary(instruction.op) ? b : stack[--top];
      stack[top++] = apply(instruction.op, a, b);
    }
  }
  return stack[0];
}
inline double evaluate(const Function& function, std::span<const double> arguments) {
  return evaluate<double>(function, arguments);
}

}  // namespace rulemill::algebra
