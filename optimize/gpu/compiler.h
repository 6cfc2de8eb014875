// Kernels' text to machine code, by NVRTC, which needs no device; and what the compiler reports of each kernel.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rulemill::optimize::gpu {

/// Of one kernel, by the assembler.
struct KernelUse {
  std::uint32_t registers = 0, stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;

  /// Threads that a multiprocessor holds at once, of those that it could: as far as registers decide.
  double occupancy() const;
};

struct Compiled {
  std::vector<char> machine_code;        // cubin
  std::map<std::string, KernelUse> use;  // by kernel
};

/// "NVRTC 13.0"; nothing if this build has none.
std::optional<std::string> compiler_version();

/// `architecture` as "sm_90". Throws Error with the compiler's first complaint, or if this build has no compiler.
Compiled compile(const std::string& source, const std::string& architecture);

/// The assembler's report, as text.
std::map<std::string, KernelUse> parse_report(const std::string& report);

}  // namespace rulemill::optimize::gpu
