#include "optimize/verify/select_model.h"

#include <algorithm>

#include "optimize/verify/onnxruntime.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

constexpr const char* other_runtime_hint =
    "; if another runtime runs it, give --verifier definitions, and --no-benchmark or --benchmark-command";

/// Returns why a candidate is rejected; empty if no verifier found a difference, and one found equality.
std::string rejection_reason(const std::vector<VerificationResult>& results) {
  RM_CHECK(!results.empty(), "at least one verifier ran");
  using Verdict = VerificationResult::Verdict;
  for (const VerificationResult& each : results) {
    if (each.verdict == Verdict::Different) return "it computes something else (" + each.verifier + "): " + each.reason;
    if (each.verdict == Verdict::NotLoaded)
      return each.verifier + " cannot load it: " + each.reason + other_runtime_hint;
  }
  if (std::ranges::any_of(results, &VerificationResult::is_equal)) return {};
  return "it could not be verified (" + results[0].verifier + "): " + results[0].reason;
}

/// Evaluated by the definitions after onnxruntime has found equality.
constexpr double max_confirming_operations = 3e9;

class ModelSelector {
 public:
  ModelSelector(const SelectionContext& context, const std::vector<Candidate>& candidates)
      : context_(context),
        candidates_(candidates),
        scratch_(context.out.empty() ? std::filesystem::temp_directory_path()
                                     : std::filesystem::absolute(context.out).parent_path()) {}

  /// Tries the preferred candidate until one is accepted or none is left.
  SelectedModel run() {
    export_candidates();
    while (const std::optional<std::size_t> number = preferred_candidate()) {
      if (accept(*number)) break;
      std::erase(exported_, *number);
    }
    return std::move(selected_);
  }

 private:
  std::filesystem::path file(std::size_t number) const {
    return scratch_.path() / ("candidate" + std::to_string(number) + ".onnx");
  }

  void warn(const std::string& why) {
    if (selected_.warning.empty()) selected_.warning = "a cheaper model was not used: " + why;
  }

  /// Runs `action` for a candidate. Returns false if it fails, which rejects the candidate only.
  template <typename Action>
  bool attempt(Action action) {
    try {
      action();
      return true;
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::UsageError&) {
      throw;
    } catch (const runtime::Error& error) {
      warn(error.what());
      return false;
    }
  }

  OnnxModel exported(std::size_t number, std::unordered_map<ValueId, std::string>* names = nullptr) const {
    const std::vector<ValueId>& outputs = candidates_[number].outputs;
    ExportPlan plan = plan_export(context_.model, context_.import, context_.bank, context_.fusion, outputs);
    return export_model(context_.model, context_.import, context_.bank, std::move(plan), outputs, names);
  }

  /// Writes the candidates to files, so that only one large model is in memory at a time.
  void export_candidates() {
    for (std::size_t number = 0; number < candidates_.size(); ++number) {
      if (attempt([&] { exported(number).write(file(number)); })) exported_.push_back(number);
    }
  }

  /// Returns the candidate that the benchmark finds faster than the model, or the cheapest one if nothing was timed. If
  /// it is rejected, the others are tested in new rounds: a test that failed ends the selection, so that at most one
  /// test can write a result that is no faster.
  std::optional<std::size_t> preferred_candidate() {
    if (exported_.empty()) return std::nullopt;
    std::vector<std::filesystem::path> files;
    for (const std::size_t number : exported_) files.push_back(file(number));
    const BenchmarkResult& benchmark = selected_.benchmark =
        benchmark_models(context_.model_file, files, context_.benchmark, context_.runtime_inputs);
    if (benchmark.runtime_failed) {
      warn("it could not be timed: " + benchmark.skipped_reason);
      return std::nullopt;
    }
    if (!benchmark.skipped_reason.empty()) return exported_[0];
    const std::string hint = context_.benchmark.command.empty() ? other_runtime_hint : "";
    for (const CandidateTimes& each : benchmark.candidates) {
      if (!each.failure.empty()) warn("it cannot be timed (" + benchmark.runner + "): " + each.failure + hint);
    }
    const auto faster = std::ranges::find_if(benchmark.candidates, &CandidateTimes::faster);
    if (faster == benchmark.candidates.end()) return std::nullopt;
    return exported_[static_cast<std::size_t>(faster - benchmark.candidates.begin())];
  }

