// Steps by counting, and by what functions and maxima are. A function's laws are those that its definition declares.
#include <algorithm>
#include <numeric>

#include "algebra/claims/laws.h"
#include "algebra/language/function_domain.h"
#include "check/kernel/proof.h"

namespace rulemill::check {

using Kind = Factor::Kind;
using Op = Step::Op;

namespace {

template <class T>
void erase(std::vector<T>& list, std::size_t position) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(position));
}

std::set<Atom> joined(std::set<Atom> scope, const std::vector<Atom>& bound) {
  scope.insert(bound.begin(), bound.end());
  return scope;
}

/// The one factor of a sum of one product that is 1 · factor, without guards or bound indices; else null.
const Factor* alone(const Sum& sum) {
  const bool single = sum.size() == 1 && sum[0].coefficient == Rational{1, 1} && sum[0].guards.empty() &&
                      sum[0].bound.empty() && sum[0].factors.size() == 1;
  return single ? &sum[0].factors[0] : nullptr;
}

/// Whether all functions in it are defined everywhere.
bool only_total(const Sum& sum, const Statement& statement) {
  return std::ranges::all_of(sum, [&](const Product& product) {
    return std::ranges::all_of(product.factors, [&](const Factor& factor) {
      const bool total = factor.kind != Kind::Apply || algebra::is_total(statement.function(factor.symbol));
      return total && std::ranges::all_of(factor.arguments,
                                          [&](const Sum& argument) { return only_total(argument, statement); });
    });
  });
}

/// The greatest positive number of which all coefficients are whole multiples.
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

void Kernel::owe_point(const std::vector<Atom>& bound, const Guards& guards, const Guards& given,
                       const std::set<Atom>& scope, const Step& step) {
  if (step.polys.size() != bound.size()) throw Objection{"a point of the maximum's range is expected"};
  Images point;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    check_scope(step.polys[i], scope);
    point[bound[i]] = step.polys[i];
  }
  for (const Guard& guard : guards)
    owe(step, "a range is not empty", given, {guard.equality, atoms_.substitute(guard.poly, point)});
}

void Kernel::owe_positive(const Poly& number, const Guards& given, const Step& step) {
  if (!atoms_.nonnegative(number - 1)) owe(step, "a factor is positive", given, {false, number - 1});
}

void Kernel::by_law(Sum& sum, std::size_t p, std::size_t f, const Context& context, const Step& step) {
  Product& product = sum[p];
  Factor& factor = product.factors.at(f);
  const algebra::Function* function = function_of(factor);
  switch (step.op) {
    case Op::Leave:
      leave(product, factor, context, step);
      break;
    case Op::Expand:
      return expand(sum, p, f);
    case Op::Reduce:
      return reduce(product, f, step.at.at(2), context, step);
    case Op::Constant:
      return constant(sum, p, f);
    case Op::Unit:
      return unit(sum, p, f, context, step);
    case Op::Scale:
      scale(product, f, context, step);
      break;
    case Op::Part: {
      // f(s + t) = f(s) · f(t), whatever s and t are.
      if (!function || !function->exponential) throw Objection{"the function does not turn sums into products"};
      Sum& argument = factor.arguments.at(0);
      const std::size_t q = step.at.at(2);
      if (q >= argument.size()) throw Objection{"there is no product " + std::to_string(q)};
      Factor other = factor;
      other.arguments[0] = {argument[q]};
      erase(argument, q);
      product.factors.push_back(std::move(other));
      break;
    }
    case Op::Join: {
      const std::size_t g = step.at.at(2);
      if (!function || !function->exponential || g == f || g >= product.factors.size() ||
          product.factors[g].kind != Kind::Apply || product.factors[g].symbol != factor.symbol) {
        throw Objection{"the factors are no values of a function that turns sums into products"};
      }
      const Sum more = product.factors[g].arguments.at(0);
      factor.arguments.at(0).insert(factor.arguments[0].end(), more.begin(), more.end());
      erase(product.factors, g);
      break;
    }
    case Op::Lift:
      lift(product, factor, context, step);
      break;
    case Op::Flatten:
      flatten(product, factor, context, step);
      break;
    case Op::Turn:
      if (!function || function->parity == 0) throw Objection{"no law says how the function takes a change of sign"};
      for (Product& part : factor.arguments.at(0)) part.coefficient = part.coefficient * Rational{-1, 1};
      product.coefficient = product.coefficient * Rational{function->parity, 1};
      break;
    default:
      throw Objection{"no step by a law"};
  }
  check_scope(product, context.scope);
}

