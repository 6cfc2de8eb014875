#include "algebra/language/function.h"

#include <array>

#include "algebra/language/scalar_op.h"
#include "runtime/error.h"

namespace rulemill::algebra {
using Op = Function::Op;

bool is_unary(Op op) { return op >= Op::Exp; }

double evaluate(const Function& function, std::span<const double> arguments) {
  std::array<double, 64> stack{};
  std::size_t top = 0;
  for (const Function::Node& node : function.real) {
    RM_CHECK(top + 1 < stack.size(), "a scalar function nests too deeply");
    if (node.op == Op::Argument) {
      stack[top++] = arguments[node.argument];
    } else if (node.op == Op::Number) {
      stack[top++] = node.number;
    } else {
      const double b = stack[--top];
      const double a = is_unary(node.op) ? b : stack[--top];
      stack[top++] = apply(node.op, a, b);
    }
  }
  return stack[0];
}

}  // namespace rulemill::algebra
