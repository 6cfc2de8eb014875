#include "execute/kernels/kernel_entry.h"
#include "execute/kernels/single_lane.h"

namespace rulemill::execute {

Kernels scalar_kernels() { return {run_block<SingleLane>, hash_block<SingleLane>}; }

}  // namespace rulemill::execute
