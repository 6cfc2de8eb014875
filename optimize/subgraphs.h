// Optimization of the subgraphs in If, Loop and Scan nodes, each as a graph of its own. A subgraph cannot be timed
// alone: its gain is that of the cost model, and it is verified by the definitions. The whole model is timed and
// verified later.
#pragma once

#include "algebra/rules/rule_set.h"
#include "optimize/cost/device_model.h"
#include "optimize/onnx/subgraphs.h"
#include "optimize/options.h"
#include "optimize/report/explain.h"
#include "optimize/search/search_result.h"

namespace rulemill::optimize {

struct SubgraphContext {
  const Options& options;
  algebra::Library& library;
  algebra::TermBank& terms;
  algebra::Symbols& symbols;
  const std::vector<algebra::RuleRecord>& rules;
  const DeviceModel& device;
  NodeInference& inference;
};

struct OptimizedSubgraphs {
  std::optional<OnnxModel> model;  // nullopt: no subgraph changed
  std::uint32_t searched = 0, changed = 0;
  std::vector<algebra::RuleRecord> rules;  // to which `steps` refer
  std::vector<RewriteStep> steps;
  std::string warning;  // why a cheaper subgraph was rejected
};

/// Optimizes all subgraphs, innermost first.
OptimizedSubgraphs optimize_subgraphs(const OnnxModel& model, const SubgraphContext& context);

/// Explains rules or nodes in the subgraphs, as explain() does for the model. Places include the name of the subgraph.
/// Empty if the target is not in a subgraph.
std::vector<Explanation> explain_subgraphs(const OnnxModel& model, const SubgraphContext& context);

}  // namespace rulemill::optimize
