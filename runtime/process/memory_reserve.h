// Memory that is freed when an allocation fails, because destructors may allocate while the error is handled: that of
// nlohmann::json does, and its failure would end the process.
#pragma once

namespace rulemill::runtime {

/// The first allocation that fails then frees half a MiB and throws std::bad_alloc.
void install_memory_reserve();

}  // namespace rulemill::runtime
