#include "algebra/properties/sum_of_products.h"

#include <algorithm>

#include "algebra/sizes/checked.h"

namespace rulemill::algebra {
namespace {

constexpr std::size_t max_products = 1000;

}  // namespace

SumOfProducts SumOfProducts::constant(Rational value) {
  SumOfProducts result;
  if (value.num != 0) result.products_[{}] = value;
  return result;
}

SumOfProducts SumOfProducts::factor(std::string name) {
  SumOfProducts result;
  result.products_[{std::move(name)}] = {1, 1};
  return result;
}

SumOfProducts operator+(SumOfProducts sum, const SumOfProducts& b) {
  for (const auto& [product, coefficient] : b.products_) {
    const auto [at, fresh] = sum.products_.try_emplace(product, coefficient);
    if (!fresh) at->second = at->second + coefficient;
    if (at->second.num == 0) sum.products_.erase(at);
  }
  return sum;
}

SumOfProducts operator*(const SumOfProducts& a, const SumOfProducts& b) {
  if (a.products_.size() * b.products_.size() > max_products) throw Overflow("an expression of too many products");
  SumOfProducts result;
  for (const auto& [left, p] : a.products_) {
    for (const auto& [right, q] : b.products_) {
      SumOfProducts one;
      std::vector<std::string> product;
      std::ranges::merge(left, right, std::back_inserter(product));
      one.products_[std::move(product)] = p * q;
      result = std::move(result) + one;
    }
  }
  return result;
}

std::optional<Rational> SumOfProducts::constant() const {
  if (products_.empty()) return Rational{0, 1};
  if (products_.size() == 1 && products_.begin()->first.empty()) return products_.begin()->second;
  return std::nullopt;
}

std::string SumOfProducts::text() const {
  std::string text;
  for (const auto& [product, coefficient] : products_) {
    text += "(" + to_string(coefficient);
    for (const std::string& factor : product) text += " " + factor;
    text += ")";
  }
  return text.empty() ? "(0)" : text;
}

}  // namespace rulemill::algebra
