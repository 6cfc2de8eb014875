#include "prove/elaboration/piecewise.h"

#include <algorithm>

namespace rulemill::prove {

using algebra::Function;
using algebra::Rational;

namespace {

/// Whether instruction i of the program is an operation of piecewise functions.
bool is_piecewise(const Function& function, std::size_t i) {
  using enum Function::Op;
  const auto is_number = [](const Function::Instruction& node) { return node.op == Number && node.exact; };
  const Function::Instruction& node = function.program[i];
  if (node.op == Div) return is_number(function.program.at(i - 1)) && function.program[i - 1].exact->num != 0;
  constexpr Function::Op others[] = {Argument, Add, Sub, Mul, Max, Min, Abs, Less, Equal, Gate};
  return is_number(node) || std::ranges::count(others, node.op) > 0;
}

}  // namespace

bool is_reciprocal(const Function& function) {
  const auto& program = function.program;
  return function.arity == 1 && program.size() == 3 && program[0].exact == Rational{1, 1} &&
         program[1].op == Function::Op::Argument && program[2].op == Function::Op::Div;
}

bool is_piecewise(const Function& function) {
  for (std::size_t i = 0; i < function.program.size(); ++i) {
    if (!is_piecewise(function, i)) return false;
  }
  return true;
}

bool is_evaluated_by_cases(const Function& function) {
  using enum Function::Op;
  for (std::size_t i = 0; i < function.program.size(); ++i) {
    const Function::Op op = function.program[i].op;
    if (op != Div && op != Floor && op != Power && !is_piecewise(function, i)) return false;
  }
  return !is_reciprocal(function);
}

}  // namespace rulemill::prove
