// Which result of a search is written: all are exported and timed end to end against the model, and the fastest that
// the judges let pass is taken; where nothing can be timed, the cheapest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "optimize/drawing.h"
#include "optimize/onnx/export.h"
#include "optimize/optimize.h"
#include "optimize/timing.h"

namespace rulemill::optimize {

/// What candidates are exported from, timed and judged against.
struct Setting {
  const Options& options;
  const OnnxModel& model;
  const Import& import;
  GraphBank& bank;
  Fusion& fusion;
  const CostModel& cost;
  NodeInference& inference;
  const Evaluator::Sizes& sizes;
};

struct Choice {
  std::optional<OnnxModel> model;  // nothing: the model stays as it is
  std::size_t candidate = 0;       // which one it is
  Drawing picture;
  std::vector<Judgement> judgements;  // of what was taken, or of the last that was refused
  std::string without_judge;          // why onnxruntime did not judge
  Timing timing;                      // of the candidates, in their order
  std::string warning;                // why a cheaper model was not taken
};

/// Candidates stand in the order in which they are taken if they are not timed.
Choice choose(const Setting& with, const std::vector<Candidate>& candidates);

}  // namespace rulemill::optimize
