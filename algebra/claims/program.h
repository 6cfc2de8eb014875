// A scalar function's postfix program, run over any domain: numbers, signs, shapes.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "algebra/language/function.h"

namespace rulemill::algebra {

/// `leaf` gives an argument or a number, `apply` the result of a step; nothing where either cannot follow it.
template <class Value, class Leaf, class Apply>
std::optional<Value> run(const Function& function, const Leaf& leaf, const Apply& apply) {
  std::vector<Value> stack;
  for (const Function::Node& node : function.real) {
    std::optional<Value> value;
    if (node.op == Function::Op::Argument || node.op == Function::Op::Number) {
      value = leaf(node);
    } else {
      const Value b = stack.back();
      stack.pop_back();
      if (is_unary(node.op)) {
        value = apply(node.op, b, b);
      } else {
        value = apply(node.op, stack.back(), b);
        stack.pop_back();
      }
    }
    if (!value) return std::nullopt;
    stack.push_back(std::move(*value));
  }
  return stack.back();
}

}  // namespace rulemill::algebra
