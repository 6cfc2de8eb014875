// Steps that use counting, and laws of functions and of maxima. The laws of a function are declared by its definition.
#include <algorithm>
#include <numeric>

#include "algebra/operators/function_domain.h"
#include "algebra/properties/laws.h"
#include "check/kernel/proof.h"

namespace rulemill::check {

using Kind = Factor::Kind;
using Op = Step::Op;

namespace {

std::set<Atom> extend(std::set<Atom> scope, const std::vector<Atom>& bound) {
  scope.insert(bound.begin(), bound.end());
  return scope;
}

/// The factor F if the sum is one product 1 · F without guards and bound indices; else null.
const Factor* single_factor(const Sum& sum) {
  const bool single = sum.size() == 1 && sum[0].coefficient == Rational{1, 1} && sum[0].guards.empty() &&
                      sum[0].bound.empty() && sum[0].factors.size() == 1;
  return single ? &sum[0].factors[0] : nullptr;
}

/// True if all functions in the sum are defined everywhere.
bool is_total(const Sum& sum, const Statement& statement) {
  return std::ranges::all_of(sum, [&](const Product& product) {
    return std::ranges::all_of(product.factors, [&](const Factor& factor) {
      const bool total = factor.kind != Kind::Apply || algebra::is_total(statement.function(factor.symbol));
      return total &&
             std::ranges::all_of(factor.arguments, [&](const Sum& argument) { return is_total(argument, statement); });
    });
  });
}

/// The largest positive number of which all coefficients are integer multiples.
Rational content(const std::vector<Sum*>& arguments) {
  std::int64_t num = 0, den = 1;
  for (const Sum* argument : arguments) {
    for (const Product& product : *argument) {
      num = std::gcd(num, product.coefficient.num);
      den = (algebra::make_rational(den, std::gcd(den, product.coefficient.den)) * Rational{product.coefficient.den, 1})
                .num;
    }
  }
  return algebra::make_rational(num, den);
}

}  // namespace

void Kernel::require_point(const std::vector<Atom>& bound, const Guards& guards, const Guards& given,
                           const std::set<Atom>& scope, const Step& step) {
  if (step.polys.size() != bound.size())
    throw CheckError{"expected a point with one polynomial per index of the maximum"};
  Images point;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    check_scope(step.polys[i], scope);
    point[bound[i]] = step.polys[i];
  }
  for (const Guard& guard : guards)
    require(step, "a range is not empty", given, {guard.equality, atoms_.substitute(guard.poly, point)});
}

void Kernel::require_positive(const Poly& number, const Guards& given, const Step& step) {
  if (!atoms_.is_nonnegative(number - 1)) require(step, "a factor is positive", given, {false, number - 1});
}

