#include "optimize/verify/select_model.h"

#include <algorithm>

#include "optimize/verify/onnxruntime_verifier.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

namespace {

/// Returns why a candidate is rejected, empty if it is accepted: no verifier found a difference, and one found
/// equality.
std::string rejection_reason(const std::vector<VerificationResult>& results) {
  RM_CHECK(!results.empty(), "at least one verifier ran");
  using Verdict = VerificationResult::Verdict;
  for (const VerificationResult& each : results) {
    if (each.verdict == Verdict::Different) return "it computes something else (" + each.verifier + "): " + each.reason;
  }
  if (std::ranges::any_of(results, &VerificationResult::is_equal)) return {};
  return "it could not be verified (" + results[0].verifier + "): " + results[0].reason;
}

/// Evaluated by the definitions after onnxruntime has found equality.
constexpr double max_confirming_operations = 3e9;

class ModelSelector {
 public:
  ModelSelector(const SelectionContext& context, const std::vector<Candidate>& candidates)
      : context_(context), candidates_(candidates), scratch_(parent_folder(context.out)) {}

  SelectedModel run() {
    export_candidates();
    for (const std::size_t number : verification_order()) {
      if (accept(number)) break;
    }
    return std::move(selected_);
  }

 private:
  static std::filesystem::path parent_folder(const std::filesystem::path& out) {
    return out.empty() ? std::filesystem::temp_directory_path() : std::filesystem::absolute(out).parent_path();
  }

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

  OnnxModel exported(std::size_t number) const {
    const std::vector<ValueId>& outputs = candidates_[number].outputs;
    ExportPlan plan = plan_export(context_.import, context_.bank, context_.fusion, outputs, context_.model.opset());
    return export_model(context_.model, context_.import, context_.bank, std::move(plan), outputs);
  }

  /// Writes the candidates to files, so that only one large model is in memory at a time.
  void export_candidates() {
    for (std::size_t number = 0; number < candidates_.size(); ++number) {
      if (attempt([&] { exported(number).write(file(number)); })) exported_.push_back(number);
    }
  }

  /// Returns the candidates to verify, best first: those that the benchmark finds faster, or all if nothing was timed.
  std::vector<std::size_t> verification_order() {
    if (exported_.empty()) return {};
    std::vector<std::filesystem::path> files;
    for (const std::size_t number : exported_) files.push_back(file(number));
    const BenchmarkResult& benchmark = selected_.benchmark =
        benchmark_models(context_.model_file, files, context_.benchmark, context_.input_shapes);
    if (benchmark.runtime_failed) {
      warn("it could not be timed: " + benchmark.skipped_reason);
      return {};
    }
    if (!benchmark.skipped_reason.empty()) return exported_;
    return faster_candidates(benchmark);
  }

  /// Returns the faster candidates, cheapest first, after one that is significantly faster than all before it. The
  /// fastest by chance among equally fast ones does not come first.
  std::vector<std::size_t> faster_candidates(const BenchmarkResult& benchmark) {
    const auto& timed = benchmark.candidates;
    std::vector<std::size_t> positions;  // in exported_
    for (std::size_t i = 0; i < exported_.size(); ++i) {
      if (!timed[i].failure.empty()) warn(timed[i].failure);
      if (timed[i].faster) positions.push_back(i);
    }
    std::size_t first = 0;
    for (std::size_t i = 1; i < positions.size(); ++i) {
      if (is_significantly_faster(timed[positions[i]], timed[positions[first]], benchmark.noise)) first = i;
    }
    if (!positions.empty())
      std::rotate(positions.begin(), positions.begin() + static_cast<std::ptrdiff_t>(first),
                  positions.begin() + static_cast<std::ptrdiff_t>(first) + 1);
    std::vector<std::size_t> numbers;
    for (const std::size_t i : positions) numbers.push_back(exported_[i]);
    return numbers;
  }

  /// Verifies the exported model after reading it back. Returns true if it was selected.
  bool accept(std::size_t number) {
    const auto position = static_cast<std::size_t>(std::ranges::find(exported_, number) - exported_.begin());
    selected_.verification.clear();
    return attempt([&] {
      OnnxModel model = exported(number);
      ImportedModel reimported = import_model(model, context_.bank, &context_.inference, context_.import.bounds);
      verify_in_onnxruntime(number);
      verify_by_definitions(reimported);
      const std::string reason = rejection_reason(selected_.verification);
      if (!reason.empty()) throw runtime::Error("", reason);
      selected_.model = std::move(model);
      selected_.import = std::move(reimported);
      selected_.candidate = number;
      if (!selected_.benchmark.candidates.empty()) selected_.benchmark.candidates.at(position).selected = true;
    });
  }

  void verify_in_onnxruntime(std::size_t number) {
    auto result = verify_with_onnxruntime(context_.model_file, file(number), context_.verification,
                                          context_.input_shapes, selected_.onnxruntime_skipped_reason);
    if (result) selected_.verification.push_back(std::move(*result));
  }

  /// The definitions need about a second for a few billion operations. If onnxruntime found equality, they evaluate
  /// fewer inputs or none.
  void verify_by_definitions(const ImportedModel& reimported) {
    std::vector<VerificationResult>& results = selected_.verification;
    if (!results.empty() && results.back().verdict == VerificationResult::Verdict::Different) return;
    VerificationOptions options = context_.verification;
    const double operations_per_input =
        2 * context_.cost.operations(context_.import.outputs) + context_.cost.operations(reimported.outputs);
    if (!results.empty() && results.back().is_equal()) {
      options.inputs = static_cast<std::uint32_t>(
          std::min<double>(options.inputs, max_confirming_operations / operations_per_input));
      if (options.inputs == 0) return;
    }
    results.insert(results.begin(),
                   verify(context_.bank, context_.import.outputs, reimported.outputs, options, context_.sizes));
  }

  const SelectionContext& context_;
  const std::vector<Candidate>& candidates_;
  const runtime::ScratchFolder scratch_;
  std::vector<std::size_t> exported_;  // numbers of the candidates that could be exported
  SelectedModel selected_;
};

}  // namespace

SelectedModel select_model(const SelectionContext& context, const std::vector<Candidate>& candidates) {
  if (candidates.empty()) return {};
  return ModelSelector(context, candidates).run();
}

}  // namespace rulemill::optimize
