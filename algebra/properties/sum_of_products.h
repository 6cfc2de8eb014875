// Scalar expressions multiplied out: a sum of products of opaque factors with rational coefficients. Equal sums imply
// equal expressions; the converse need not hold.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algebra/operators/expression.h"

namespace rulemill::algebra {

class SumOfProducts {
 public:
  SumOfProducts() = default;
  static SumOfProducts constant(Rational value);
  /// An opaque factor: equal names imply equal values.
  static SumOfProducts factor(std::string name);

  /// Throw Overflow if a coefficient exceeds 64 bits or there are more than 1,000 products.
  friend SumOfProducts operator+(SumOfProducts a, const SumOfProducts& b);
  friend SumOfProducts operator*(const SumOfProducts& a, const SumOfProducts& b);
  /// The value, if there are no factors.
  std::optional<Rational> constant() const;
  /// Injective if the names of factors are unambiguous.
  std::string text() const;
  /// The coefficient of each product, which is a sorted list of factors, repeated for powers.
  const std::map<std::vector<std::string>, Rational>& products() const { return products_; }

 private:
  std::map<std::vector<std::string>, Rational> products_;  // no zero coefficient
};

/// The sum, or product, of the operands' forms. `form` maps a ScalarExpr to a SumOfProducts.
template <class Form>
SumOfProducts sum_of(const std::vector<ScalarExprPtr>& operands, const Form& form) {
  SumOfProducts sum;
  for (const ScalarExprPtr& operand : operands) sum = std::move(sum) + form(*operand);
  return sum;
}
template <class Form>
SumOfProducts product_of(const std::vector<ScalarExprPtr>& operands, const Form& form) {
  SumOfProducts product = SumOfProducts::constant({1, 1});
  for (const ScalarExprPtr& operand : operands) product = product * form(*operand);
  return product;
}

}  // namespace rulemill::algebra