/// Σ_b [G] F = Σ_{b, c} [G] [c = φ] F, and likewise of maxima: c has exactly one value for each b. That c is nowhere
/// else is the scope's business.
void Kernel::name(Product& product, Factor* maximum, const Context& context, const Step& step) {
  const Atom atom = step.atom.value();
  const Poly& value = step.polys.at(0);
  std::vector<Atom>& bound = maximum ? maximum->bound : product.bound;
  std::set<Atom> scope = joined(context.scope, product.bound);
  if (maximum) scope = joined(std::move(scope), maximum->bound);
  check_scope(value, scope);
  if (scope.contains(atom) || atoms_.occurs(value, atom)) throw Objection{atoms_.text(Poly(atom)) + " has a meaning"};
  Product holder;
  holder.factors = maximum ? std::vector<Factor>{*maximum} : product.factors;
  holder.guards = product.guards;
  if (has_any(holder, {atom}, atoms_)) throw Objection{atoms_.text(Poly(atom)) + " has a meaning"};
  bound.push_back(atom);
  (maximum ? maximum->guards : product.guards).push_back({true, Poly(atom) - value});
}

/// max_{b, c: G(c), H(b, c)} t(c) = max_{c: G(c)} t(c) where G(c) implies H(ψ(c), c): each c that is left had a b, and
/// the value did not depend on which.
void Kernel::leave(Product& product, Factor& maximum, const Context& context, const Step& step) {
  if (maximum.kind != Kind::Max) throw Objection{"the factor is no maximum"};
  Images point;
  std::vector<Atom> gone;
  for (const auto& [atom, value] : step.to) {
    if (!point.emplace(atom, value).second) throw Objection{"an index leaves twice"};
    if (std::erase(maximum.bound, atom) == 0) throw Objection{atoms_.text(Poly(atom)) + " is not bound there"};
    gone.push_back(atom);
  }
  const std::set<Atom> scope = joined(joined(context.scope, product.bound), maximum.bound);
  for (const auto& [atom, value] : point) check_scope(value, scope);
  for (const Product& part : maximum.arguments.at(0)) {
    if (has_any(part, gone, atoms_)) throw Objection{"the body depends on an index that leaves"};
  }
  Guards kept, dropped;
  for (const Guard& guard : maximum.guards) {
    const bool speaks = std::ranges::any_of(gone, [&](Atom atom) { return atoms_.occurs(guard.poly, atom); });
    (speaks ? dropped : kept).push_back(guard);
  }
  maximum.guards = kept;
  const Guards given = joined(joined(context.given, product.guards), kept);
  for (const Guard& guard : dropped)
    owe(step, "a point of the range", given, {guard.equality, atoms_.substitute(guard.poly, point)});
}

/// Σ_b [low ≤ b] [b ≤ high] F = (high + 1 − low) · F where b is nowhere else, and high + 1 ≥ low.
void Kernel::count(Product& product, const Context& context, const Step& step) {
  const Atom atom = step.atom.value();
  const Poly &low = step.polys.at(0), &high = step.polys.at(1);
  if (std::erase(product.bound, atom) == 0) throw Objection{atoms_.text(Poly(atom)) + " is not bound there"};
  const Guard least{false, Poly(atom) - low}, most{false, high - Poly(atom)};
  if (std::erase(product.guards, least) == 0 || std::erase(product.guards, most) == 0)
    throw Objection{"its range is another one"};
  if (atoms_.occurs(low, atom) || atoms_.occurs(high, atom) || has_any(product, {atom}, atoms_))
    throw Objection{"more than its range depends on the index"};
  const Poly number = high - low + 1;
  if (!atoms_.nonnegative(number))
    owe(step, "a range has no fewer than no points", joined(context.given, product.guards), {false, number});
  product.factors.push_back({Kind::Whole, 0, {number}, {}, {}, {}});
}

