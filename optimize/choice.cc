#include "optimize/choice.h"

#include <algorithm>

#include "optimize/judge.h"
#include "runtime/error.h"
#include "runtime/scratch_folder.h"

namespace rulemill::optimize {

namespace {

/// No judge may find a difference, and one must have seen that there is none.
std::string refusal_of(const std::vector<Judgement>& judgements) {
  RM_CHECK(!judgements.empty(), "somebody judges");
  using Verdict = Judgement::Verdict;
  for (const Judgement& each : judgements) {
    if (each.verdict == Verdict::Different) return "it computes something else (" + each.judge + "): " + each.reason;
  }
  for (const Judgement& each : judgements) {
    if (each.equal()) return {};
  }
  return "it could not be verified (" + judgements.at(0).judge + "): " + judgements.at(0).reason;
}

/// Of the definitions, where onnxruntime has judged as well.
constexpr double most_operations = 3e9;

class Chooser {
 public:
  Chooser(const Setting& with, const std::vector<Candidate>& candidates)
      : with_(with), candidates_(candidates), scratch_(folder_for(with.options)) {}

  Choice run() {
    export_all();
    for (const std::size_t number : order()) {
      if (judge(number)) break;
    }
    return std::move(choice_);
  }

 private:
  static std::filesystem::path folder_for(const Options& options) {
    return options.out.empty() ? std::filesystem::temp_directory_path()
                               : std::filesystem::absolute(options.out).parent_path();
  }

  std::filesystem::path file(std::size_t number) const {
    return scratch_.path() / ("candidate" + std::to_string(number) + ".onnx");
  }

  void refuse(const std::string& why) {
    if (choice_.warning.empty()) choice_.warning = "a cheaper model was not taken: " + why;
  }

  /// Runs `work` on a candidate; what goes wrong there is the candidate's end, not the run's.
  template <typename Work>
  bool attempt(Work work) {
    try {
      work();
      return true;
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::UsageError&) {
      throw;
    } catch (const runtime::Error& error) {
      refuse(error.what());
      return false;
    }
  }

  OnnxModel exported(std::size_t number) const {
    const std::vector<ValueId>& outputs = candidates_[number].outputs;
    ExportPlan plan = plan_export(with_.import, with_.bank, with_.fusion, outputs, with_.model.opset());
    return export_model(with_.model, with_.import, with_.bank, std::move(plan), outputs);
  }

  /// One after the other: a large model is not held several times.
  void export_all() {
    for (std::size_t number = 0; number < candidates_.size(); ++number) {
      if (attempt([&] { exported(number).write(file(number)); })) exported_.push_back(number);
    }
  }

  /// The fastest first, and none that is not faster; all, in their order, if nothing could be timed.
  std::vector<std::size_t> order() {
    if (exported_.empty()) return {};
    std::vector<std::filesystem::path> files;
    for (const std::size_t number : exported_) files.push_back(file(number));
    TimingOptions timing = with_.options.timing;
    timing.input_shapes = with_.options.input_shapes;
    choice_.timing = time_models(with_.options.model, files, timing);
    if (choice_.timing.broken) refuse("it could not be timed: " + choice_.timing.absent);
    if (!choice_.timing.absent.empty()) return choice_.timing.broken ? std::vector<std::size_t>{} : exported_;
    std::vector<std::size_t> places;  // in exported_
    for (std::size_t i = 0; i < exported_.size(); ++i) {
      if (!choice_.timing.candidates[i].failure.empty()) refuse(choice_.timing.candidates[i].failure);
      if (choice_.timing.candidates[i].faster) places.push_back(i);
    }
    // The cheapest, unless another is surely faster: by luck of some rounds alone, one of several that are as fast
    // always is. What comes after it is asked only if it is refused.
    const auto& timed = choice_.timing.candidates;
    std::size_t first = 0;
    for (std::size_t i = 1; i < places.size(); ++i) {
      if (surely_faster(timed[places[i]], timed[places[first]], choice_.timing.noise)) first = i;
    }
    if (!places.empty())
      std::rotate(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(first),
                  places.begin() + static_cast<std::ptrdiff_t>(first) + 1);
    std::vector<std::size_t> numbers;
    for (const std::size_t i : places) numbers.push_back(exported_[i]);
    return numbers;
  }

  /// What is judged is what will be written: the exported model, read back. True if it may be written.
  bool judge(std::size_t number) {
    choice_.judgements.clear();
    return attempt([&] {
      OnnxModel model = exported(number);
      Import back = import_model(model, with_.bank, &with_.inference, with_.import.bounds);
      choice_.picture = drawing_of(back, with_.bank);
      ask_onnxruntime_about(number);
      ask_definitions_about(back);
      const std::string refusal = refusal_of(choice_.judgements);
      if (!refusal.empty()) throw runtime::Error("", refusal);
      choice_.model = std::move(model);
      choice_.candidate = number;
    });
  }

  void ask_onnxruntime_about(std::size_t number) {
    const Options& options = with_.options;
    const JudgeOptions judging{options.judge, options.verify_seeds, options.acceptance, options.input_shapes,
                               options.judge_seconds};
    auto judgement = judge_by_onnxruntime(options.model, file(number), judging, choice_.without_judge);
    if (judgement) choice_.judgements.push_back(std::move(*judgement));
  }

  /// They take a second for some billion operations: on fewer inputs, or not at all, where onnxruntime has seen that
  /// all is equal.
  void ask_definitions_about(const Import& back) {
    const bool seen_equal = !choice_.judgements.empty() && choice_.judgements.back().equal();
    if (!choice_.judgements.empty() && choice_.judgements.back().verdict == Judgement::Verdict::Different) return;
    VerifyOptions verification{with_.options.verify_seeds, with_.options.acceptance, with_.sizes};
    const double once = 2 * with_.cost.operations(with_.import.outputs) + with_.cost.operations(back.outputs);
    if (seen_equal) {
      verification.seeds = static_cast<std::uint32_t>(std::min<double>(verification.seeds, most_operations / once));
      if (verification.seeds == 0) return;
    }
    choice_.judgements.insert(choice_.judgements.begin(),
                              verify(with_.bank, with_.import.outputs, back.outputs, verification));
  }

  const Setting& with_;
  const std::vector<Candidate>& candidates_;
  const runtime::ScratchFolder scratch_;
  std::vector<std::size_t> exported_;  // numbers of the candidates that could be written
  Choice choice_;
};

}  // namespace

Choice choose(const Setting& with, const std::vector<Candidate>& candidates) {
  if (candidates.empty()) return {};
  return Chooser(with, candidates).run();
}

}  // namespace rulemill::optimize
