// Measured costs of nodes on a GPU, including a fused activation. Each is planned and timed once, and stored in a table
// that is valid for one GPU and the versions of driver and libraries.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "optimize/cost/cost_source.h"
#include "optimize/cost/cost_table.h"
#include "optimize/cost/device_model.h"
#include "optimize/gpu/device/plan_executor.h"
#include "optimize/gpu/plan/assign_layouts.h"

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

// Costs of convolutions and pools in either layout: from a device model, or measured once each and stored in a table
// beside the costs of nodes.

/// Returns costs from a table; missing ones are measured, or modelled if there is no executor: then they are equal in
/// both layouts, which only affect copies and uncoalesced reads. Table and executor must outlive the result.
std::unique_ptr<LayoutCosts> measured_layout_costs(const DeviceModel& device, CostTable& table, PlanExecutor* executor);

/// Returns a plan of this call; image, filters and bias are inputs.
Plan make_call_plan(const LayoutQuery& query);

}  // namespace rulemill::optimize::gpu
