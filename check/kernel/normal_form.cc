#include "check/kernel/normal_form.h"

#include <algorithm>

namespace rulemill::check {

Sum to_sum(Factor factor) {
  Product product;
  product.factors.push_back(std::move(factor));
  return {std::move(product)};
}

Sum negated(Sum sum) {
  for (Product& product : sum) product.coefficient = -product.coefficient;
  return sum;
}

Sum subtract(Sum a, const Sum& b) {
  const Sum minus_b = negated(b);
  a.insert(a.end(), minus_b.begin(), minus_b.end());
  return a;
}

Product multiply(Product a, const Product& b) {
  for (const Atom atom : b.bound)
    expect(std::ranges::count(a.bound, atom) == 0, "an index is bound twice in a product");
  a.coefficient = a.coefficient * b.coefficient;
  a.guards = conjunction(std::move(a.guards), b.guards);
  a.bound.insert(a.bound.end(), b.bound.begin(), b.bound.end());
  a.factors.insert(a.factors.end(), b.factors.begin(), b.factors.end());
  return a;
}

Sum multiply(const Sum& a, const Sum& b) {
  Sum result;
  for (const Product& left : a) {
    for (const Product& right : b) result.push_back(multiply(left, right));
  }
  return result;
}

void for_each_poly(Factor& factor, const std::function<void(Poly&)>& f) {
  for (Poly& poly : factor.index) f(poly);
  for (Guard& guard : factor.guards) f(guard.poly);
  for (Sum& argument : factor.arguments) {
    for (Product& product : argument) for_each_poly(product, f);
  }
}

void for_each_poly(Product& product, const std::function<void(Poly&)>& f) {
  for (Guard& guard : product.guards) f(guard.poly);
  for (Factor& factor : product.factors) for_each_poly(factor, f);
}

namespace {

/// Renames the indices that a product or maximum binds to levels, counted from the outside, and sorts what may be
/// sorted. `names` are those of the indices around it.
class Canonicalization {
 public:
  explicit Canonicalization(Atoms& atoms) : atoms_(atoms) {}

  Sum sum(Sum sum, const Images& names, std::size_t level) const {
    for (Product& product : sum) {
      Images inside = names;
      std::size_t below = level;
      range(product, inside, below);
      for (Factor& each : product.factors) each = factor(std::move(each), inside, below);
      std::ranges::sort(product.factors);
    }
    std::ranges::sort(sum);
    return sum;
  }

  Factor factor(Factor factor, Images names, std::size_t level) const {
    range(factor, names, level);
    for (Poly& poly : factor.index) poly = atoms_.substitute(poly, names);
    for (Sum& argument : factor.arguments) argument = sum(std::move(argument), names, level);
    return factor;
  }

 private:
  template <class Range>
  void range(Range& range, Images& names, std::size_t& level) const {
    for (Atom& atom : range.bound) {
      const Atom renamed = atoms_.level(level++);
      names.insert_or_assign(atom, Poly(renamed));
      atom = renamed;
    }
    for (Guard& guard : range.guards) guard = atoms_.substitute(guard, names);
    std::ranges::sort(range.guards);
  }

  Atoms& atoms_;
};

}  // namespace

Sum canonical(const Sum& sum, Atoms& atoms) { return Canonicalization(atoms).sum(sum, {}, 0); }
Factor canonical(const Factor& factor, Atoms& atoms) { return Canonicalization(atoms).factor(factor, {}, 0); }

}  // namespace rulemill::check