void Kernel::apply_law(Sum& sum, std::size_t p, std::size_t f, const Context& context, const Step& step) {
  Product& product = sum[p];
  Factor& factor = product.factors.at(f);
  const algebra::Function* function = function_of(factor);
  switch (step.op) {
    case Op::Idempotent: {
      const bool single = function && function->idempotent && factor.arguments.size() == 1;
      const Factor* inner = single ? single_factor(factor.arguments[0]) : nullptr;
      if (!inner || inner->kind != Kind::Apply || inner->symbol != factor.symbol)
        throw CheckError{"the factor is not f(f(t)) of an idempotent function f"};
      Factor kept = *inner;
      factor = std::move(kept);
      return;
    }
    case Op::Project:
      project(product, factor, context, step);
      break;
    case Op::Expand:
      return expand(sum, p, f);
    case Op::CancelReciprocal:
      return cancel_reciprocal(product, f, step.positions.at(2), context, step);
    case Op::Constant:
      return constant(sum, p, f);
    case Op::CancelSum:
      return cancel_sum(sum, p, f, context, step);
    case Op::Scale:
      scale(product, f, context, step);
      break;
    case Op::SplitExp: {
      if (!function || !function->exponential) throw CheckError{"the function is not exponential"};
      Sum& argument = factor.arguments.at(0);
      const std::size_t q = step.positions.at(2);
      if (q >= argument.size()) throw CheckError{"there is no product " + std::to_string(q)};
      Factor other = factor;
      other.arguments[0] = {argument[q]};
      erase_at(argument, q);
      product.factors.push_back(std::move(other));
      break;
    }
    case Op::MergeExp: {
      const std::size_t g = step.positions.at(2);
      if (!function || !function->exponential || g == f || g >= product.factors.size() ||
          product.factors[g].kind != Kind::Apply || product.factors[g].symbol != factor.symbol) {
        throw CheckError{"the factors are not values of one exponential function"};
      }
      const Sum more = product.factors[g].arguments.at(0);
      factor.arguments.at(0).insert(factor.arguments[0].end(), more.begin(), more.end());
      erase_at(product.factors, g);
      break;
    }
    case Op::Monotone:
      monotone(product, factor, context, step);
      break;
    case Op::Flatten:
      flatten(product, factor, context, step);
      break;
    case Op::Parity:
      if (!function || function->parity == 0) throw CheckError{"the function has no parity law"};
      for (Product& part : factor.arguments.at(0)) part.coefficient = part.coefficient * Rational{-1, 1};
      product.coefficient = product.coefficient * Rational{function->parity, 1};
      break;
    default:
      throw CheckError{"not a step by a law"};
  }
  check_scope(product, context.scope);
}

/// The new index has exactly one value for each b, so the sum or maximum stays the same.
void Kernel::new_index(Product& product, Factor* maximum, const Context& context, const Step& step) {
  const Atom atom = step.atom.value();
  const Poly& value = step.polys.at(0);
  std::vector<Atom>& bound = maximum ? maximum->bound : product.bound;
  std::set<Atom> scope = extend(context.scope, product.bound);
  if (maximum) scope = extend(std::move(scope), maximum->bound);
  check_scope(value, scope);
  if (scope.contains(atom) || atoms_.occurs(value, atom)) throw CheckError{atoms_.text(Poly(atom)) + " is in use"};
  Product holder;
  holder.factors = maximum ? std::vector<Factor>{*maximum} : product.factors;
  holder.guards = product.guards;
  if (depends_on(holder, {atom}, atoms_)) throw CheckError{atoms_.text(Poly(atom)) + " is in use"};
  bound.push_back(atom);
  (maximum ? maximum->guards : product.guards).push_back({true, Poly(atom) - value});
}

/// max_{b, c: G(c), H(b, c)} t(c) = max_{c: G(c)} t(c) where G(c) implies H(p(c), c): for every c in G there is such a
/// b, and t does not depend on it.
void Kernel::project(Product& product, Factor& maximum, const Context& context, const Step& step) {
  if (maximum.kind != Kind::Max) throw CheckError{"the factor is not a maximum"};
  Images point;
  std::vector<Atom> gone;
  for (const auto& [atom, value] : step.images) {
    if (!point.emplace(atom, value).second) throw CheckError{"an index is projected out twice"};
    if (std::erase(maximum.bound, atom) == 0) throw CheckError{atoms_.text(Poly(atom)) + " is not bound there"};
    gone.push_back(atom);
  }
  const std::set<Atom> scope = extend(extend(context.scope, product.bound), maximum.bound);
  for (const auto& [atom, value] : point) check_scope(value, scope);
  for (const Product& part : maximum.arguments.at(0)) {
    if (depends_on(part, gone, atoms_)) throw CheckError{"the body depends on an index that is projected out"};
  }
  Guards kept, dropped;
  for (const Guard& guard : maximum.guards) {
    const bool drop = std::ranges::any_of(gone, [&](Atom atom) { return atoms_.occurs(guard.poly, atom); });
    (drop ? dropped : kept).push_back(guard);
  }
  maximum.guards = kept;
  const Guards given = conjunction(conjunction(context.given, product.guards), kept);
  for (const Guard& guard : dropped)
    require(step, "a point of the range", given, {guard.equality, atoms_.substitute(guard.poly, point)});
}

