// Checks laws of scalar functions against the function's definition over the reals.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

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

/// f(arguments) if exact rational arithmetic yields it; of exp, sqrt and similar functions only the values at 0 and 1
/// are known. Returns nullopt otherwise, also if f is undefined. Throws Overflow beyond 64 bits.
std::optional<Rational> evaluate_exactly(const Function& function, std::span<const Rational> arguments);

}  // namespace rulemill::algebra
