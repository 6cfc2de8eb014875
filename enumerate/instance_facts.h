// What the enumeration reads off an instance's definition: which axis a size parameter cuts, and how positions on axes
// (boundaries that a concatenation made) travel from arguments to outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algebra/language/instance.h"

namespace rulemill::enumerate {

/// Output axis d shows argument axis (argument, axis) shifted: element i there is element i + shift of the argument.
struct AxisFlow {
  std::uint32_t argument = 0;
  std::uint32_t axis = 0;
  algebra::IndexExprPtr shift;  // over size slots; null for 0
};

struct AxisFacts {
  std::vector<AxisFlow> flows;
  std::vector<algebra::IndexExprPtr> parts;  // the dimension is the sum of these input dimensions, if two or more
};

/// The argument axis on which a size parameter is a position.
struct CutAxis {
  std::uint32_t argument = 0;
  std::uint32_t axis = 0;
};

struct InstanceFacts {
  std::vector<std::vector<AxisFacts>> outputs;  // by output and axis
  std::vector<std::optional<CutAxis>> cuts;     // by size parameter
};

InstanceFacts read_facts(const algebra::Instance& instance);

/// Positions by axis: sorted, within 0 < position < dimension. Empty for a term without any.
using Positions = std::vector<std::vector<std::int64_t>>;

/// Positions of an output: `slots` is the value of every size slot, `arguments` the arguments' positions.
Positions output_positions(const InstanceFacts& facts, std::size_t output, const std::vector<std::int64_t>& shape,
                           const std::vector<std::int64_t>& slots, const std::vector<const Positions*>& arguments);

}  // namespace rulemill::enumerate
