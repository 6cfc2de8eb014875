#include "algebra/operators/function_evaluation.h"

#include <array>

#include "runtime/text/error.h"

namespace rulemill::algebra {

double evaluate(const Function& function, std::span<const double> arguments) {
  std::array<double, 64> stack{};
  std::size_t top = 0;
  for (const Function::Instruction& instruction : function.program) {
    RM_CHECK(top + 1 < stack.size(), "a scalar function nests too deeply");
    if (instruction.op == Function::Op::Argument) {
      stack[top++] = arguments[instruction.argument];
    } else if (instruction.op == Function::Op::Number) {
      stack[top++] = instruction.number;
    } else {
      const double b = stack[--top];
      const double a = is_unary(instruction.op) ? b : stack[--top];
      stack[top++] = apply(instruction.op, a, b);
    }
  }
  return stack[0];
}

}  // namespace rulemill::algebra
