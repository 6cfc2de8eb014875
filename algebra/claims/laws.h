// Laws of scalar functions, judged by what the function computes over the reals.
#pragma once

#include <optional>
#include <span>
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

/// f(arguments), where its formula shows it exactly: no rounding, and nothing of exp, sqrt and the like but their
/// values at 0 and 1; nothing where it is undefined. Throws Overflow beyond 64 bits.
std::optional<Rational> exact_value(const Function& function, std::span<const Rational> arguments);

}  // namespace rulemill::algebra
