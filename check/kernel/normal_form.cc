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

Product multiply(Product a, const Product& b) {
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

Sum to_sum(Factor factor) {
  Product product;
  product.factors.push_back(std::move(factor));
  return {std::move(product)};
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

}  // namespace rulemill::check