void Kernel::count_range(Product& product, const Context& context, const Step& step) {
  const Atom atom = step.atom.value();
  const Poly &low = step.polys.at(0), &high = step.polys.at(1);
  if (std::erase(product.bound, atom) == 0) throw CheckError{atoms_.text(Poly(atom)) + " is not bound there"};
  const Guard least{false, Poly(atom) - low}, most{false, high - Poly(atom)};
  if (std::erase(product.guards, least) == 0 || std::erase(product.guards, most) == 0)
    throw CheckError{"the index has a different range"};
  if (atoms_.occurs(low, atom) || atoms_.occurs(high, atom) || depends_on(product, {atom}, atoms_))
    throw CheckError{"the product depends on the index beyond its range"};
  const Poly number = high - low + 1;
  if (!atoms_.is_nonnegative(number))
    require(step, "a range has a nonnegative size", conjunction(context.given, product.guards), {false, number});
  product.factors.push_back({Kind::Integer, 0, {number}, {}, {}, {}});
}

void Kernel::collect_terms(Sum& sum, std::size_t p, std::size_t q) {
  if (q >= sum.size() || p == q) throw CheckError{"expected two products"};
  const Product &product = sum[p], &other = sum[q];
  Guards guards = product.guards, others = other.guards;
  std::ranges::sort(guards);
  std::ranges::sort(others);
  if (guards != others || product.bound != other.bound || product.factors != other.factors)
    throw CheckError{"the products differ in more than their coefficients"};
  const Rational coefficient = product.coefficient + other.coefficient;
  sum[p].coefficient = coefficient;
  if (coefficient.num == 0) throw CheckError{"the products cancel"};
  erase_at(sum, q);
}

/// Each atom of a monomial becomes a separate factor.
void Kernel::expand(Sum& sum, std::size_t p, std::size_t f) {
  Product product = sum[p];
  if (product.factors[f].kind != Kind::Integer) throw CheckError{"the factor is not an integer"};
  const Poly number = product.factors[f].index.at(0);
  erase_at(product.factors, f);
  erase_at(sum, p);
  for (const Poly::Term& term : number.terms()) {
    Product part = product;
    part.coefficient = part.coefficient * Rational{term.coefficient, 1};
    for (const Atom atom : term.monomial) part.factors.push_back({Kind::Integer, 0, {Poly(atom)}, {}, {}, {}});
    sum.push_back(std::move(part));
  }
}

void Kernel::cancel_reciprocal(Product& product, std::size_t f, std::size_t g, const Context& context,
                               const Step& step) {
  const bool fits = g < product.factors.size() && product.factors[f].kind == Kind::Integer &&
                    product.factors[g].kind == Kind::Inverse && product.factors[f].index == product.factors[g].index;
  if (!fits) throw CheckError{"the factors are not p and 1/p"};
  require_positive(product.factors[f].index[0], conjunction(context.given, product.guards), step);
  erase_at(product.factors, std::max(f, g));
  erase_at(product.factors, std::min(f, g));
}

void Kernel::constant(Sum& sum, std::size_t p, std::size_t f) {
  Product& product = sum[p];
  const Factor& factor = product.factors[f];
  const algebra::Function* function = function_of(factor);
  if (!function) throw CheckError{"the factor is not a function"};
  std::vector<Rational> numbers;
  for (const Sum& argument : factor.arguments) {
    Rational& number = numbers.emplace_back(Rational{0, 1});
    for (const Product& part : argument) {
      if (!part.guards.empty() || !part.bound.empty() || !part.factors.empty())
        throw CheckError{"an argument of the function is not a number"};
      number = number + part.coefficient;
    }
  }
  const std::optional<Rational> value = algebra::evaluate_exactly(*function, numbers);
  if (!value) throw CheckError{"the function has no exact value there"};
  erase_at(product.factors, f);
  product.coefficient = product.coefficient * *value;
  if (value->num == 0) erase_at(sum, p);
}

