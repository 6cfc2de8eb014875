// Inputs that are chosen to make a result's rounding errors grow beyond those of the model: random inputs show only
// ordinary errors. A hill climb starts from random inputs and keeps what makes the ratio of both errors larger.
#pragma once

#include "optimize/verify/accuracy_policy.h"
#include "optimize/verify/random_inputs.h"

namespace rulemill::optimize {

/// The largest error of a result found, as a multiple of the original's error plus one rounding unit.
struct ErrorGrowth {
  double ratio = 0;
  std::size_t root = 0;  // the output with this error
  RelativeErrors errors;
};

/// Climbs from inputs of one sign. A step adds noise to all inputs, draws the elements of one input or of all together,
/// so that differences cancel, or makes one input larger than the others. `before` and `after` are corresponding
/// outputs; those of float64 have no more exact reference and are not considered. Graphs that need too much arithmetic
/// are not evaluated. Deterministic.
ErrorGrowth find_error_growth(const GraphBank& bank, std::span<const ValueId> before, std::span<const ValueId> after,
                              const GraphEvaluator::Sizes& sizes);

}  // namespace rulemill::optimize
