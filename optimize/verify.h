// Compares two graphs of one model numerically, before anything is written. Opaque nodes are cut: their outputs are
// given the same random values on both sides, and what goes into them is compared like the model's outputs.
#pragma once

#include <cstdint>
#include <string>

#include "optimize/evaluate.h"

namespace rulemill::optimize {

struct VerifyOptions {
  std::uint32_t seeds = 3;
  /// Largest difference allowed, relative to the largest absolute value of the tensor that it is in. Sums are
  /// accumulated in double on both sides, tensors are float.
  double tolerance = 1e-4;
  /// Sizes that the user gave; others get small numbers that change with the seed.
  Evaluator::Sizes sizes;
};

struct Verification {
  bool equal = true;
  double worst = 0;           // relative difference
  std::uint64_t tensors = 0;  // compared and not the same term on both sides
  std::uint64_t elements = 0;
  std::string failure;  // which tensor, which seed, which values
};

Verification verify(const GraphBank& bank, std::span<const ValueId> before, std::span<const ValueId> after,
                    const VerifyOptions& options);

}  // namespace rulemill::optimize
