// A GPU backend emulated on the CPU: host memory, and blocks of threads run one after the other through the same kernel
// bodies. For tests, and for counting what a GPU would receive.
#pragma once

#include <memory>

#include "execute/gpu/gpu_backend.h"

namespace rulemill::execute {

std::unique_ptr<GpuBackend> emulated_backend(const BatchLimits& limits = gpu_limits);

}  // namespace rulemill::execute
