// Selection of the result that is written. All candidates are exported and benchmarked against the model; one that is
// faster and passes verification is selected, or the cheapest one if there is no benchmark. If there is none, callers
// keep the model: an exact clean-up, which needs no test of its time, is theirs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "optimize/cost/cost_model.h"
#include "optimize/model/given_inputs.h"
#include "optimize/onnx/export.h"
#include "optimize/search/search_result.h"
#include "optimize/verify/benchmark.h"
#include "optimize/verify/onnxruntime.h"
#include "optimize/verify/verify.h"

namespace rulemill::optimize {

/// The model from which the candidates come, and how they are compared with it.
struct SelectionContext {
  const std::filesystem::path& model_file;
  const std::filesystem::path& out;  // candidates are exported next to it; empty: to a temporary folder
  const OnnxModel& model;
  const ImportedModel& import;
  GraphBank& bank;
  Fusion& fusion;
  const CostModel& cost;
  NodeInference& inference;
  const GraphEvaluator::Sizes& sizes;
  const RuntimeInputs& runtime_inputs;
  std::span<const GivenInputs> given_inputs;
  const VerificationOptions& verification;
  const BenchmarkOptions& benchmark;
};

struct SelectedModel {
  std::optional<OnnxModel> model;                  // nullopt: no candidate was selected
  std::optional<ImportedModel> import;             // the selected model, read back
  std::unordered_map<ValueId, std::string> names;  // of the candidate's values in the selected model
  std::size_t candidate = 0;                       // index of the selected one
  std::vector<VerificationResult> verification;    // of the selected candidate, or of the last rejected one
  std::string onnxruntime_skipped_reason;          // why onnxruntime did not verify it
  BenchmarkResult benchmark;                       // of the candidates, in their order
  std::string warning;                             // why a cheaper candidate was not selected
};

/// Candidates are in the order of preference if there is no benchmark.
SelectedModel select_model(const SelectionContext& context, const std::vector<Candidate>& candidates);

}  // namespace rulemill::optimize
