// Compilation of kernel source with NVRTC, which needs no GPU, and the resource usage of each kernel.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rulemill::optimize::gpu {

/// Resources of a kernel, as reported by the assembler.
struct KernelResources {
  std::uint32_t registers = 0, stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;

  /// Returns the fraction of a multiprocessor's threads that can be resident, limited by registers.
  double occupancy() const;
};

struct CompiledKernels {
  std::vector<char> machine_code;                    // cubin
  std::map<std::string, KernelResources> resources;  // by kernel name
};

/// Returns the version, such as "NVRTC 13.0"; nullopt if this build has no NVRTC.
std::optional<std::string> compiler_version();

/// Compiles for an `architecture` such as "sm_90". Throws Error with the compiler's first message, or if this build has
/// no compiler.
CompiledKernels compile(const std::string& source, const std::string& architecture);

/// Parses the assembler's report.
std::map<std::string, KernelResources> parse_resource_report(const std::string& report);

}  // namespace rulemill::optimize::gpu
