// Steps on one factor that use formulas: logarithms, maxima over unions, and functions as what their formulas say.
#include <algorithm>

#include "algebra/properties/function_interpreter.h"
#include "check/kernel/kernel.h"

namespace rulemill::check {

using Kind = Factor::Kind;
using algebra::Function;

/// log(c · Π F) = log(c) + Σ log(F) for positive c and F, where log(exp(t)) = t and log(1/t) = −log(t).
Sum Kernel::logarithm(Product product, std::size_t f, const Context& inside, const Step& step) {
  const Factor whole = product.factors[f];
  expect(applies(whole, Function::Op::Log), "the factor is not log(t) by its formula");
  const Sum& argument = whole.arguments.at(0);
  expect(argument.size() == 1 && argument[0].guards.empty() && argument[0].bound.empty(),
         "the argument is not one product without guards and bound indices");
  erase_at(product.factors, f);
  Sum parts;
  const auto add = [&](const Sum& value) { parts.insert(parts.end(), value.begin(), value.end()); };
  const auto logarithm_of = [&](const Sum& value) {
    Factor part = whole;
    part.arguments = {value};
    require_defined(part, true, true, inside.given, step.lemmas);
    return to_sum(std::move(part));
  };
  if (argument[0].coefficient != Rational{1, 1}) add(logarithm_of({{argument[0].coefficient, {}, {}, {}}}));
  for (const Factor& factor : argument[0].factors) {
    if (applies(factor, Function::Op::Exp))
      add(factor.arguments.at(0));
    else if (function_of(factor) && is_reciprocal(*function_of(factor)))
      parts = subtract(std::move(parts), logarithm_of(factor.arguments.at(0)));
    else
      add(logarithm_of(to_sum(factor)));
  }
  return multiply(Sum{product}, parts);
}

/// log(Σ exp(u) · R) = u + log(Σ R) where the signs of Σ R are positive. exp(u) has no bound index of the products.
Sum Kernel::log_scale(Product product, std::size_t f, const Context& inside, const Step& step) {
  Factor whole = product.factors[f];
  expect(applies(whole, Function::Op::Log), "the factor is not log(t) by its formula");
  Sum& argument = whole.arguments.at(0);
  const Factor power = with_sorted_guards(at(at(argument, 0, "product").factors, step.position(2), "factor"));
  expect(applies(power, Function::Op::Exp), "the factor in the logarithm is not exp(t) by its formula");
  for (Product& part : argument) {
    const auto found = std::ranges::find(part.factors, power, with_sorted_guards);
    expect(found != part.factors.end() && !depends_on(power, part.bound, atoms_),
           "the products in the logarithm do not have the factor in common");
    part.factors.erase(found);
  }
  require_defined(whole, true, true, inside.given, step.lemmas);
  erase_at(product.factors, f);
  Sum parts = multiply(Sum{product}, power.arguments.at(0));
  product.factors.push_back(std::move(whole));
  parts.push_back(std::move(product));
  return parts;
}

/// max_{b: H} t = max(max_{b: H, g} t, max_{b: H, h} t) for an inequality g and its complement h, if both have points.
void Kernel::divide_max(Factor& factor, const Context& inside, const Step& step) {
  const Guard& guard = step.guard.value();
  const std::size_t indices = factor.bound.size();
  expect(factor.kind == Kind::Max && !guard.equality, "the factor is not a maximum that an inequality divides");
  expect(step.polys.size() == 2 * indices, "expected two points with one polynomial per index of the maximum");
  Factor larger{Kind::Apply, function_of_operation(Function::Op::Max), {}, {}, {}, {}};
  for (const Guard& half : {guard, complement(guard).at(0)}) {
    Factor part = factor;
    part.guards.push_back(half);
    require_point(part, inside, step, std::span(step.polys).subspan(indices * larger.arguments.size(), indices));
    larger.arguments.push_back(to_sum(std::move(part)));
  }
  factor = std::move(larger);
}

std::uint32_t Kernel::function_of_operation(Function::Op op) const {
  const auto& functions = statement_.bank().library().functions();
  const auto found = std::ranges::find_if(functions, [&](const Function& function) {
    return op == Function::Op::Div ? is_reciprocal(function)
                                   : algebra::applies_only(function, op) || is_operation(function, op);
  });
  expect(found != functions.end(), "an operation is no function of the definitions");
  return static_cast<std::uint32_t>(found - functions.begin());
}

/// f(s, …) by its formula, multiplied out. Each other operation is a function of the definitions.
Sum Kernel::unfold(Product product, std::size_t f, const Context& inside, const Step& step) {
  const Factor whole = product.factors[f];
  const Function* function = function_of(whole);
  expect(function, "the factor is not a function");
  require_defined(whole, true, true, inside.given, step.lemmas);
  const auto leaf = [&](const Function::Instruction& node) -> std::optional<Sum> {
    if (node.op == Function::Op::Argument) return whole.arguments.at(node.argument);
    if (!node.exact) return std::nullopt;
    return node.exact->num == 0 ? Sum{} : Sum{Product{*node.exact, {}, {}, {}}};
  };
  const auto apply = [&](Function::Op op, const Sum& a, const Sum& b) -> std::optional<Sum> {
    if (op == Function::Op::Add) return subtract(a, subtract({}, b));
    if (op == Function::Op::Sub) return subtract(a, b);
    if (op == Function::Op::Mul) return multiply(a, b);
    const bool unary = is_unary(op) || op == Function::Op::Div;
    const Sum value = to_sum(
        {Kind::Apply, function_of_operation(op), {}, unary ? std::vector<Sum>{b} : std::vector<Sum>{a, b}, {}, {}});
    return op == Function::Op::Div ? multiply(a, value) : value;
  };
  const auto value = algebra::interpret<Sum>(*function, leaf, apply);
  expect(value.has_value(), "the formula has a number of more than 15 digits");
  erase_at(product.factors, f);
  return multiply(Sum{product}, *value);
}

}  // namespace rulemill::check
