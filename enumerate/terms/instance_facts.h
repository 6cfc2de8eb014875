// Facts about an operator instance that enumeration derives from its definition: which axis a size parameter splits,
// and how positions on axes (boundaries of concatenations) propagate from arguments to outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algebra/operators/operator_instance.h"

namespace rulemill::enumerate {

/// Output axis d is a shifted argument axis: element i is element i + shift of the argument's axis.
struct AxisFlow {
  std::uint32_t argument = 0;
  std::uint32_t axis = 0;
  algebra::IndexExprPtr shift;  // over size slots; null for 0
};

struct AxisFacts {
  std::vector<AxisFlow> flows;
  std::vector<algebra::IndexExprPtr> summands;  // the dimension is the sum of these input dimensions, if two or more
};

/// The argument axis that a size parameter splits.
struct CutAxis {
  std::uint32_t argument = 0;
  std::uint32_t axis = 0;
};

struct InstanceFacts {
  std::vector<std::vector<AxisFacts>> outputs;  // by output and axis
  std::vector<std::optional<CutAxis>> cuts;     // by size parameter
};

InstanceFacts analyze_instance(const algebra::OperatorInstance& instance);

/// Positions by axis: sorted, within 0 < position < dimension. Empty for a term without any.
using Positions = std::vector<std::vector<std::int64_t>>;

/// Returns the positions of an output. `slots`: the value of every size slot; `arguments`: the arguments' positions.
Positions output_positions(const InstanceFacts& facts, std::size_t output, const std::vector<std::int64_t>& shape,
                           const std::vector<std::int64_t>& slots, const std::vector<const Positions*>& arguments);

}  // namespace rulemill::enumerate