/// c · R + d · R = (c + d) · R
void Kernel::gather(Sum& sum, std::size_t p, std::size_t q) {
  if (q >= sum.size() || p == q) throw Objection{"two products are expected"};
  const Product &product = sum[p], &other = sum[q];
  Guards guards = product.guards, others = other.guards;
  std::ranges::sort(guards);
  std::ranges::sort(others);
  if (guards != others || product.bound != other.bound || product.factors != other.factors)
    throw Objection{"the products differ by more than their coefficients"};
  const Rational coefficient = product.coefficient + other.coefficient;
  sum[p].coefficient = coefficient;
  if (coefficient.num == 0) throw Objection{"the products cancel"};
  erase(sum, q);
}

/// c · (Σ_j c_j · m_j) · F = Σ_j c · c_j · m_j · F, each atom of a monomial m_j a factor of its own.
void Kernel::expand(Sum& sum, std::size_t p, std::size_t f) {
  Product product = sum[p];
  if (product.factors[f].kind != Kind::Whole) throw Objection{"the factor is no whole number"};
  const Poly number = product.factors[f].index.at(0);
  erase(product.factors, f);
  erase(sum, p);
  for (const Poly::Term& term : number.terms()) {
    Product part = product;
    part.coefficient = part.coefficient * Rational{term.coefficient, 1};
    for (const Atom atom : term.monomial) part.factors.push_back({Kind::Whole, 0, {Poly(atom)}, {}, {}, {}});
    sum.push_back(std::move(part));
  }
}

/// p · 1/p = 1 where p ≥ 1.
void Kernel::reduce(Product& product, std::size_t f, std::size_t g, const Context& context, const Step& step) {
  const bool fits = g < product.factors.size() && product.factors[f].kind == Kind::Whole &&
                    product.factors[g].kind == Kind::Inverse && product.factors[f].index == product.factors[g].index;
  if (!fits) throw Objection{"the factors are not inverse to each other"};
  owe_positive(product.factors[f].index[0], joined(context.given, product.guards), step);
  erase(product.factors, std::max(f, g));
  erase(product.factors, std::min(f, g));
}

/// f of numbers, where its formula gives the value exactly.
void Kernel::constant(Sum& sum, std::size_t p, std::size_t f) {
  Product& product = sum[p];
  const Factor& factor = product.factors[f];
  const algebra::Function* function = function_of(factor);
  if (!function) throw Objection{"the factor is no function"};
  std::vector<Rational> numbers;
  for (const Sum& argument : factor.arguments) {
    Rational& number = numbers.emplace_back(Rational{0, 1});
    for (const Product& part : argument) {
      if (!part.guards.empty() || !part.bound.empty() || !part.factors.empty())
        throw Objection{"the function is not of numbers alone"};
      number = number + part.coefficient;
    }
  }
  const std::optional<Rational> value = algebra::exact_value(*function, numbers);
  if (!value) throw Objection{"the function's value there is not known exactly"};
  erase(product.factors, f);
  product.coefficient = product.coefficient * *value;
  if (value->num == 0) erase(sum, p);
}

