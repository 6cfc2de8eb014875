// Whether two graphs of one model compute the same, before anything is written. A judge runs both on inputs of several
// kinds; this one is the definitions themselves. Opaque nodes are cut: their outputs are given the same random values
// on both sides, and what goes into them is compared like the model's outputs.
#pragma once

#include <cstdint>
#include <string>

#include "optimize/acceptance.h"
#include "optimize/evaluate.h"

namespace rulemill::optimize {

struct VerifyOptions {
  std::uint32_t seeds = 3;
  Acceptance acceptance;
  /// Sizes that the user gave; others get small numbers that change with the seed.
  Evaluator::Sizes sizes;
};

/// What one judge says of two models.
struct Judgement {
  enum class Verdict {
    Equal,
    Different,
    NotVerified,  // not run, or on values that show nothing
  };
  std::string judge;
  Verdict verdict = Verdict::Equal;
  double worst = 0;           // relative difference
  std::string exact;          // what computed exact numbers; empty: nothing did, and the tolerance decided
  std::string not_exact;      // why
  Errors errors;              // against these, the largest
  std::uint64_t tensors = 0;  // compared and not the same term on both sides
  std::uint64_t elements = 0;
  std::uint32_t inputs = 0;  // drawn
  std::string reason;        // which tensor, which input, which values
  double seconds = 0;

  bool equal() const { return verdict == Verdict::Equal; }
};

/// The definitions as judge: the original in double is what both are held against as their types round them. NaN and
/// infinity must stand at the same places. A tensor of which more than half is NaN, infinite, or one value that does
/// not change with the input shows nothing: other inputs are drawn, and if none shows anything, the graphs count as not
/// verified.
Judgement verify(const GraphBank& bank, std::span<const ValueId> before, std::span<const ValueId> after,
                 const VerifyOptions& options);

}  // namespace rulemill::optimize
