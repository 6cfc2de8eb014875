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
    case Op::Less:
      return a < b ? Real(1) : Real(0);
    case Op::Equal:
      return a == b ? Real(1) : Real(0);
    case Op::Gate:
      return a != 0 ? b : Real(0);
    case Op::Power:
      return std::pow(a, b);
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
    case Op::Floor:
      return std::floor(b);
    case Op::Sin:
      return std::sin(b);
    case Op::Cos:
      return std::cos(b);
    case Op::Asin:
      return std::asin(b);
    case Op::Acos:
      return std::acos(b);
    case Op::Atan:
      return std::atan(b);
    default:
      return std::fabs(b);
  }
}

}  // namespace rulemill::algebra
