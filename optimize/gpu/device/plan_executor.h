// Execution of plans on a GPU: kernels, cuDNN and cuBLAS calls, captured as a CUDA graph. open() reports a missing GPU
// or missing CUDA libraries.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "optimize/gpu/plan/plan.h"

namespace rulemill::optimize::gpu {

/// Seconds of one run: median and quartiles of several runs.
struct RunTime {
  double median = 0, lower = 0, upper = 0;
  std::size_t runs = 0;
};

struct TimingOptions {
  std::size_t runs = 50;
  std::size_t warm_up_runs = 5;
  bool cold_caches = true;  // overwrite caches before each run
};

/// Returns a name such as "NVIDIA H200, 132 multiprocessors"; nullopt if this build cannot use a GPU here.
std::optional<std::string> device_name();

/// Throws InputError with the reason if no GPU can be used.
void require_gpu();

/// A plan loaded to the GPU, with its constants.
class LoadedPlan {
 public:
  virtual ~LoadedPlan() = default;
  /// Runs the plan on the values of its inputs; returns those of its outputs.
  virtual std::vector<std::vector<float>> run(const std::vector<std::vector<float>>& inputs) = 0;
  virtual RunTime time(const TimingOptions& options) = 0;
};

class PlanExecutor {
 public:
  virtual ~PlanExecutor() = default;
  /// Throws as require_gpu().
  static std::unique_ptr<PlanExecutor> open();

  virtual std::string device() const = 0;    // as device_name()
  virtual std::string versions() const = 0;  // "CUDA 13.0, driver 13.0, cuDNN 9.13.0, cuBLAS 13.0.2"
  /// Returns why no further run is possible after an error; empty if runs are possible.
  virtual std::string failure() const = 0;
  /// Loads a plan. `values` returns a constant's elements.
  virtual std::unique_ptr<LoadedPlan> load(const Plan& plan, std::span<const algebra::Function> functions,
                                           const std::function<std::vector<float>(ValueId)>& values) = 0;
};

/// Returns median and quartiles of at least one run.
RunTime summarize_runs(std::vector<double> seconds);

}  // namespace rulemill::optimize::gpu