/// f(c · t) = c^d · f(t), where c is the content of the coefficients times each factor that all products have and that
/// contains no bound index: p and 1/p with p ≥ 1, and values of an exponential function g with g(0) = 1. These are
/// positive: g(t) is the square of g(t/2), and g(t) · g(−t) = g(0) = 1.
void Kernel::scale(Product& product, std::size_t f, const Context& context, const Step& step) {
  Factor& factor = product.factors[f];
  const algebra::Function* function = function_of(factor);
  const int degree = factor.kind == Kind::Max ? 1 : function ? function->degree : 0;
  if (degree == 0) throw CheckError{"the factor has no scaling law"};
  std::vector<Sum*> arguments;
  for (Sum& argument : factor.arguments) arguments.push_back(&argument);
  std::size_t products = 0;
  for (const Sum* argument : arguments) products += argument->size();
  if (products == 0) throw CheckError{"the arguments are 0"};
  const auto first = std::ranges::find_if(arguments, [](const Sum* argument) { return !argument->empty(); });

  const auto is_positive = [&](const Factor& candidate) {
    if (candidate.kind == Kind::Inverse || candidate.kind == Kind::Integer) return true;
    const algebra::Function* applied = function_of(candidate);
    return applied && applied->exponential &&
           algebra::evaluate_exactly(*applied, std::vector{Rational{0, 1}}) == Rational{1, 1};
  };
  const auto find_factor = [&](const Product& part, const Factor& candidate) {
    const auto same = [&](const Factor& other) { return with_sorted_guards(other) == candidate; };
    return static_cast<std::size_t>(std::ranges::find_if(part.factors, same) - part.factors.begin());
  };
  const auto is_common = [&](const Factor& candidate) {
    return std::ranges::all_of(arguments, [&](const Sum* argument) {
      return std::ranges::all_of(*argument, [&](const Product& part) {
        return find_factor(part, candidate) < part.factors.size() && !depends_on(candidate, part.bound, atoms_);
      });
    });
  };
  std::vector<Factor> scaled_out;
  for (std::size_t i = 0; i < (*first)->at(0).factors.size();) {
    const Factor candidate = with_sorted_guards((*first)->at(0).factors[i]);
    if (!is_positive(candidate) || depends_on(candidate, factor.bound, atoms_) || !is_common(candidate)) {
      ++i;
      continue;
    }
    for (Sum* argument : arguments) {
      for (Product& part : *argument) erase_at(part.factors, find_factor(part, candidate));
    }
    if (candidate.kind != Kind::Apply)
      require_positive(candidate.index.at(0), conjunction(context.given, product.guards), step);
    scaled_out.push_back(candidate);
  }
  const Rational number = content(arguments);
  if (scaled_out.empty() && number == Rational{1, 1}) throw CheckError{"the arguments have no common positive factor"};
  for (Sum* argument : arguments) {
    for (Product& part : *argument) part.coefficient = part.coefficient * reciprocal(number);
  }
  product.coefficient = product.coefficient * (degree == 1 ? number : reciprocal(number));
  for (Factor& other : scaled_out) {
    if (degree == -1 && other.kind == Kind::Apply) {
      for (Product& part : other.arguments.at(0)) part.coefficient = part.coefficient * Rational{-1, 1};
    } else if (degree == -1) {
      other.kind = other.kind == Kind::Integer ? Kind::Inverse : Kind::Integer;
    }
    product.factors.push_back(std::move(other));
  }
}

void Kernel::monotone(Product& product, Factor& factor, const Context& context, const Step& step) {
  if (factor.kind == Kind::Apply) return monotone_of_two(factor);
  const Factor* inner = factor.kind == Kind::Max ? single_factor(factor.arguments.at(0)) : nullptr;
  const algebra::Function* function = inner ? function_of(*inner) : nullptr;
  if (!function || !function->monotone) throw CheckError{"the factor is not a maximum of a nondecreasing function"};
  if (!function->maps_zero_to_zero) {
    require_point(factor.bound, factor.guards, conjunction(context.given, product.guards),
                  extend(context.scope, product.bound), step);
  }
  Factor outer = *inner;
  factor.arguments = {inner->arguments.at(0)};
  Product held;
  held.factors.push_back(factor);
  outer.arguments = {{held}};
  factor = std::move(outer);
}

