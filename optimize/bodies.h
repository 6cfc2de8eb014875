// Graphs inside the model's nodes (branches of a choice, bodies of loops), each optimized as a graph of its own. Its
// gain is by the cost model, since it cannot be timed alone; the definitions judge it, and the whole is timed and
// judged later.
#pragma once

#include "optimize/cost.h"
#include "optimize/explain.h"
#include "optimize/onnx/bodies.h"
#include "optimize/optimize.h"

namespace rulemill::optimize {

/// What bodies are searched with.
struct BodySetting {
  const Options& options;
  algebra::Library& library;
  algebra::TermBank& terms;
  algebra::Symbols& symbols;
  const std::vector<algebra::RuleRecord>& rules;
  const Device& device;
  NodeInference& inference;
};

struct BetterBodies {
  std::optional<OnnxModel> model;  // nothing: no body is better
  std::uint32_t looked_at = 0, changed = 0;
  std::vector<algebra::RuleRecord> rules;  // that `steps` name
  std::vector<Step> steps;
  std::string warning;  // why a cheaper body was not taken
};

/// Of the graphs inside nodes what `explain` says of the model's own, places followed by the graph that they are in.
/// Nothing where the target is no rule and no node of theirs.
std::vector<Explanation> explain_bodies(const OnnxModel& model, const BodySetting& with);

/// Innermost first.
BetterBodies better_bodies(const OnnxModel& model, const BodySetting& with);

}  // namespace rulemill::optimize