  /// Verifies the exported model after reading it back. Returns true if it was selected.
  bool accept(std::size_t number) {
    const auto position = static_cast<std::size_t>(std::ranges::find(exported_, number) - exported_.begin());
    selected_.verification.clear();
    return attempt([&] {
      OnnxModel model = exported(number, &selected_.names);
      ImportedModel reimported = import_model(model, context_.bank, &context_.inference, context_.import.bounds);
      if (!is_shown_by_rules(number)) {
        verify_in_onnxruntime(number);
        verify_by_definitions(number, reimported);
      }
      const std::string reason = rejection_reason(selected_.verification);
      if (!reason.empty()) throw runtime::Error("", reason);
      selected_.model = std::move(model);
      selected_.import = std::move(reimported);
      selected_.candidate = number;
      if (!selected_.benchmark.candidates.empty()) selected_.benchmark.candidates.at(position).selected = true;
    });
  }

  bool is_shown_by_rules(std::size_t number) {
    if (!context_.verification.by_rules) return false;
    VerificationResult result = context_.verification.by_rules(context_.model_file, file(number));
    selected_.verification = {std::move(result)};
    return selected_.verification[0].is_equal();
  }

  VerificationOptions options_of(std::size_t number) const {
    VerificationOptions options = context_.verification;
    options.accuracy.only_where_defined = candidates_[number].widens;
    return options;
  }

  void verify_in_onnxruntime(std::size_t number) {
    auto result = verify_with_onnxruntime(context_.model_file, file(number), options_of(number),
                                          context_.runtime_inputs, selected_.onnxruntime_skipped_reason);
    if (result) selected_.verification.push_back(std::move(*result));
  }

  /// The definitions take a second for a few billion operations: fewer inputs, or none, if onnxruntime found equality.
  void verify_by_definitions(std::size_t number, const ImportedModel& reimported) {
    std::vector<VerificationResult>& results = selected_.verification;
    using Verdict = VerificationResult::Verdict;
    const bool is_rejected = !results.empty() && (results.back().verdict == Verdict::Different ||
                                                  results.back().verdict == Verdict::NotLoaded);
    if (is_rejected) return;
    VerificationOptions options = options_of(number);
    std::span<const GivenInputs> given = context_.given_inputs;
    const double operations_per_input =
        2 * context_.cost.operations(context_.import.outputs) + context_.cost.operations(reimported.outputs);
    if (!results.empty() && results.back().is_equal()) {
      const double affordable = std::min(max_confirming_operations / operations_per_input,
                                         static_cast<double>(given.size() + options.inputs));
      const auto count = static_cast<std::size_t>(affordable);
      given = given.first(std::min(given.size(), count));
      options.inputs = static_cast<std::uint32_t>(std::min<std::size_t>(options.inputs, count - given.size()));
      if (count == 0 || options.runtime == "torch") return;  // PyTorch has computed in float64, too
    }
    results.insert(results.begin(),
                   verify(context_.bank, context_.import.outputs, reimported.outputs, options, context_.sizes, given));
  }

  const SelectionContext& context_;
  const std::vector<Candidate>& candidates_;
  const runtime::ScratchFolder scratch_;
  std::vector<std::size_t> exported_;  // numbers of the candidates that are not rejected
  SelectedModel selected_;
};

}  // namespace

SelectedModel select_model(const SelectionContext& context, const std::vector<Candidate>& candidates) {
  if (candidates.empty()) return {};
  return ModelSelector(context, candidates).run();
}

}  // namespace rulemill::optimize
