// End-to-end times of a model and its candidates. The fastest candidate is chosen in a few rounds in which all run in
// turns. Then it is tested against the model in new rounds, so that its luck in the choice does not count: in each
// round both are loaded again, in random order, and run in turns. The speedup of a round is the ratio of the two times.
// A candidate is faster if a sequential sign test says so and the median of its speedups is large enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "optimize/verify/model_timer.h"
#include "optimize/verify/onnxruntime.h"

namespace rulemill::optimize {

struct BenchmarkOptions {
  bool enabled = false;
  std::vector<std::string> helper;  // command that starts onnxruntime's helper benchmark.py
  std::string command;              // of the user, used instead: gets a model's path and prints milliseconds
  /// Opens the timer of another runtime, used instead, for the model and its candidates. Empty: none. An InputError of
  /// the timer is why the models are not timed; other errors end the command.
  std::function<std::unique_ptr<ModelTimer>(const std::vector<std::filesystem::path>& models)> open_timer;
  std::string runtime = "onnxruntime";  // in which the helper times models
  std::uint32_t threads = 1;            // of the runtime
  double seconds = 8;                   // of running models; more if the minimum number of rounds takes longer
  double timeout = 120;                 // seconds, for one run of the command or one model in the helper

  bool is_possible() const { return enabled && (!helper.empty() || !command.empty() || open_timer); }
};

struct CandidateTimes {
  std::string failure;            // why it does not run
  std::string reason;             // why it is not faster, if it runs
  double model_milliseconds = 0;  // of the model, as below
  double milliseconds = 0;        // of the median round, the geometric mean over the inputs; 0 if it was not timed
  double speedup = 0;             // over the model: the ratio of the two times
  double lower = 0, upper = 0;    // quartiles of the speedup
  std::size_t rounds = 0;         // of the test; 0 if it was not chosen for the test
  bool faster = false;
  bool selected = false;  // it passed verification and is the result
};

struct BenchmarkResult {
  std::string runner;                      // "onnxruntime 1.31.0, 1 thread"; empty if skipped
  std::string skipped_reason;              // empty if models were timed
  bool runtime_failed = false;             // skipped, because the runtime failed on the models
  std::string shapes;                      // of the inputs
  double milliseconds = 0;                 // of the model, beside the candidate that was tested
  std::size_t rounds = 0;                  // of the test
  std::vector<CandidateTimes> candidates;  // one at most is faster
};

/// Smaller speedups do not count: they are not worth a changed model.
inline constexpr double min_speedup = 1.01;

/// Chooses and tests the candidates, models 1 and up of the timer, the preferred first. Throws what the timer throws.
BenchmarkResult compare_models(ModelTimer& timer, double seconds);

/// Times the candidates against the model. Throws UsageError if the user's command fails on the model, times out or
/// does not print one number.
BenchmarkResult benchmark_models(const std::filesystem::path& model, std::span<const std::filesystem::path> candidates,
                                 const BenchmarkOptions& options, const RuntimeInputs& inputs);

/// Runs the user's command, if any, on the model, so that its errors are reported before the search.
void try_benchmark_command(const std::filesystem::path& model, const BenchmarkOptions& options);

}  // namespace rulemill::optimize
