#include "fingerprint/kernel_entry.h"
#include "fingerprint/single_lane.h"

namespace rulemill::fingerprint {

Kernels scalar_kernels() { return {run_block<SingleLane>, hash_block<SingleLane>}; }

}  // namespace rulemill::fingerprint
