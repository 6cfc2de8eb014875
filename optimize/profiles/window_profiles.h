// Profiles of the costliest small graphs in a model, for rules that its databases lack: a graph's operators with those
// that stand for the same ONNX operators at other ranks, a variable for each of its leaves, and small sizes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "optimize/cost/cost_model.h"

namespace rulemill::optimize {

/// A profile as text (enumerate/profile/profile_reader.h), without a name.
struct WindowProfile {
  std::string text;
  std::vector<std::string> operators;  // of the graph's nodes, the last one's first
  double seconds = 0;                  // of all graphs of the model with this profile, by the cost model
};

/// Returns the profiles of the graphs of 2 to 4 nodes that end in some node and have the costliest producers of their
/// arguments: smaller ones first, then costlier ones. Left out are graphs whose operators are all in one of the
/// rules, or have size parameters.
std::vector<WindowProfile> window_profiles(const GraphBank& bank, CostModel& cost, std::span<const ValueId> outputs,
                                           const algebra::TermBank& terms,
                                           const std::vector<algebra::RuleRecord>& rules);

}  // namespace rulemill::optimize
