// A description of this machine, and the memory that this process uses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rulemill::runtime {

struct Machine {
  std::string host;
  std::string cpu;                        // model name
  std::vector<std::string> cpu_features;  // those that affect speed: avx2, fma, avx512f, …
  unsigned cores = 1;                     // that this process may use
  unsigned cores_online = 1;
  std::uint64_t memory_bytes = 0;  // physical memory, or the control group's limit if that is less
};

Machine describe_machine();
/// Returns the number of cores that this process may run on (affinity and control group).
unsigned available_cores();
/// Returns the largest resident set size of this process so far.
std::uint64_t peak_memory_bytes();
/// Returns the processor time of all threads of this process so far.
double processor_seconds();
/// Returns the resident set size of this process.
std::uint64_t current_memory_bytes();
/// Returns the part of the resident set that is shared memory (NodeMemory, the MPI library).
std::uint64_t shared_memory_bytes();
/// "1.2 GiB in use, at most 1.5 GiB of address space allowed (ulimit -v)", for out-of-memory messages.
std::string describe_memory();

/// The first allocation that fails then frees half a MiB and throws std::bad_alloc: destructors may allocate while the
/// error is handled, as that of nlohmann::json does, and its failure would end the process.
void install_memory_reserve();

}  // namespace rulemill::runtime
