#include "algebra/operators/function_domain.h"

#include <algorithm>
#include <cmath>
#include <vector>

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
      return {true, {b.negative, b.zero, b.positive}};
    case FunctionOp::Floor:
      return {true, {b.negative, b.zero || b.positive, b.positive}};
    case FunctionOp::Sin:
    case FunctionOp::Cos:
      return {true, {}};
    case FunctionOp::Asin:
      return {!b.negative && !b.positive, {b.negative, b.zero, b.positive}};  // defined between -1 and 1
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

Enclosure enclosure_of(const Function::Instruction& instruction) {
  if (instruction.exact) return Enclosure(*instruction.exact);
  return {std::nextafter(instruction.number, -HUGE_VAL), std::nextafter(instruction.number, HUGE_VAL)};
}

Enclosure evaluate_strictly(const Function& function, std::span<const Enclosure> arguments, bool& doubtful) {
  std::vector<Enclosure> stack;
  if (std::ranges::any_of(arguments, &Enclosure::is_undefined)) return Enclosure::undefined();
  for (const Function::Instruction& instruction : function.program) {
    if (instruction.op == FunctionOp::Argument) {
      stack.push_back(arguments[instruction.argument]);
    } else if (instruction.op == FunctionOp::Number) {
      stack.push_back(enclosure_of(instruction));
    } else {
      const Enclosure b = stack.back();
      if (!is_unary(instruction.op)) stack.pop_back();
      stack.back() = apply(instruction.op, stack.back(), b, doubtful);
      if (stack.back().is_undefined()) return Enclosure::undefined();
    }
  }
  return stack.back();
}

}  // namespace rulemill::algebra
