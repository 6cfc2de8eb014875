#include "algebra/operators/function_domain.h"

#include "algebra/operators/function_interpreter.h"

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
  const auto leaf = [&](const Function::Instruction& instruction) -> std::optional<Signs> {
    return instruction.op == FunctionOp::Argument ? arguments[instruction.argument] : sign_of(instruction.number);
  };
  const auto apply = [&](FunctionOp op, Signs a, Signs b) -> std::optional<Signs> {
    const FunctionRange made = evaluate_signs(op, a, b);
    result.defined &= made.defined;
    return made.signs;
  };
  if (!function.program.empty()) result.signs = *interpret<Signs>(function, leaf, apply);
  return result;
}

bool is_total(const Function& function) {
  const std::vector<Signs> any(function.arity);
  return range_of(function, any).defined;
}

std::set<std::uint32_t> domain_arguments(const Function& function) {
  using Arguments = std::set<std::uint32_t>;
  Arguments result;
  const auto leaf = [](const Function::Instruction& instruction) -> std::optional<Arguments> {
    return instruction.op == FunctionOp::Argument ? Arguments{instruction.argument} : Arguments();
  };
  const auto apply = [&](FunctionOp op, const Arguments& a, const Arguments& b) -> std::optional<Arguments> {
    const Signs any;
    const bool partial = !evaluate_signs(op, any, any).defined;
    if (partial) result.insert(b.begin(), b.end());
    Arguments used = b;
    used.insert(a.begin(), a.end());
    if (op == FunctionOp::Power) result.insert(used.begin(), used.end());
    return used;
  };
  if (!function.program.empty()) interpret<Arguments>(function, leaf, apply);
  return result;
}

}  // namespace rulemill::algebra
