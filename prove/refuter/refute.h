// The search for a counterexample: evaluates both sides of a typed rule at small random sizes that satisfy its types
// and its condition, at sizes near the constants of its definitions, and at the numbers 0, ±1/2, ±1 and ±1024 where all
// sizes are 1. Values are enclosed by bounds, so that rounding refutes no true rule. It runs before any proof and
// refutes most false candidates within a fraction of a millisecond.
#pragma once

#include <cstdint>
#include <optional>

#include "algebra/terms/typing.h"
#include "prove/refuter/counterexample.h"
#include "prove/solver/budget.h"

namespace rulemill::prove {

struct RefuteLimits {
  std::uint32_t tries = 8;          // size assignments at which the sides are compared
  std::uint32_t attempts = 400;     // size assignments drawn to find those that satisfy the types
  std::uint32_t large_tries = 16;   // further ones near the definitions' boundary values, if there are any
  std::uint64_t elements = 3000;    // of all tensors of one try
  std::uint64_t products = 30000;   // multiply-adds of one try
  bool all_special_values = false;  // where functions are partial: all combinations of numbers around which they change
};

struct Refutation {
  std::optional<Counterexample> counterexample;
  std::uint32_t compared = 0;  // tries that were run; 0: no sizes found
};

/// Deterministic: depends on the rule, the seed and the limits. The work is charged to `budget`.
Refutation refute(const algebra::TypedRule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols,
                  std::uint64_t seed, const RefuteLimits& limits = {}, Budget* budget = nullptr);

}  // namespace rulemill::prove
