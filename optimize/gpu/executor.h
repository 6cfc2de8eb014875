// Runs plans on a GPU: kernels, cuDNN and cuBLAS, captured as one CUDA graph. Where there is no GPU, or this build has
// no CUDA libraries, opening says so.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "optimize/gpu/plan.h"

namespace rulemill::optimize::gpu {

/// Seconds of one run: the median of several, and quartiles.
struct RunTime {
  double median = 0, lower = 0, upper = 0;
  std::size_t runs = 0;
};

struct Measuring {
  std::size_t runs = 50;
  std::size_t warm_up = 5;
  bool cold = true;  // caches are overwritten before each run
};

/// "NVIDIA H200, 132 multiprocessors"; nothing where there is none, or this build cannot use one.
std::optional<std::string> device_name();

/// Throws InputError, which says what is missing, where no GPU can be used.
void require_gpu();

/// A plan on the device, its constants there.
class LoadedPlan {
 public:
  virtual ~LoadedPlan() = default;
  /// Values by the plan's inputs; gives those of its outputs.
  virtual std::vector<std::vector<float>> run(const std::vector<std::vector<float>>& inputs) = 0;
  virtual RunTime time(const Measuring& measuring) = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;
  /// As require_gpu().
  static std::unique_ptr<Executor> open();

  virtual std::string device() const = 0;    // as device_name()
  virtual std::string versions() const = 0;  // "CUDA 13.0, driver 13.0, cuDNN 9.13.0, cuBLAS 13.0.2"
  /// Why nothing can be run any more after an error; empty if it can.
  virtual std::string failure() const = 0;
  /// `values` gives a constant's elements.
  virtual std::unique_ptr<LoadedPlan> load(const Plan& plan, std::span<const algebra::Function> functions,
                                           const std::function<std::vector<float>(ValueId)>& values) = 0;
};

/// Median and quartiles. There must be at least one.
RunTime run_time_of(std::vector<double> seconds);

}  // namespace rulemill::optimize::gpu