/// max(f(s), f(t)) = f(max(s, t)) for a nondecreasing f, and the same for min. f(s) may be a number c = f(c), as in
/// relu(f(t)).
void Kernel::monotone_of_two(Factor& factor) const {
  using FunctionOp = algebra::Function::Op;
  const algebra::Function& outer = statement_.function(factor.symbol);
  const Factor* first = single_factor(factor.arguments.at(0));
  const algebra::Function* function = first ? function_of(*first) : nullptr;
  const FunctionOp last = outer.program.back().op;
  if (!function || !function->monotone || outer.program.size() != 3 ||
      (last != FunctionOp::Max && last != FunctionOp::Min))
    throw CheckError{"the factor is not a maximum of a nondecreasing function"};
  for (const algebra::Function::Instruction& node : outer.program) {
    if (node.op != FunctionOp::Number) continue;
    if (!node.exact || algebra::evaluate_exactly(*function, std::vector{*node.exact}) != node.exact)
      throw CheckError{"the function changes the number"};
  }
  Factor inner = factor;
  for (Sum& argument : inner.arguments) {
    const Factor* value = single_factor(argument);
    if (!value || value->kind != Kind::Apply || value->symbol != first->symbol)
      throw CheckError{"the functions differ"};
    const Sum lifted = value->arguments.at(0);
    argument = lifted;
  }
  Product whole;
  whole.factors.push_back(std::move(inner));
  Factor outside = *first;
  outside.arguments = {Sum{std::move(whole)}};
  factor = std::move(outside);
}

/// Signs are those of defined values, and undefined values count as 0 here. So all functions in S must be total.
void Kernel::cancel_sum(Sum& sum, std::size_t p, std::size_t f, const Context& context, const Step& step) {
  using FunctionOp = algebra::Function::Op;
  const Factor quotient = sum[p].factors[f];
  const algebra::Function* function = function_of(quotient);
  const auto is_inverse = [](const std::vector<algebra::Function::Instruction>& real) {
    return real.size() == 3 && real[0].exact == Rational{1, 1} && real[1].op == FunctionOp::Argument &&
           real[2].op == FunctionOp::Div;
  };
  if (!function || function->arity != 1 || !is_inverse(function->program))
    throw CheckError{"the factor is not 1/t by its formula"};
  if (!is_total(quotient.arguments.at(0), statement_)) throw CheckError{"the divisor may be undefined"};
  if (depends_on(quotient, sum[p].bound, atoms_)) throw CheckError{"the divisor depends on a bound index"};
  Product rest = sum[p];
  rest.coefficient = {1, 1};
  erase_at(rest.factors, f);
  check_vanishes(subtract({rest}, quotient.arguments.at(0)), context, step.block, "the divisor differs from the sum");
  auto obligations = check_by_signs({{1, 1}, {}, {}, {quotient}}, true, context.given, statement_);
  if (!obligations) throw CheckError{"the signs do not exclude a divisor of 0"};
  for (Obligation& obligation : *obligations) require(step, std::move(obligation));
  sum[p] = {sum[p].coefficient, {}, {}, {}};
}

void Kernel::flatten(Product& product, Factor& factor, const Context& context, const Step& step) {
  const Factor* found = factor.kind == Kind::Max ? single_factor(factor.arguments.at(0)) : nullptr;
  if (!found || found->kind != Kind::Max) throw CheckError{"the factor is not a maximum of a maximum"};
  const Factor inner = *found;
  require_point(inner.bound, inner.guards, conjunction(conjunction(context.given, product.guards), factor.guards),
                extend(extend(context.scope, product.bound), factor.bound), step);
  factor.bound.insert(factor.bound.end(), inner.bound.begin(), inner.bound.end());
  factor.guards = conjunction(factor.guards, inner.guards);
  factor.arguments = inner.arguments;
}

}  // namespace rulemill::check
