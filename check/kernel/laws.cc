// Steps on one factor: laws of functions, which their definitions declare, of maxima, and of integers.
#include <algorithm>
#include <numeric>

#include "algebra/properties/function_properties.h"
#include "algebra/properties/laws.h"
#include "algebra/sizes/checked.h"
#include "check/kernel/kernel.h"

namespace rulemill::check {

using Kind = Factor::Kind;
using algebra::Function;
using Op = Step::Op;

namespace {

/// The factor F if the sum is one product 1 · F without guards and bound indices; else null.
const Factor* single_factor(const Sum& sum) {
  return sum.size() == 1 && sum[0].factors.size() == 1 && sum == to_sum(sum[0].factors[0]) ? &sum[0].factors[0]
                                                                                           : nullptr;
}

/// The value of a sum of numbers.
Rational number(const Sum& sum) {
  Rational total{0, 1};
  for (const Product& part : sum) {
    expect(part == Product{part.coefficient, {}, {}, {}}, "an argument of the function is not a number");
    total = total + part.coefficient;
  }
  return total;
}

/// The largest positive number of which all coefficients are integer multiples.
Rational content(const std::vector<Product*>& parts) {
  std::int64_t num = 0, den = 1;
  for (const Product* part : parts) {
    num = std::gcd(num, part->coefficient.num);
    den = algebra::checked_multiply(den, part->coefficient.den / std::gcd(den, part->coefficient.den));
  }
  return algebra::make_rational(num, den);
}

/// True for max(s, t) and min(s, t), and for those of t and a number that the function f maps to itself.
bool is_extremum(const Function& extremum, const Function& f) {
  if (extremum.program.size() != 3) return false;
  const Function::Op last = extremum.program[2].op;
  return (last == Function::Op::Max || last == Function::Op::Min) &&
         std::ranges::all_of(extremum.program, [&](const Function::Instruction& node) {
           return node.op != Function::Op::Number ||
                  (node.exact && algebra::evaluate_exactly(f, std::vector{*node.exact}) == node.exact);
         });
}

bool compares_values(const Function* function) {
  return function && (is_operation(*function, Function::Op::Less) || is_operation(*function, Function::Op::Equal));
}

}  // namespace

bool is_operation(const Function& function, Function::Op op) {
  using enum Function::Op;
  return function.arity == 2 &&
         function.program == std::vector<Function::Instruction>{{Argument}, {Argument, 0, 1}, {op}};
}

bool is_reciprocal(const Function& function) {
  using enum Function::Op;
  return function.arity == 1 &&
         function.program == std::vector<Function::Instruction>{{Number, 1, 0, Rational{1, 1}}, {Argument}, {Div}};
}

std::optional<Sum> Kernel::change_factor(Product& product, std::size_t f, const Context& context, const Step& step) {
  const Context inside = within(context, product);
  Factor& factor = product.factors[f];
  switch (step.op) {
    case Op::Index: {
      Poly& index = at(factor.index, step.position(2), "index");
      require(step, "two indices are equal", inside.given, Guard{true, index - step.polys.at(0)});
      index = step.polys[0];
      return {};
    }
    case Op::Within:
      run(at(factor.arguments, step.position(2), "argument"), within(inside, factor), step.block);
      return {};
    case Op::InstantiateMax:
      return instantiate_max(product, f, inside, step);
    case Op::Flatten: {
      const Factor* inner = factor.kind == Kind::Max ? single_factor(factor.arguments.at(0)) : nullptr;
      expect(inner && inner->kind == Kind::Max, "the factor is not a maximum of a maximum");
      require_point(*inner, within(inside, factor), step, step.polys);
      Factor flat = *inner;
      flat.bound.insert(flat.bound.begin(), factor.bound.begin(), factor.bound.end());
      flat.guards = conjunction(factor.guards, flat.guards);
      factor = std::move(flat);
      return {};
    }
    case Op::Monotone:
      return monotone(product, f, inside, step), std::nullopt;
    case Op::Scale:
      return scale(product, f, inside, step), std::nullopt;
    case Op::CancelSum:
      return cancel_sum(product, f, context, step), std::nullopt;
    case Op::Logarithm:
      return logarithm(product, f, inside, step);
    case Op::LogScale:
      return log_scale(product, f, inside, step);
    case Op::DivideMax:
      return divide_max(factor, inside, step), std::nullopt;
    case Op::Unfold:
      return unfold(product, f, inside, step);
    case Op::Expand: {
      expect(factor.kind == Kind::Integer, "the factor is not an integer");
      const Poly number = factor.index.at(0);
      erase_at(product.factors, f);
      Sum parts;
      for (const Poly::Term& term : number.terms()) {
        Product monomial{{term.coefficient, 1}, {}, {}, {}};
        for (const Atom atom : term.monomial) monomial.factors.push_back({Kind::Integer, 0, {Poly(atom)}, {}, {}, {}});
        parts.push_back(multiply(product, monomial));
      }
      return parts;
    }
    case Op::CancelReciprocal: {
      const std::size_t g = step.position(2);
      const Factor& inverse = at(product.factors, g, "factor");
      expect(factor.kind == Kind::Integer && inverse.kind == Kind::Inverse && factor.index == inverse.index,
             "the factors are not p and 1/p");
      require(step, "a factor is positive", inside.given, Guard{false, factor.index[0] - 1});
      erase_at(product.factors, std::max(f, g));
      erase_at(product.factors, std::min(f, g));
      return {};
    }
    default:
      return apply_law(product, f, step);
  }
}

std::optional<Sum> Kernel::apply_law(Product& product, std::size_t f, const Step& step) {
  Factor& factor = product.factors[f];
  const Function* function = function_of(factor);
  const bool unary = function && function->arity == 1;
  switch (step.op) {
    case Op::Zero: {
      const bool lawful = factor.kind == Kind::Max || (function && function->maps_zero_to_zero);
      expect(lawful && std::ranges::all_of(factor.arguments, &Sum::empty), "the factor is not zero");
      return Sum();
    }
    case Op::Constant: {
      expect(function, "the factor is not a function");
      std::vector<Rational> numbers;
      for (const Sum& argument : factor.arguments) numbers.push_back(number(argument));
      const std::optional<Rational> value = algebra::evaluate_exactly(*function, numbers);
      expect(value.has_value(), "the function has no exact value there");
      if (value->num == 0) return Sum();
      erase_at(product.factors, f);
      product.coefficient = product.coefficient * *value;
      return {};
    }
    case Op::Idempotent: {
      const Factor* inner = unary && function->idempotent ? single_factor(factor.arguments[0]) : nullptr;
      expect(inner && function_of(*inner) == function, "the factor is not f(f(t)) of an idempotent function f");
      factor = Factor(*inner);
      return {};
    }
    case Op::Commute:
      expect(function && function->commutative && factor.arguments.size() == 2, "the function is not commutative");
      std::swap(factor.arguments[0], factor.arguments[1]);
      return {};
    case Op::Parity:
      expect(unary && function->parity != 0, "the function has no parity law");
      factor.arguments[0] = subtract({}, factor.arguments[0]);
      product.coefficient = product.coefficient * Rational{function->parity, 1};
      return {};
    case Op::SplitExp: {
      expect(unary && function->exponential, "the function is not exponential");
      Factor other = factor;
      other.arguments[0] = {at(factor.arguments[0], step.position(2), "product")};
      erase_at(factor.arguments[0], step.position(2));
      product.factors.push_back(std::move(other));
      return {};
    }
    case Op::MergeExp: {
      const std::size_t g = step.position(2);
      const Factor& other = at(product.factors, g, "factor");
      expect(unary && function->exponential && g != f && function_of(other) == function,
             "the factors are not values of one exponential function");
      factor.arguments[0].insert(factor.arguments[0].end(), other.arguments[0].begin(), other.arguments[0].end());
      erase_at(product.factors, g);
      return {};
    }
    case Op::RootOfExp: {
      const bool is_root = applies(factor, Function::Op::Sqrt);
      const bool has_exponent = is_root || (function && is_operation(*function, Function::Op::Power));
      const Factor* inner = has_exponent ? single_factor(factor.arguments[0]) : nullptr;
      expect(inner && applies(*inner, Function::Op::Exp),
             "the factor is not a square root or power of an exponential by their formulas");
      Factor exponential = *inner;
      const Sum exponent = is_root ? Sum{Product{{1, 2}, {}, {}, {}}} : factor.arguments[1];
      exponential.arguments[0] = multiply(exponential.arguments[0], exponent);
      factor = std::move(exponential);
      return {};
    }
    case Op::Shift: {
      const bool is_maximum =
          function && (is_operation(*function, Function::Op::Max) || is_operation(*function, Function::Op::Min));
      expect(is_maximum || compares_values(function), "the factor is not a comparison by its formula");
      Sum &s = factor.arguments[0], &t = factor.arguments[1];
      const std::size_t a = step.position(2), b = step.position(3);
      expect(at(s, a, "product") == at(t, b, "product"), "the compared values have no such product in common");
      Product shifted = multiply(product, s[a]);
      erase_at(shifted.factors, f);
      erase_at(s, a);
      erase_at(t, b);
      return is_maximum ? std::optional(Sum{product, std::move(shifted)}) : std::nullopt;
    }
    default: {  // Compare
      expect(compares_values(function), "the factor is not a comparison by its formula");
      using enum Function::Op;
      constexpr Function::Op increasing[] = {Exp, Tanh, Erf, Atan};  // strictly, and defined everywhere
      const Factor *first = single_factor(factor.arguments[0]), *second = single_factor(factor.arguments[1]);
      const bool increases = first && second && function_of(*first) == function_of(*second) &&
                             std::ranges::any_of(increasing, [&](Function::Op op) { return applies(*first, op); });
      expect(increases, "the compared values are not of one increasing function");
      factor.arguments = {Sum(first->arguments[0]), Sum(second->arguments[0])};
      return {};
    }
  }
}

/// c · Σ [G] max_{b: H} (s + Σ_j t_j) · F = c · Σ [G] max_{b: H} (s) · F + Σ_j c · Σ [G] t_j · F where no t_j depends
/// on b and H is not empty. A maximum of 0 is 0. Without b, the maximum is [H] (Σ_j t_j).
Sum Kernel::instantiate_max(Product product, std::size_t f, const Context& inside, const Step& step) {
  Factor maximum = product.factors[f];
  expect(maximum.kind == Kind::Max, "the factor is not a maximum");
  erase_at(product.factors, f);
  if (maximum.bound.empty()) product.guards = conjunction(product.guards, std::exchange(maximum.guards, {}));
  require_point(maximum, inside, step, step.polys);
  Sum& rest = maximum.arguments.at(0);
  const auto is_inside = [&](const Product& part) { return depends_on(part, maximum.bound, atoms_); };
  const auto outside = std::stable_partition(rest.begin(), rest.end(), is_inside);
  Sum parts = multiply(Sum{product}, Sum(outside, rest.end()));
  for (Product& part : parts) remove_redundant(part.guards);
  rest.erase(outside, rest.end());
  if (rest.empty()) return parts;
  expect(!parts.empty(), "every product in the maximum depends on its indices");
  product.factors.push_back(std::move(maximum));
  parts.push_back(std::move(product));
  return parts;
}

/// f(c · t) = c^d · f(t) for an f of degree d, where c is the content of the coefficients times each positive factor
/// that all products have and that contains no bound index. For an exponential function g with g(0) = 1, g(t)^d is g(d
/// · t).
void Kernel::scale(Product& product, std::size_t f, const Context& inside, const Step& step) {
  Factor& factor = product.factors[f];
  const Function* function = function_of(factor);
  std::optional<Rational> degree = function ? algebra::degree(*function) : std::nullopt;
  if (factor.kind == Kind::Max || (function && function->degree != 0)) degree = {function ? function->degree : 1, 1};
  std::vector<Product*> parts;
  std::vector<Atom> bound = factor.bound;
  for (Sum& argument : factor.arguments) {
    for (Product& part : argument) {
      parts.push_back(&part);
      bound.insert(bound.end(), part.bound.begin(), part.bound.end());
    }
  }
  expect(degree && !parts.empty(), "the factor has no scaling law");
  const bool is_unit = degree->den == 1 && degree->num * degree->num <= 1;
  const auto is_positive = [&](const Factor& candidate) {
    const Function* applied = function_of(candidate);
    if (!applied) return is_unit && (candidate.kind == Kind::Inverse || candidate.kind == Kind::Integer);
    return applied->exponential && algebra::evaluate_exactly(*applied, std::vector{Rational{0, 1}}) == Rational{1, 1};
  };
  const auto find = [](Product* part, const Factor& candidate) {
    return std::ranges::find(part->factors, candidate, with_sorted_guards);
  };
  Product scaled_out;
  for (const Factor& each : std::vector<Factor>(parts[0]->factors)) {
    Factor candidate = with_sorted_guards(each);
    const auto contains = [&](Product* part) { return find(part, candidate) != part->factors.end(); };
    if (!std::ranges::all_of(parts, contains) || !is_positive(candidate) || depends_on(candidate, bound, atoms_))
      continue;
    check_finite(to_sum(candidate));
    if (candidate.kind != Kind::Apply)
      require(step, "a factor is positive", inside.given, Guard{false, candidate.index.at(0) - 1});
    for (Product* part : parts) part->factors.erase(find(part, candidate));
    scaled_out.factors.push_back(std::move(candidate));
  }
  const Rational number = is_unit ? content(parts) : Rational{1, 1};
  expect(!scaled_out.factors.empty() || number != Rational{1, 1}, "the arguments have no common positive factor");
  for (Product* part : parts) part->coefficient = part->coefficient * reciprocal(number);
  if (degree->num == 0) return;
  scaled_out.coefficient = degree->num > 0 ? number : reciprocal(number);
  for (Factor& other : scaled_out.factors) {
    if (other.kind == Kind::Apply)
      other.arguments.at(0) = multiply(other.arguments[0], {Product{*degree, {}, {}, {}}});
    else if (degree->num < 0)
      other.kind = other.kind == Kind::Integer ? Kind::Inverse : Kind::Integer;
  }
  product = multiply(std::move(product), scaled_out);
}

/// max_{b: H} c · f(…, t, …) = c · f(…, σ · max_{b: H} σ · t, …) for σ = ±1 if c · f does not decrease with σ · t. For
/// a nondecreasing f, max(f(s), f(t)) = f(max(s, t)), where f(s) may be a number c = f(c), as in relu(f(t)); also of
/// min.
void Kernel::monotone(Product& product, std::size_t f, const Context& inside, const Step& step) {
  Factor whole = product.factors[f];
  const bool is_range = whole.kind == Kind::Max;
  Rational number{1, 1};
  if (is_range && whole.arguments.at(0).size() == 1) std::swap(number, whole.arguments[0][0].coefficient);
  const Factor* first = is_range || function_of(whole) ? single_factor(whole.arguments.at(0)) : nullptr;
  const Function* function = first ? function_of(*first) : nullptr;
  expect(function && (is_range || function->arity == 1), "the factor is not a maximum of a monotone function");
  Factor outer = *first;
  std::size_t place = 0;  // of the argument that has b, which is not bound in the others then
  const auto varies = [&](const Product& part) { return depends_on(part, whole.bound, atoms_); };
  while (place + 1 < function->arity && std::ranges::none_of(outer.arguments[place], varies)) ++place;
  int sign = function->monotone ? 1 : algebra::monotonicity(*function, place);
  expect(sign == 1 || (is_range && sign == -1), "the factor is not a maximum of a monotone function");
  Sum& argument = outer.arguments[place];
  if (is_range) {
    if (function->arity > 1 || !function->maps_zero_to_zero) require_point(whole, inside, step, step.polys);
    if (number.num < 0) sign = -sign;
    whole.arguments[0] = sign > 0 ? argument : subtract({}, argument);
    product.coefficient = product.coefficient * number;
  } else {
    expect(is_extremum(*function_of(whole), *function),
           "the factor is not a maximum, or the function changes the number");
    for (Sum& each : whole.arguments) {
      const Factor* value = single_factor(each);
      expect(value && function_of(*value) == function, "the functions differ");
      each = Sum(value->arguments[0]);
    }
  }
  argument = {Product{{sign, 1}, {}, {}, {std::move(whole)}}};
  product.factors[f] = std::move(outer);
}

/// (Σ_b [G] R) · 1/S = 1 where S is not 0. Undefined values in S count as 0.
void Kernel::cancel_sum(Product& product, std::size_t f, const Context& context, const Step& step) {
  const Factor quotient = product.factors[f];
  expect(function_of(quotient) && is_reciprocal(*function_of(quotient)), "the factor is not 1/t by its formula");
  expect(!depends_on(quotient, product.bound, atoms_), "the divisor depends on a bound index");
  check_finite(quotient.arguments.at(0));
  Product rest = product;
  rest.coefficient = {1, 1};
  erase_at(rest.factors, f);
  check_vanishes(subtract({rest}, quotient.arguments.at(0)), context, step.block, "the divisor differs from the sum");
  require_defined(quotient, true, true, context.given, step.lemmas);
  product = {product.coefficient, {}, {}, {}};
}

void Kernel::require_defined(const Factor& application, bool nonempty, bool undefined_is_zero, const Guards& given,
                             const std::vector<ProductLemma>& lemmas) {
  auto obligations = check_by_signs(application, nonempty, undefined_is_zero, given, statement_);
  if (!obligations) throw CheckError{"the signs do not imply that it is defined: " + statement_.text(application)};
  for (Obligation& obligation : *obligations) {
    obligation.lemmas = lemmas;
    require(std::move(obligation));
  }
}

}  // namespace rulemill::check
