#include "check/kernel/normal_form.h"

#include <algorithm>

namespace rulemill::check {

Product multiply(Product a, const Product& b) {
  for (const Atom atom : b.bound)
    expect(std::ranges::count(a.bound, atom) == 0, "an index is bound twice in a product");
  a.coefficient = a.coefficient * b.coefficient;
  a.guards = conjunction(std::move(a.guards), b.guards);
  remove_redundant(a.guards);
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

/// Renames the indices that a product or maximum binds to levels, counted from the outside.
template <class Range>
void rename_bound(Range& range, Atoms& atoms, Images& names, std::size_t& level) {
  for (Atom& atom : range.bound) {
    const Atom renamed = atoms.level(level++);
    names.insert_or_assign(atom, Poly(renamed));
    atom = renamed;
  }
  for (Guard& guard : range.guards) guard = atoms.substitute(guard, names);
  std::ranges::sort(range.guards);
}

}  // namespace

Sum canonical(Sum sum, Atoms& atoms, const Images& names, std::size_t level) {
  for (Product& product : sum) {
    Images inside = names;
    std::size_t below = level;
    rename_bound(product, atoms, inside, below);
    for (Factor& factor : product.factors) {
      Images inner = inside;
      std::size_t deepest = below;
      rename_bound(factor, atoms, inner, deepest);
      for (Poly& poly : factor.index) poly = atoms.substitute(poly, inner);
      for (Sum& argument : factor.arguments) argument = canonical(std::move(argument), atoms, inner, deepest);
    }
    std::ranges::sort(product.factors);
  }
  std::ranges::sort(sum);
  return sum;
}

}  // namespace rulemill::check
