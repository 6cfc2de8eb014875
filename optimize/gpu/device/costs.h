// Measured costs of nodes on a GPU, including a fused activation. Each is planned and timed once, and stored in a table
// that is valid for one GPU and the versions of driver and libraries.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "optimize/cost/cost_source.h"
#include "optimize/gpu/device/plan_executor.h"

namespace rulemill::optimize::gpu {

/// `open` opens the GPU, also again after release_device(). `path`: a table, or a folder with a table for each GPU and
/// versions; empty: nothing is stored. Throws InputError for a table of another GPU or other versions.
std::unique_ptr<CostSource> gpu_costs(std::function<std::unique_ptr<PlanExecutor>()> open,
                                      const std::filesystem::path& path, algebra::Library& library);
/// Measures on this machine's GPU. Throws InputError if there is none.
std::unique_ptr<CostSource> cuda_costs(const std::filesystem::path& path, algebra::Library& library);

/// Returns a plan of `steps` nearly empty kernels, to measure launch costs.
Plan make_launch_plan(std::size_t steps);

/// Returns random numbers in [-1, 1) for all inputs of a plan.
std::vector<std::vector<float>> random_inputs(const Plan& plan);

}  // namespace rulemill::optimize::gpu
