// Measures models in rounds, in which they run in turns: in onnxruntime, or by the user's command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "optimize/verify/onnxruntime.h"

namespace rulemill::optimize {

/// Models by number: 0 is the model itself, the candidates follow.
class ModelTimer {
 public:
  virtual ~ModelTimer() = default;

  /// Facts about the models before the first round.
  struct Opening {
    std::vector<std::string> inputs;    // descriptions of the inputs on which models are timed: "x 1x3x224x224"
    std::vector<std::string> failures;  // by model: why it does not run; empty if it does
    double load_seconds = 0;            // of the model: loading it and a first run on all inputs
    double run_seconds = 0;             // of the model: a later run on all inputs
    std::size_t max_turns = 1;          // that a round can have
  };

  struct Round {
    std::vector<std::vector<double>> milliseconds;  // by position in the order, then input: the median of the turns
    std::vector<std::string> failures;              // by position in the order: why there are no times
    double seconds = 0;                             // of work, loading included
  };

  /// Whether models are loaded for a round. Where a model lies in memory changes its time by about 1%, so that fresh
  /// copies are a fair comparison, and loaded ones are fast.
  enum class Copies { Loaded, Fresh };

  /// Returns "onnxruntime 1.31.0, 1 thread".
  virtual std::string name() const = 0;
  virtual Opening open() = 0;
  /// Runs the models `turns` times in this order. Throws Error if the runtime or the model itself fails.
  virtual Round time_round(std::span<const std::size_t> order, std::size_t turns, Copies copies) = 0;
};

/// The user's command (--benchmark-command), which gets the path of a model and prints the milliseconds of one run.
struct TimingCommand {
  std::string text;      // for the shell
  double timeout = 120;  // seconds, for one run
};

class CommandTimer final : public ModelTimer {
 public:
  /// `models` are the model and its candidates.
  CommandTimer(TimingCommand command, std::vector<std::filesystem::path> models)
      : command_(std::move(command)), models_(std::move(models)) {}

  std::string name() const override { return "'" + command_.text + "'"; }
  Opening open() override;
  Round time_round(std::span<const std::size_t> order, std::size_t turns, Copies copies) override;

 private:
  TimingCommand command_;
  std::vector<std::filesystem::path> models_;
};

/// Runs the command on the model. Throws UsageError if it fails or does not print one positive number.
double time_by_command(const TimingCommand& command, const std::filesystem::path& model);

struct OnnxruntimeTimerOptions {
  std::vector<std::string> helper;      // command
  std::string runtime = "onnxruntime";  // see python/onnxruntime_helpers/runtimes.py
  std::uint32_t threads = 1;
  double timeout = 120;  // seconds, for one model; longer if the measured runs of a round need more
};

/// onnxruntime in a helper process (python/onnxruntime_helpers/benchmark.py).
class OnnxruntimeTimer final : public ModelTimer {
 public:
  /// `models` are the model and its candidates. Throws Error if onnxruntime is not available.
  OnnxruntimeTimer(OnnxruntimeTimerOptions options, std::vector<std::filesystem::path> models, RuntimeInputs inputs);

  std::string name() const override;
  Opening open() override;
  Round time_round(std::span<const std::size_t> order, std::size_t turns, Copies copies) override;

 private:
  /// Throws Error if the process ends, or answers with a failure or with a malformed message.
  runtime::Json answer(const runtime::Json& query, double timeout);

  OnnxruntimeTimerOptions options_;
  std::vector<std::filesystem::path> models_;
  RuntimeInputs inputs_;
  OnnxruntimeProcess process_;
  std::string runtime_name_;
  std::size_t input_count_ = 0;
  double open_seconds_ = 0;  // wall-clock time of opening the slowest model
};

}  // namespace rulemill::optimize
