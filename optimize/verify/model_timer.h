// Measures models in rounds, in which they run in turns. Interface of onnxruntime and of the user's command.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

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

}  // namespace rulemill::optimize
