// What one step of a scalar function computes, over any floating-point type.
#pragma once

#include <algorithm>
#include <cmath>

#include "algebra/language/function.h"

namespace rulemill::algebra {

/// `b` is the last operand; `a` the one before, where there are two. The step is neither an argument nor a number.
template <class Real>
Real apply(Function::Op op, Real a, Real b) {
  using Op = Function::Op;
  switch (op) {
    case Op::Add:
      return a + b;
    case Op::Sub:
      return a - b;
    case Op::Mul:
      return a * b;
    case Op::Div:
      return a / b;
    case Op::Max:
      return std::max(a, b);
    case Op::Min:
      return std::min(a, b);
    case Op::Exp:
      return std::exp(b);
    case Op::Log:
      return std::log(b);
    case Op::Sqrt:
      return std::sqrt(b);
    case Op::Tanh:
      return std::tanh(b);
    case Op::Erf:
      return std::erf(b);
    default:
      return std::fabs(b);
  }
}

}  // namespace rulemill::algebra
