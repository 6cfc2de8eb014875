#include "algebra/language/function.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/error.h"

namespace rulemill::algebra {
namespace {

using Op = Function::Op;

double unary(Op op, double t) {
  switch (op) {
    case Op::Exp:
      return std::exp(t);
    case Op::Log:
      return std::log(t);
    case Op::Sqrt:
      return std::sqrt(t);
    case Op::Tanh:
      return std::tanh(t);
    case Op::Erf:
      return std::erf(t);
    default:
      return std::fabs(t);
  }
}

double binary(Op op, double s, double t) {
  switch (op) {
    case Op::Add:
      return s + t;
    case Op::Sub:
      return s - t;
    case Op::Mul:
      return s * t;
    case Op::Div:
      return s / t;
    case Op::Max:
      return std::max(s, t);
    default:
      return std::min(s, t);
  }
}

}  // namespace

bool is_unary(Op op) {
  return op == Op::Exp || op == Op::Log || op == Op::Sqrt || op == Op::Tanh || op == Op::Erf || op == Op::Abs;
}

double evaluate(const Function& function, std::span<const double> arguments) {
  std::array<double, 64> stack{};
  std::size_t top = 0;
  for (const Function::Node& node : function.real) {
    RM_CHECK(top + 1 < stack.size(), "a scalar function nests too deeply");
    if (node.op == Op::Argument) {
      stack[top++] = arguments[node.argument];
    } else if (node.op == Op::Number) {
      stack[top++] = node.number;
    } else if (is_unary(node.op)) {
      stack[top - 1] = unary(node.op, stack[top - 1]);
    } else {
      --top;
      stack[top - 1] = binary(node.op, stack[top - 1], stack[top]);
    }
  }
  return stack[0];
}

}  // namespace rulemill::algebra
