#include "algebra/claims/sum_form.h"

#include <algorithm>

#include "algebra/sizes/checked.h"

namespace rulemill::algebra {
namespace {

constexpr std::size_t most_products = 1000;

}  // namespace

SumForm SumForm::constant(Rational value) {
  SumForm form;
  if (value.num != 0) form.terms_[{}] = value;
  return form;
}

SumForm SumForm::factor(std::string name) {
  SumForm form;
  form.terms_[{std::move(name)}] = {1, 1};
  return form;
}

SumForm operator+(const SumForm& a, const SumForm& b) {
  SumForm sum = a;
  for (const auto& [product, coefficient] : b.terms_) {
    const auto [at, fresh] = sum.terms_.try_emplace(product, coefficient);
    if (!fresh) at->second = at->second + coefficient;
    if (at->second.num == 0) sum.terms_.erase(at);
  }
  return sum;
}

SumForm operator*(const SumForm& a, const SumForm& b) {
  if (a.terms_.size() * b.terms_.size() > most_products) throw Overflow("an expression of too many products");
  SumForm result;
  for (const auto& [left, p] : a.terms_) {
    for (const auto& [right, q] : b.terms_) {
      SumForm one;
      std::vector<std::string> product;
      std::ranges::merge(left, right, std::back_inserter(product));
      one.terms_[std::move(product)] = p * q;
      result = result + one;
    }
  }
  return result;
}

std::optional<Rational> SumForm::constant() const {
  if (terms_.empty()) return Rational{0, 1};
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

std::string SumForm::text() const {
  std::string text;
  for (const auto& [product, coefficient] : terms_) {
    text += "(" + to_string(coefficient);
    for (const std::string& factor : product) text += " " + factor;
    text += ")";
  }
  return text.empty() ? "(0)" : text;
}

}  // namespace rulemill::algebra
