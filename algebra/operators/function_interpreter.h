// Interprets the postfix program of a scalar function over any domain: numbers, signs, polynomials.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "algebra/operators/function.h"

namespace rulemill::algebra {

/// `leaf` evaluates an argument or a number, `apply` any other instruction. Returns nullopt as soon as either does.
template <class Value, class Leaf, class Apply>
std::optional<Value> interpret(const Function& function, const Leaf& leaf, const Apply& apply) {
  std::vector<Value> stack;
  stack.reserve(function.program.size());
  for (const Function::Instruction& instruction : function.program) {
    std::optional<Value> value;
    if (instruction.op == Function::Op::Argument || instruction.op == Function::Op::Number) {
      value = leaf(instruction);
    } else {
      const Value b = stack.back();
      stack.pop_back();
      value = apply(instruction.op, is_unary(instruction.op) ? b : stack.back(), b);
      if (!is_unary(instruction.op)) stack.pop_back();
    }
    if (!value) return std::nullopt;
    stack.push_back(std::move(*value));
  }
  return stack.back();
}

}  // namespace rulemill::algebra
