// Laws of scalar functions, judged by what the function computes over the reals.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algebra/language/function.h"

namespace rulemill::algebra {

struct LawVerdict {
  enum class Kind : std::uint8_t {
    Proved,   // exactly: at zero, of piecewise linear functions, by multiplying out
    Assumed,  // it held at thousands of values of all magnitudes and signs
    Refuted,
  };
  Kind kind = Kind::Assumed;
  std::string counterexample;  // "f(2) = 4, f(f(2)) = 8"
};

LawVerdict judge(const Function& function, Law law);

}  // namespace rulemill::algebra
