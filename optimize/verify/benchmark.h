// End-to-end times of a model and its candidates. Models run in turns, so that other load of the machine affects all of
// them. The speedup of a round is the ratio of two times in it. A candidate is faster if the median of its speedups
// exceeds one by more than the noise, and the number of speedups above one is statistically significant. The model
// itself runs twice per round: the difference of its two times is the noise.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "optimize/cost/input_shapes.h"

namespace rulemill::optimize {

struct BenchmarkOptions {
  bool enabled = false;
  std::vector<std::string> helper;  // command that starts onnxruntime's helper benchmark.py
  std::string command;              // of the user, used instead: gets a model's path and prints milliseconds
  std::uint32_t threads = 1;        // of onnxruntime
  double seconds = 8;               // of running models; more if the minimum number of rounds takes longer
  double timeout = 120;             // seconds, for one run of the command, or for the helper's whole benchmark

  bool is_possible() const { return enabled && !(helper.empty() && command.empty()); }
};

/// Milliseconds of each model in each round, for one choice of the input shapes. Models 0 and 1 are the model itself.
struct RoundTimes {
  std::string shapes;                             // "x 1x3x224x224"
  std::vector<std::vector<double>> milliseconds;  // by model, then round; empty for a model that does not run
};

struct CandidateTimes {
  std::string failure;           // why it does not run
  double milliseconds = 0;       // median, for the first shapes
  double speedup = 0;            // over the model: median of the rounds
  double lower = 0, upper = 0;   // quartiles of the speedup
  bool faster = false;           // significantly for the mean over all shapes, and for no shapes slower
  bool selected = false;         // it passed verification and is the result
  std::vector<double> speedups;  // by round
};

struct BenchmarkResult {
  std::string runner;           // "onnxruntime 1.31.0, 1 thread"; empty if skipped
  std::string skipped_reason;   // empty if models were timed
  bool runtime_failed = false;  // skipped, because the runtime failed on the models
  std::string shapes;           // of the inputs
  double milliseconds = 0;      // of the model: median, for the first shapes
  double noise = 0;             // relative difference from one that a speedup must exceed
  std::size_t rounds = 0;
  std::vector<CandidateTimes> candidates;
};

/// With fewer rounds no speedup is significant: being faster in all of seven by chance has a probability below 1%.
inline constexpr std::size_t min_rounds = 7;
/// Smaller speedups may be effects of the memory layout.
inline constexpr double min_noise = 0.01;

/// Compares the candidates, which are models 2 and up.
BenchmarkResult compare_times(std::span<const RoundTimes> rounds);

/// Returns true if a candidate is significantly faster than another, by the criterion for candidates and the model.
bool is_significantly_faster(const CandidateTimes& one, const CandidateTimes& other, double noise);

/// Times the candidates against the model. Throws UsageError if the user's command fails on the model, times out or
/// does not print one number.
BenchmarkResult benchmark_models(const std::filesystem::path& model, std::span<const std::filesystem::path> candidates,
                                 const BenchmarkOptions& options, const InputShapes& input_shapes);

/// Runs the user's command, if any, on the model, so that its errors are reported before the search.
void try_benchmark_command(const std::filesystem::path& model, const BenchmarkOptions& options);

}  // namespace rulemill::optimize
