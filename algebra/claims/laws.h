// Laws of scalar functions, judged by what the function computes over the reals.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algebra/language/library.h"

namespace rulemill::algebra {

/// f(0) = 0, f(f(t)) = f(t), f(s, t) = f(t, s).
enum class Law : std::uint8_t { ZeroToZero, Idempotent, Commutative };

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
