// Looks for a counterexample: both sides of a typed rule are evaluated at small random sizes that satisfy its types and
// its condition, and at sizes near the numbers of the definitions. Comes before any proof: most false candidates fall
// here within a fraction of a millisecond.
#pragma once

#include <cstdint>
#include <optional>

#include "prove/solver/budget.h"
#include "prove/verdict.h"

namespace rulemill::prove {

struct RefuteLimits {
  std::uint32_t tries = 8;         // different sizes at which the sides are compared
  std::uint32_t attempts = 400;    // random sizes drawn to find those that satisfy the types
  std::uint32_t large_tries = 16;  // more, at sizes near the numbers that the definitions have, if they have any
  std::uint64_t elements = 3000;   // of all tensors of one try together
  std::uint64_t products = 30000;  // multiply-adds of one try
  double tolerance = 1e-6;         // relative
};

struct Refutation {
  std::optional<Counterexample> counterexample;
  std::uint32_t compared = 0;  // tries that ran; 0: no sizes found
};

/// The same for the same rule and seed, whatever was evaluated before. What it takes is spent from `budget`.
Refutation refute(const algebra::TypedRule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols,
                  std::uint64_t seed, const RefuteLimits& limits = {}, Budget* budget = nullptr);

}  // namespace rulemill::prove