/// f(c · t) = c^d · f(t) for c > 0, by f's law; d = 1 for a maximum. c is the content of the coefficients, times each
/// factor that all products have and that no bound index is in: p and 1/p with p ≥ 1, and values of a function with
/// f(s + t) = f(s) · f(t), which are positive: f(t) is the square of f(t/2), and f(t) · f(−t) = f(0) = 1.
void Kernel::scale(Product& product, std::size_t f, const Context& context, const Step& step) {
  Factor& factor = product.factors[f];
  const algebra::Function* function = function_of(factor);
  const int degree = factor.kind == Kind::Max ? 1 : function ? function->degree : 0;
  if (degree == 0) throw Objection{"no law says how the factor scales"};
  std::vector<Sum*> arguments;
  for (Sum& argument : factor.arguments) arguments.push_back(&argument);
  std::size_t products = 0;
  for (const Sum* argument : arguments) products += argument->size();
  if (products == 0) throw Objection{"there is nothing to scale"};
  const auto first = std::ranges::find_if(arguments, [](const Sum* argument) { return !argument->empty(); });

  const auto positive = [&](const Factor& candidate) {
    if (candidate.kind == Kind::Inverse || candidate.kind == Kind::Whole) return true;
    const algebra::Function* of = function_of(candidate);
    return of && of->exponential && algebra::exact_value(*of, std::vector{Rational{0, 1}}) == Rational{1, 1};
  };
  const auto place = [&](const Product& part, const Factor& candidate) {
    const auto same = [&](const Factor& other) { return sorted(other) == candidate; };
    return static_cast<std::size_t>(std::ranges::find_if(part.factors, same) - part.factors.begin());
  };
  const auto common = [&](const Factor& candidate) {
    return std::ranges::all_of(arguments, [&](const Sum* argument) {
      return std::ranges::all_of(*argument, [&](const Product& part) {
        return place(part, candidate) < part.factors.size() && !has_any(candidate, part.bound, atoms_);
      });
    });
  };
  std::vector<Factor> taken;
  for (std::size_t i = 0; i < (*first)->at(0).factors.size();) {
    const Factor candidate = sorted((*first)->at(0).factors[i]);
    if (!positive(candidate) || has_any(candidate, factor.bound, atoms_) || !common(candidate)) {
      ++i;
      continue;
    }
    for (Sum* argument : arguments) {
      for (Product& part : *argument) erase(part.factors, place(part, candidate));
    }
    if (candidate.kind != Kind::Apply) owe_positive(candidate.index.at(0), joined(context.given, product.guards), step);
    taken.push_back(candidate);
  }
  const Rational number = content(arguments);
  if (taken.empty() && number == Rational{1, 1}) throw Objection{"the arguments have nothing in common"};
  for (Sum* argument : arguments) {
    for (Product& part : *argument) part.coefficient = part.coefficient * reciprocal(number);
  }
  product.coefficient = product.coefficient * (degree == 1 ? number : reciprocal(number));
  for (Factor& other : taken) {
    if (degree == -1 && other.kind == Kind::Apply) {
      for (Product& part : other.arguments.at(0)) part.coefficient = part.coefficient * Rational{-1, 1};
    } else if (degree == -1) {
      other.kind = other.kind == Kind::Whole ? Kind::Inverse : Kind::Whole;
    }
    product.factors.push_back(std::move(other));
  }
}

/// max_{b: H} f(t) = f(max_{b: H} t) where f does not fall and H is not empty, or f(0) = 0.
void Kernel::lift(Product& product, Factor& factor, const Context& context, const Step& step) {
  if (factor.kind == Kind::Apply) return lift_from_two(factor);
  const Factor* inner = factor.kind == Kind::Max ? alone(factor.arguments.at(0)) : nullptr;
  const algebra::Function* function = inner ? function_of(*inner) : nullptr;
  if (!function || !function->monotone) throw Objection{"the factor is no maximum of a function that does not fall"};
  if (!function->maps_zero_to_zero) {
    owe_point(factor.bound, factor.guards, joined(context.given, product.guards), joined(context.scope, product.bound),
              step);
  }
  Factor outer = *inner;
  factor.arguments = {inner->arguments.at(0)};
  Product held;
  held.factors.push_back(factor);
  outer.arguments = {{held}};
  factor = std::move(outer);
}

