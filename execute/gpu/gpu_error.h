// The error of everything that works with a GPU.
#pragma once

#include "runtime/text/error.h"

namespace rulemill::execute {

/// A GPU failure: out of memory, or a failed call. The caller can fall back to the CPU.
class GpuError : public runtime::Error {
 public:
  using Error::Error;
};

}  // namespace rulemill::execute
