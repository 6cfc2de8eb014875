// Profiles of the costliest small graphs in a model, for rules that its databases lack: a graph's operators with what
// known profiles put beside them, a variable for each of its leaves, and small sizes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "enumerate/profile/profile.h"
#include "optimize/cost/cost_model.h"

namespace rulemill::optimize {

/// A profile as text (enumerate/profile/profile_reader.h).
struct WindowProfile {
  std::string text;
  std::uint32_t nodes = 0;  // of the graph
  double seconds = 0;       // of all graphs of the model with this profile, by the cost model
};

/// Returns the profiles of the graphs of 2 to 4 nodes that end in some node and have the costliest producers of their
/// arguments, costliest first. Left out are graphs whose operators are all in one of the known profiles.
std::vector<WindowProfile> window_profiles(const GraphBank& bank, CostModel& cost, std::span<const ValueId> outputs,
                                           const std::vector<enumerate::Profile>& known);

}  // namespace rulemill::optimize
