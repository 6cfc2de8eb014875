// Costs of convolutions and pools in either layout: from a device model, or measured once each and stored in a table
// beside the costs of nodes.
#pragma once

#include <memory>

#include "optimize/cost/cost_table.h"
#include "optimize/cost/device_model.h"
#include "optimize/gpu/device/plan_executor.h"
#include "optimize/gpu/plan/assign_layouts.h"

namespace rulemill::optimize::gpu {

/// Returns costs from a table; missing ones are measured, or modelled if there is no executor: then they are equal in
/// both layouts, which only affect copies and uncoalesced reads. Table and executor must outlive the result.
std::unique_ptr<LayoutCosts> measured_layout_costs(const DeviceModel& device, CostTable& table, PlanExecutor* executor);

/// Returns a plan of this call; image, filters and bias are inputs.
Plan make_call_plan(const LayoutQuery& query);

}  // namespace rulemill::optimize::gpu
