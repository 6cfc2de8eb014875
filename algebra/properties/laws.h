// Checks laws of scalar functions against the function's definition over the reals.
#pragma once

#include <string>

#include "algebra/operators/function.h"

namespace rulemill::algebra {

struct LawVerdict {
  enum class Kind : std::uint8_t {
    Proved,   // exactly: at zero, for piecewise linear functions, or by multiplying out
    Assumed,  // not proved, but it holds at thousands of values of all magnitudes and signs
    Refuted,
  };
  Kind kind = Kind::Assumed;
  std::string counterexample;  // "f(2) = 4, f(f(2)) = 8"
};

LawVerdict check_law(const Function& function, Law law);

}  // namespace rulemill::algebra