/// max(f(s), f(t)) = f(max(s, t)), and of min, where f does not fall; s may be a number c = f(c), as in relu(f(t)).
void Kernel::lift_from_two(Factor& factor) const {
  using FunctionOp = algebra::Function::Op;
  const algebra::Function& outer = statement_.function(factor.symbol);
  const Factor* first = alone(factor.arguments.at(0));
  const algebra::Function* function = first ? function_of(*first) : nullptr;
  const FunctionOp last = outer.real.back().op;
  if (!function || !function->monotone || outer.real.size() != 3 ||
      (last != FunctionOp::Max && last != FunctionOp::Min))
    throw Objection{"the factor is no maximum of a function that does not fall"};
  for (const algebra::Function::Node& node : outer.real) {
    if (node.op != FunctionOp::Number) continue;
    if (!node.exact || algebra::exact_value(*function, std::vector{*node.exact}) != node.exact)
      throw Objection{"the function changes the number"};
  }
  Factor inner = factor;
  for (Sum& argument : inner.arguments) {
    const Factor* of = alone(argument);
    if (!of || of->kind != Kind::Apply || of->symbol != first->symbol) throw Objection{"the functions differ"};
    const Sum taken = of->arguments.at(0);
    argument = taken;
  }
  Product whole;
  whole.factors.push_back(std::move(inner));
  Factor outside = *first;
  outside.arguments = {Sum{std::move(whole)}};
  factor = std::move(outside);
}

/// (Σ_b [G] R) · 1/S = 1 where S = Σ_b [G] R and is not 0. Signs are those of defined values, and what is undefined
/// counts as 0 here: so nothing within S may be.
void Kernel::unit(Sum& sum, std::size_t p, std::size_t f, const Context& context, const Step& step) {
  using FunctionOp = algebra::Function::Op;
  const Factor quotient = sum[p].factors[f];
  const algebra::Function* function = function_of(quotient);
  const auto is_inverse = [](const std::vector<algebra::Function::Node>& real) {
    return real.size() == 3 && real[0].exact == Rational{1, 1} && real[1].op == FunctionOp::Argument &&
           real[2].op == FunctionOp::Div;
  };
  if (!function || function->arity != 1 || !is_inverse(function->real))
    throw Objection{"the factor is no 1/t by its formula"};
  if (!only_total(quotient.arguments.at(0), statement_)) throw Objection{"what is divided by may be undefined itself"};
  if (has_any(quotient, sum[p].bound, atoms_)) throw Objection{"what is divided by varies"};
  Product rest = sum[p];
  rest.coefficient = {1, 1};
  erase(rest.factors, f);
  empty(difference_of({rest}, quotient.arguments.at(0)), context, step.block, "another value is divided by");
  auto owed = met_by_signs({{1, 1}, {}, {}, {quotient}}, true, context.given, statement_);
  if (!owed) throw Objection{"signs alone do not tell that it is not 0"};
  for (Obligation& obligation : *owed) owe(step, std::move(obligation));
  sum[p] = {sum[p].coefficient, {}, {}, {}};
}

/// max_{b: G} max_{c: H} t = max_{b, c: G, H} t where H is empty for no b in G.
void Kernel::flatten(Product& product, Factor& factor, const Context& context, const Step& step) {
  const Factor* found = factor.kind == Kind::Max ? alone(factor.arguments.at(0)) : nullptr;
  if (!found || found->kind != Kind::Max) throw Objection{"the factor is no maximum of a maximum"};
  const Factor inner = *found;
  owe_point(inner.bound, inner.guards, joined(joined(context.given, product.guards), factor.guards),
            joined(joined(context.scope, product.bound), factor.bound), step);
  factor.bound.insert(factor.bound.end(), inner.bound.begin(), inner.bound.end());
  factor.guards = joined(factor.guards, inner.guards);
  factor.arguments = inner.arguments;
}

}  // namespace rulemill::check
