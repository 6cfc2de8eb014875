// onnxruntime in a helper process (python/onnxruntime_helpers/benchmark.py) as a timer of models.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "optimize/verify/model_timer.h"
#include "optimize/verify/onnxruntime.h"

namespace rulemill::optimize {

struct OnnxruntimeTimerOptions {
  std::vector<std::string> helper;      // command
  std::string runtime = "onnxruntime";  // see python/onnxruntime_helpers/runtimes.py
  std::uint32_t threads = 1;
  double timeout = 120;  // seconds, for one model; longer if the measured runs of a round need more
};

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
