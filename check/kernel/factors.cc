// Steps on one factor: integers, laws of functions, maxima, and where functions are defined.
#include <algorithm>

#include "algebra/properties/exact_value.h"
#include "check/kernel/kernel.h"

namespace rulemill::check {

using Kind = Factor::Kind;
using algebra::Function;
using algebra::LawEquation;
using algebra::ScalarExpr;
using Op = Step::Op;

namespace {

/// The factor F if the sum is one product 1 · F without guards and bound indices; else null.
const Factor* single_factor(const Sum& sum) {
  return sum.size() == 1 && sum[0].factors.size() == 1 && sum == to_sum(sum[0].factors[0]) ? &sum[0].factors[0]
                                                                                           : nullptr;
}

/// The value of f at numbers, if it is exact and all arguments are numbers.
std::optional<Rational> exact_value(const Function& function, const std::vector<Sum>& arguments) {
  std::vector<Rational> numbers;
  for (const Sum& argument : arguments) {
    Rational& total = numbers.emplace_back(Rational{0, 1});
    for (const Product& part : argument) {
      if (!part.guards.empty() || !part.bound.empty() || !part.factors.empty()) return std::nullopt;
      total = total + part.coefficient;
    }
  }
  return algebra::evaluate_exactly(function, numbers);
}

}  // namespace

void Kernel::require_by_signs(const Sum& sum, SignClaim claim, const Context& context, const Step& step,
                              bool undefined_is_zero) {
  for (const auto& [points, integers] : {std::pair(false, false), {true, false}, {true, true}}) {
    SignAnalysis analysis{statement_, points, integers, undefined_is_zero};
    const auto [defined, signs] = analysis.range(sum, context.given);
    const bool is_nonnegative = !signs.negative && (!signs.zero || claim != SignClaim::Positive);
    if (claim == SignClaim::Defined ? !defined : !is_nonnegative) continue;
    for (Obligation& each : analysis.needed) {
      each.lemmas = step.lemmas;
      on_obligation_(std::move(each));
    }
    return;
  }
  const std::string what = claim == SignClaim::Defined ? "defined: " : "positive: ";
  throw CheckError{"signs do not show that it is " + what + statement_.text(sum)};
}

/// F · R = s · F' · R: the factor becomes F', or goes, and the product is multiplied by s.
Sum Kernel::change_factor(const Sum& sum, const Context& context, const Step& step) {
  Product product = sum[step.position(0)];
  if (step.op == Op::Law) return apply_law(product, context, step);
  const Context inside = within(context, product);
  const std::size_t f = step.position(1);
  Factor& factor = at(product.factors, f, "factor");
  Sum scale = {number({1, 1})};
  std::set<std::size_t> gone;
  switch (step.op) {
    case Op::Equal: {
      Poly& index = at(factor.index, step.position(2), "index");
      check_scope(at(step.polys, 0, "polynomial"), inside.scope);
      require(step, "two indices are equal", inside.given, Guard{true, index - step.polys[0]});
      index = step.polys[0];
      break;
    }
    case Op::Indicators:
    case Op::Reindex:
      change_maximum(factor, inside, step);
      break;
    case Op::Within:
      run(at(factor.arguments, step.position(2), "argument"), within(inside, factor), at(step.blocks, 0, "block"));
      break;
    case Op::Replace: {
      Sum& argument = at(factor.arguments, step.position(2), "argument");
      const auto other = [&]() -> const Factor& {
        return at(at(sum, step.position(3), "product").factors, step.position(4), "factor");
      };
      const Sum wanted = step.sums.empty() ? at(other().arguments, step.position(5), "argument") : step.sums[0];
      check_scope(wanted, within(inside, factor).scope, true);
      check_vanishes(subtract(argument, wanted), within(inside, factor), at(step.blocks, 0, "block"),
                     "the arguments are not shown to be equal");
      argument = wanted;
      break;
    }
    case Op::Expand:
      expect(factor.kind == Kind::Integer, "the factor is not an integer");
      scale.clear();
      for (const Poly::Term& term : factor.index.at(0).terms()) {
        Product& part = scale.emplace_back(number({term.coefficient, 1}));
        for (const Atom atom : term.monomial) part.factors.push_back(integer_factor(Poly(atom)));
      }
      gone = {f};
      break;
    case Op::Reciprocal: {
      const Factor& inverse = at(product.factors, step.position(2), "factor");
      expect(factor.kind == Kind::Integer && inverse.kind == Kind::Inverse && factor.index == inverse.index,
             "the factors are not p and 1/p");
      require(step, "a factor is positive", inside.given, Guard{false, factor.index[0] - 1});
      gone = {f, step.position(2)};
      break;
    }
    case Op::Constant: {
      expect(factor.kind == Kind::Apply, "the factor is not a function");
      const auto value = exact_value(statement_.function(factor.symbol), factor.arguments);
      expect(value.has_value(), "the function has no exact value there");
      scale = number_sum(*value);
      gone = {f};
      break;
    }
    case Op::TakeOut:
      scale = take_out(factor, inside, step);
      gone = {f};
      break;
    case Op::Scale: {
      expect(factor.kind == Kind::Max && step.sums.size() == 2, "the factor is not a maximum, or a value is missing");
      const Sum& rest = step.sums[1];
      scale = step.sums[0];
      check_scope(scale, inside.scope, true);
      check_scope(rest, within(inside, factor).scope, true);
      expect(is_same(multiply(scale, rest), factor.arguments.at(0)), "the maximum is of another product");
      require_by_signs(scale, SignClaim::Nonnegative, inside, step);
      factor.arguments[0] = rest;
      break;
    }
    case Op::Monotone:
      scale = {number(monotone(factor, inside, step))};
      break;
    case Op::Flatten:
      flatten(factor, inside, step);
      break;
    case Op::DivideMax:
      divide_max(factor, inside, step);
      break;
    case Op::Signs:
    case Op::Given:
      show_defined(factor, inside, step);
      gone = {f};
      break;
    default:
      throw CheckError{"a step of unknown kind"};
  }
  erase(product.factors, gone, "factor");
  return multiply({std::move(product)}, scale);
}

/// The expression with a sum for each variable. Functions of numbers have their exact values, if `folds`, since a law
/// is used for them, too.
Sum Kernel::instance(const ScalarExpr& expression, const std::vector<Sum>& values, bool folds) const {
  return evaluate(expression, [&](const ScalarExpr& part) {
    if (part.kind == ScalarExpr::Kind::Read) return at(values, part.tensor, "value of a variable");
    expect(part.kind == ScalarExpr::Kind::Apply, "a law with an expression of unknown kind");
    Factor factor{Kind::Apply, statement_.function(part.function).representative, {}, {}, {}, {}};
    for (const auto& operand : part.operands) factor.arguments.push_back(instance(*operand, values, true));
    const auto value = folds ? exact_value(statement_.function(factor.symbol), factor.arguments) : std::nullopt;
    return value ? number_sum(*value) : to_sum(std::move(factor));
  });
}

Sum Kernel::condition_sum(const LawEquation::Condition& condition, const std::vector<Sum>& values) const {
  const bool is_domain = condition.kind == LawEquation::Condition::Kind::Defined;
  const Sum value = instance(*condition.expression, values, !is_domain);
  if (!is_domain) return value;
  const Factor* application = single_factor(value);
  expect(application && application->kind == Kind::Apply, "a condition of a law is not about a function");
  Factor defined = *application;
  defined.kind = Kind::Defined;
  return subtract({number({1, 1})}, to_sum(std::move(defined)));
}

/// R · s = R · t for an instance s = t of a law whose conditions hold. The product is R · s, where s is one product.
Sum Kernel::apply_law(const Product& product, const Context& context, const Step& step) {
  const std::span<const LawEquation> laws = statement_.rule().laws;
  const auto law = std::ranges::find(laws, step.name, &LawEquation::name);
  expect(law != laws.end(), "there is no such law");
  expect(step.sums.size() == law->variables, "expected a value for each variable of the law");
  const Sum left = instance(step.reversed ? *law->right : *law->left, step.sums, false);
  expect(left.size() == 1 && left[0].coefficient.num != 0, "this side of the law is not one product");
  Product rest = product;
  std::set<std::size_t> factors(step.positions.begin() + 1, step.positions.end());
  erase(rest.factors, factors, "factor");
  for (const Atom atom : left[0].bound) expect(std::erase(rest.bound, atom) == 1, "the law binds another index");
  for (const Guard& guard : left[0].guards) expect(std::erase(rest.guards, guard) > 0, "the law has another guard");
  rest.coefficient = rest.coefficient * algebra::reciprocal(left[0].coefficient);
  check_scope({rest}, context.scope, !left[0].bound.empty() || !left[0].guards.empty());
  const Context inside = within(context, rest);
  for (const Sum& value : step.sums) check_scope(value, inside.scope, true);
  const Product whole = multiply(rest, left[0]);
  Product same = product;
  same.bound = whole.bound;
  expect(is_same({whole}, {same}), "the factors are not an instance of the law");
  std::size_t blocks = 0;
  for (const LawEquation::Condition& condition : law->conditions) {
    const Sum value = condition_sum(condition, step.sums);
    check_scope(value, inside.scope);
    if (condition.kind == LawEquation::Condition::Kind::Positive)
      require_by_signs(value, SignClaim::Positive, inside, step);
    else
      check_vanishes(value, inside, at(step.blocks, blocks++, "block"), "a condition of the law is not shown");
  }
  const Sum right = instance(step.reversed ? *law->left : *law->right, step.sums, true);
  Sum result = multiply(Sum{std::move(rest)}, right);
  if (factors.size() == 1 && right.size() == 1 && right[0].factors.size() == 1)  // one factor for one, in its place
    std::rotate(result[0].factors.begin() + static_cast<std::ptrdiff_t>(*factors.begin()), result[0].factors.end() - 1,
                result[0].factors.end());
  return result;
}

/// max_{b: H} (s + Σ_j t_j) = max_{b: H} s + Σ_j t_j where no t_j depends on b and H is not empty. A maximum of 0 is 0.
/// Without b, the maximum is [H] (Σ_j t_j).
Sum Kernel::take_out(Factor maximum, const Context& inside, const Step& step) {
  expect(maximum.kind == Kind::Max, "the factor is not a maximum");
  Sum parts = std::exchange(maximum.arguments.at(0), {});
  if (maximum.bound.empty()) return multiply({Product{{1, 1}, maximum.guards, {}, {}}}, parts);
  if (!parts.empty()) require_point(maximum.guards, maximum.bound, step.polys, inside, step);
  const auto rest = std::stable_partition(
      parts.begin(), parts.end(), [&](const Product& part) { return !depends_on(part, maximum.bound, atoms_); });
  if (rest == parts.end()) return parts;
  expect(rest != parts.begin(), "every product in the maximum depends on its indices");
  maximum.arguments[0].assign(rest, parts.end());
  parts.erase(rest, parts.end());
  return add(std::move(parts), to_sum(std::move(maximum)));
}

/// max_{b: H} c · f(…, t, …) = c · f(…, σ · max_{b: H} σ · t, …) if c · f does not decrease with σ · t, for σ = ±1, and
/// the other arguments do not depend on b. The range has a point, or f(0) = 0. Returns c.
Rational Kernel::monotone(Factor& maximum, const Context& inside, const Step& step) {
  expect(maximum.kind == Kind::Max && maximum.arguments.at(0).size() == 1,
         "the factor is not a maximum of one product");
  const Rational number = std::exchange(maximum.arguments[0][0].coefficient, {1, 1});
  const Factor* inner = single_factor(maximum.arguments[0]);
  expect(inner && inner->kind == Kind::Apply, "the factor is not a maximum of a function");
  const Function& function = statement_.function(inner->symbol);
  const std::size_t argument = step.position(2);
  const int direction = at(function.monotonicity, argument, "argument") * (number.num < 0 ? -1 : 1);
  expect(direction != 0, "the function is not monotone there");
  Factor outer = *inner;
  Sum changed = std::exchange(outer.arguments.at(argument), {});
  expect(!depends_on(outer, maximum.bound, atoms_), "another argument depends on the indices of the maximum");
  if (outer.arguments.size() > 1 || exact_value(function, {{}}) != Rational{0, 1})
    require_point(maximum.guards, maximum.bound, step.polys, inside, step);
  maximum.arguments[0] = direction > 0 ? std::move(changed) : negated(std::move(changed));
  outer.arguments[argument] = {Product{{direction, 1}, {}, {}, {std::move(maximum)}}};
  maximum = std::move(outer);
  return number;
}

void Kernel::flatten(Factor& factor, const Context& inside, const Step& step) {
  const Factor* inner = factor.kind == Kind::Max ? single_factor(factor.arguments.at(0)) : nullptr;
  expect(inner && inner->kind == Kind::Max, "the factor is not a maximum of a maximum");
  require_point(inner->guards, inner->bound, step.polys, within(inside, factor), step);
  Factor flat = *inner;
  flat.bound.insert(flat.bound.begin(), factor.bound.begin(), factor.bound.end());
  flat.guards = conjunction(factor.guards, flat.guards);
  factor = std::move(flat);
}

/// max_{b: H} t = max(max_{b: H, g} t, max_{b: H, h} t) for an inequality g and its complement h, if both have points.
void Kernel::divide_max(Factor& factor, const Context& inside, const Step& step) {
  const std::span<const Function> functions = statement_.rule().functions;
  const std::vector<Function::Instruction> maximum = {
      {Function::Op::Argument, 0, 0}, {Function::Op::Argument, 0, 1}, {Function::Op::Max}};
  const auto larger =
      std::ranges::find_if(functions, [&](const Function& each) { return each.arity == 2 && each.program == maximum; });
  expect(larger != functions.end(), "no function of the definitions is the maximum of two numbers");
  const Guard& guard = step.guard.value();
  expect(factor.kind == Kind::Max && !guard.equality, "the factor is not a maximum that an inequality divides");
  check_scope(guard.poly, within(inside, factor).scope);
  const std::size_t indices = factor.bound.size();
  expect(step.polys.size() == 2 * indices, "expected two points with one polynomial per index of the maximum");
  Factor both{Kind::Apply, larger->representative, {}, {}, {}, {}};
  for (const Guard& half : {guard, complement(guard).at(0)}) {
    Factor part = factor;
    part.guards.push_back(half);
    require_point(part.guards, part.bound, std::span(step.polys).subspan(indices * both.arguments.size(), indices),
                  inside, step);
    both.arguments.push_back(to_sum(std::move(part)));
  }
  factor = std::move(both);
}

/// Undefined values in the condition that is shown have conditions of their own. A law f(−t) = ±f(t) also states that f
/// is defined at −t where it is at t.
void Kernel::show_defined(Factor factor, const Context& inside, const Step& step) {
  expect(factor.kind == Kind::Defined, "the factor does not say where a function is defined");
  if (step.op == Op::Signs) {
    const bool is_shown_condition = known_.shown && factor == known_.shown->factors.at(0);
    factor.kind = Kind::Apply;
    return require_by_signs(to_sum(factor), SignClaim::Defined, inside, step, !is_shown_condition);
  }
  DefinednessCondition other = at(known_.given, step.position(2), "condition that is given");
  const Images images = require_point(other.guards, other.bound, step.polys, inside, step);
  Factor& known = other.factors.at(0);
  for_each_poly(known, [&](Poly& poly) { poly = atoms_.substitute(poly, images); });
  check_scope(to_sum(known), inside.scope);
  if (step.reversed) {
    expect(statement_.function(known.symbol).parity != 0, "the function has no parity law");
    known.arguments.at(0) = negated(known.arguments[0]);
  }
  expect(is_same(to_sum(known), to_sum(factor)), "the condition is another one");
}

}  // namespace rulemill::check
