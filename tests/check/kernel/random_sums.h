// Random well-formed sums: indices with ranges, guards, reads, integers and their inverses, functions and maxima.
#pragma once

#include <algorithm>
#include <random>

#include "check/kernel/kernel.h"

namespace rulemill::check {

class RandomSums {
 public:
  using Scope = std::set<Atom>;
  using Kind = Factor::Kind;

  /// `sizes` and `outputs` are the statement's; its variables have the given ranks.
  RandomSums(const Statement& statement, std::vector<Poly> sizes, std::vector<Poly> outputs, std::mt19937_64& random)
      : statement_(statement),
        atoms_(statement.atoms()),
        random_(random),
        sizes_(std::move(sizes)),
        free_(std::move(outputs)) {
    for (const Poly& size : sizes_) free_.push_back(size);
  }

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  std::int64_t number(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::size_t>(high - low + 1)));
  }

  Poly atom(const Scope& scope) {
    const std::size_t i = below(free_.size() + 2 * scope.size());
    return i < free_.size() ? free_[i]
                            : Poly(*std::next(scope.begin(), static_cast<std::ptrdiff_t>((i - free_.size()) / 2)));
  }
  Poly poly(const Scope& scope) {
    switch (below(8)) {
      case 0:
        return number(-3, 3);
      case 1:
        return atoms_.floor_div(poly(scope), one_in(2) ? Poly(number(1, 3)) : sizes_[below(sizes_.size())]);
      case 2:
        return one_in(2) ? atoms_.min(atom(scope), poly(scope)) : atoms_.max(atom(scope), Poly(number(-2, 2)));
      case 3:
        return Poly(number(-3, 3)) * atom(scope) + Poly(number(-3, 3)) * atom(scope) + number(-3, 3);
      case 4:
        return atom(scope);
      default:
        return atom(scope) + number(-2, 2);
    }
  }
  Guard guard(const Scope& scope) { return {one_in(5), poly(scope)}; }
  Atom fresh() { return atoms_.bound(20 + next_++ % 60); }

  /// Binds an index: low ≤ index ≤ high, perhaps times 2, and perhaps another guard.
  template <class Range>
  Atom bind(Range& range, Scope& scope) {
    const Atom index = fresh();
    const Poly low = one_in(2) ? Poly(0) : one_in(2) ? poly(scope) : atom(scope);
    const Poly high = one_in(2) ? sizes_[below(sizes_.size())] - 1 : low + number(-1, 4);
    const Poly times = one_in(4) ? number(2, 3) : 1;
    range.bound.push_back(index);
    range.guards.push_back({false, times * Poly(index) - low});
    range.guards.push_back({false, high - times * Poly(index)});
    scope.insert(index);
    if (one_in(4)) range.guards.push_back(guard(scope));
    return index;
  }

  Factor inverse() {
    return {Kind::Inverse, 0, {one_in(2) ? sizes_[below(sizes_.size())] : sizes_[0] + number(0, 3)}, {}, {}, {}};
  }
  Factor read(const Scope& scope) {
    const auto variable = static_cast<std::uint32_t>(below(statement_.rule().variables.size()));
    Factor factor{Kind::Read, variable, {}, {}, {}, {}};
    const std::size_t rank = statement_.rule().variables[variable].shape.size();
    for (std::size_t d = 0; d < rank; ++d) factor.index.push_back(poly(scope));
    return factor;
  }
  /// The number of the function, or of the first one with its formula.
  std::uint32_t function(std::string_view name) {
    return std::ranges::find(statement_.rule().functions, name, &algebra::Function::name)->representative;
  }
  /// The arguments that the function does not have are left out.
  Factor apply(std::string_view name, std::vector<Sum> arguments) {
    const std::uint32_t number = function(name);
    arguments.resize(statement_.function(number).arity);
    return {Kind::Apply, number, {}, std::move(arguments), {}, {}};
  }
  template <class T>
  T pick(std::initializer_list<T> list) {
    return *(list.begin() + below(list.size()));
  }
  static Scope inside(Scope scope, const Factor& factor) {
    scope.insert(factor.bound.begin(), factor.bound.end());
    return scope;
  }
  Factor any_function(const Scope& scope, std::size_t depth) {
    Factor factor = apply(pick({"relu",        "exp",       "tanh",         "abs",        "sigmoid",      "recip",
                                "sqrt",        "log",       "less",         "equal",      "larger",       "smaller",
                                "cos",         "floor",     "power",        "second_exp", "second_abs",   "second_log",
                                "second_sqrt", "odd_power", "half_inverse", "gated",      "first_larger", "first_less",
                                "softplus",    "asinh",     "remainder",    "step_up",    "squared"}),
                          {});
    for (Sum& argument : factor.arguments) argument = sum(scope, depth);
    return factor;
  }
  Factor maximum(Scope scope, std::size_t depth) {
    Factor factor{Kind::Max, 0, {}, {}, {}, {}};
    for (std::size_t i = one_in(8) ? 0 : 1 + below(2); i > 0; --i) bind(factor, scope);
    if (one_in(4)) factor.guards.push_back(guard(scope));
    factor.arguments.push_back(sum(scope, depth));
    return factor;
  }
  Factor factor(const Scope& scope, std::size_t depth) {
    switch (below(depth > 0 ? 7 : 3)) {
      case 0:
        return integer_factor(poly(scope));
      case 1:
        return one_in(2) ? inverse() : read(scope);
      case 2:
        return read(scope);
      case 3:
        return maximum(scope, depth - 1);
      default:
        return any_function(scope, depth - 1);
    }
  }
  algebra::Rational coefficient() {
    return pick<algebra::Rational>({{1, 1}, {1, 1}, {-1, 1}, {2, 1}, {-3, 1}, {1, 2}, {-2, 3}});
  }
  /// The scope inside the product is added to `scope`.
  Product product(Scope& scope, std::size_t depth) {
    Product product{coefficient(), {}, {}, {}};
    for (std::size_t i = below(3); i > 0; --i) bind(product, scope);
    if (one_in(3)) product.guards.push_back(guard(scope));
    for (std::size_t i = below(3); i > 0; --i) product.factors.push_back(factor(scope, depth));
    return product;
  }
  Sum sum(const Scope& scope, std::size_t depth) {
    Sum sum;
    for (std::size_t i = one_in(8) ? 0 : 1 + below(2); i > 0; --i) {
      Scope inside = scope;
      sum.push_back(product(inside, depth));
      if (one_in(2)) sum.back().bound.clear(), sum.back().guards.clear(), sum.back().factors = {factor(scope, depth)};
    }
    return sum;
  }
  /// A sum whose values are positive by their signs.
  Sum positive(const Scope& scope) {
    Sum sum;
    for (std::size_t i = 1 + below(2); i > 0; --i) {
      Product product{{number(1, 3), number(1, 2)}, {}, {}, {}};
      Scope inside = scope;
      if (one_in(3)) bind(product, inside);
      product.factors.push_back(one_in(3) ? inverse() : apply(one_in(2) ? "exp" : "sigmoid", {sum_of_reads(inside)}));
      sum.push_back(std::move(product));
    }
    return sum;
  }
  Sum sum_of_reads(const Scope& scope) {
    Sum sum;
    for (std::size_t i = 1 + below(2); i > 0; --i) sum.push_back({coefficient(), {}, {}, {read(scope)}});
    return sum;
  }

  /// The same product with other names of its indices.
  Product renamed(Product product) {
    Images images;
    for (Atom& atom : product.bound) {
      const Atom other = fresh();
      images[atom] = Poly(other);
      atom = other;
    }
    for_each_poly(product, [&](Poly& poly) { poly = atoms_.substitute(poly, images); });
    return product;
  }

 protected:
  const Statement& statement_;
  Atoms& atoms_;
  std::mt19937_64& random_;

 private:
  std::vector<Poly> sizes_, free_;
  std::size_t next_ = 0;
};

}  // namespace rulemill::check
