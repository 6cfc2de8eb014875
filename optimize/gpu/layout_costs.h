// What convolutions and pools cost in either layout: by a device's figures, or as measured there, once each, and kept
// in a table beside the times of nodes.
#pragma once

#include <memory>

#include "optimize/cost_table.h"
#include "optimize/device.h"
#include "optimize/gpu/executor.h"
#include "optimize/gpu/layouts.h"

namespace rulemill::optimize::gpu {

/// By a device's figures, as long in both layouts: then layouts save copies and reads out of order, and nothing else.
std::unique_ptr<LayoutCosts> modelled_layouts(const Device& device);

/// Times of a table; what it does not have is measured, if there is an executor, and otherwise modelled. Both must
/// outlive the costs.
std::unique_ptr<LayoutCosts> measured_layouts(const Device& device, CostTable& table, Executor* executor);

/// A plan of this call alone, its image, filters and bias given.
Plan plan_of_call(const LayoutQuery& query);

}  // namespace rulemill::optimize::gpu
