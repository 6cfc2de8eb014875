// Kernels that the stand-in for NVRTC compiled.
#pragma once

#include <string>

#include "tests/gpu_stand_in/calls.h"
#include "tests/gpu_stand_in/host_module.h"

namespace rulemill::gpu_stand_in {

struct Kernel final : Object {
  static constexpr const char* name = "kernel";
  std::string function;
  std::size_t parameters = 0;
  HostModule::Run run = nullptr;
};

}  // namespace rulemill::gpu_stand_in
