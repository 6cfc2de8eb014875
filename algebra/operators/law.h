// Equations between scalar expressions that hold for all real numbers: the laws of functions, as proofs use them.
#pragma once

#include <string>
#include <vector>

#include "algebra/operators/expression.h"

namespace rulemill::algebra {

/// left = right for all values of the variables for which the conditions hold. The expressions consist of Constant,
/// Add, Mul, Apply, and Read of a variable, by its number and without indices. Partial functions are 0 outside their
/// domain.
struct LawEquation {
  struct Condition {
    enum class Kind : std::uint8_t { Positive, Zero, Defined };  // Defined: an application of a function
    Kind kind = Kind::Positive;
    ScalarExprPtr expression;
  };
  /// The number of the variable that laws of scaling call c.
  static constexpr std::uint32_t positive = 3;

  std::string name;  // FUNCTION.LAW
  std::uint32_t variables = 0;
  ScalarExprPtr left, right;
  std::vector<Condition> conditions;
  std::string assumption;  // its text, if it is tested and not proved; else empty
};

}  // namespace rulemill::algebra
