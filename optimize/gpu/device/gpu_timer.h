// Times models against each other on this machine's GPU, in this process: their plans stay loaded.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "optimize/cost/device_model.h"
#include "optimize/cost/input_shapes.h"
#include "optimize/gpu/device/plan_executor.h"
#include "optimize/verify/model_timer.h"

namespace rulemill::optimize::gpu {

/// How models are read and planned.
struct GpuTimerOptions {
  std::filesystem::path operators;       // folder of definitions
  std::vector<std::string> type_helper;  // as in optimize::Options
  InputShapes input_shapes;              // dynamic dimensions that do not follow from them are 1
  DeviceModel device;                    // estimates what is not measured
};

/// `models` are the model and its candidates. Each has the layouts that are best by measured times, and each is timed
/// with cold caches. The timer throws Error if the GPU is lost or the first model cannot be planned.
std::unique_ptr<ModelTimer> gpu_timer(std::unique_ptr<PlanExecutor> executor,
                                      const std::vector<std::filesystem::path>& models, const GpuTimerOptions& options);

}  // namespace rulemill::optimize::gpu
