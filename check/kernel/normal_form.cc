#include "check/kernel/normal_form.h"

#include <algorithm>

namespace rulemill::check {

Sum subtract(Sum a, const Sum& b) {
  for (Product product : b) {
    product.coefficient = product.coefficient * Rational{-1, 1};
    a.push_back(std::move(product));
  }
  return a;
}

Factor with_sorted_guards(Factor factor) {
  std::ranges::sort(factor.guards);
  for (Sum& argument : factor.arguments) {
    for (Product& product : argument) {
      for (Factor& inner : product.factors) inner = with_sorted_guards(std::move(inner));
    }
  }
  return factor;
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

bool depends_on(const Factor& factor, const std::vector<Atom>& atoms, const Atoms& table) {
  bool found = false;
  Factor copy = factor;
  for_each_poly(copy, [&](const Poly& poly) {
    for (const Atom atom : atoms) found = found || table.occurs(poly, atom);
  });
  return found;
}

bool depends_on(const Product& product, const std::vector<Atom>& atoms, const Atoms& table) {
  const auto in_poly = [&](const Guard& guard) {
    return std::ranges::any_of(atoms, [&](Atom atom) { return table.occurs(guard.poly, atom); });
  };
  return std::ranges::any_of(product.guards, in_poly) ||
         std::ranges::any_of(product.factors, [&](const Factor& factor) { return depends_on(factor, atoms, table); });
}

}  // namespace rulemill::check
