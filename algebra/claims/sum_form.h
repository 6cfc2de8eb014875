// Scalar expressions multiplied out: a sum of products of opaque factors with rational coefficients. Expressions of
// equal form are equal; the converse is not claimed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algebra/language/expression.h"

namespace rulemill::algebra {

class SumForm {
 public:
  SumForm() = default;
  static SumForm constant(Rational value);
  /// One factor that nothing is known of but its name: equal names, equal values.
  static SumForm factor(std::string name);

  /// Throw Overflow where a coefficient exceeds 64 bits, or where there are more than 1,000 products.
  friend SumForm operator+(const SumForm& a, const SumForm& b);
  friend SumForm operator*(const SumForm& a, const SumForm& b);
  /// The value, if no factor occurs.
  std::optional<Rational> constant() const;
  /// The same for equal forms, and for no others, if factors' names are: a name with texts in it sets them apart.
  std::string text() const;
  /// Factors in their order, repeated for powers, each with the product's coefficient.
  const std::map<std::vector<std::string>, Rational>& products() const { return terms_; }

 private:
  std::map<std::vector<std::string>, Rational> terms_;  // no zero coefficient
};

/// The form of a sum, or of a product, of these.
template <class Form>
SumForm sum_of(const std::vector<ScalarExprPtr>& operands, const Form& form) {
  SumForm sum;
  for (const ScalarExprPtr& operand : operands) sum = sum + form(*operand);
  return sum;
}
template <class Form>
SumForm product_of(const std::vector<ScalarExprPtr>& operands, const Form& form) {
  SumForm product = SumForm::constant({1, 1});
  for (const ScalarExprPtr& operand : operands) product = product * form(*operand);
  return product;
}

}  // namespace rulemill::algebra
