// The step Order: a case analysis on the values that piecewise functions compare. They are evaluated by their formulas;
// all other factors may have any value.
#include <algorithm>

#include "check/kernel/kernel.h"

namespace rulemill::check {

using algebra::Function;

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

/// Whether all instructions are operations of piecewise functions, or one of the others.
bool has_only(const Function& function, std::initializer_list<Function::Op> others) {
  for (std::size_t i = 0; i < function.program.size(); ++i) {
    if (std::ranges::count(others, function.program[i].op) == 0 && !is_piecewise(function, i)) return false;
  }
  return true;
}

}  // namespace

bool is_piecewise(const Function& function) { return has_only(function, {}); }

bool is_evaluated_by_cases(const Function& function) {
  using enum Function::Op;
  return has_only(function, {Div, Floor, Power}) && !is_reciprocal(function);
}

void Kernel::order(Sum& sum, const Context& context, const Step& step) {
  const std::set<std::size_t> members = positions(sum, step);
  const Product& first = sum[*members.begin()];
  Sum products;
  for (const std::size_t p : members) {
    expect(std::ranges::is_permutation(sum[p].bound, first.bound) &&
               std::ranges::is_permutation(sum[p].guards, first.guards),
           "the products have different guards or bound indices");
    products.push_back({sum[p].coefficient, {}, {}, sum[p].factors});
  }
  expect(vanishes_in_every_case(products, within(context, first).given, statement_, work_),
         "the products do not cancel in every case");
  erase(sum, members);
}

}  // namespace rulemill::check
