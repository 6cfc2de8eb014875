// What this machine is and what this process has used of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rulemill::runtime {

struct Machine {
  std::string host;
  std::string cpu;                        // model name
  std::vector<std::string> cpu_features;  // those that matter for speed: avx2, fma, avx512f, …
  unsigned cores = 1;                     // that this process may use
  unsigned cores_online = 1;
  std::uint64_t memory_bytes = 0;  // physical, or the control group's limit if that is less
};

Machine describe_machine();
/// Cores that this process may run on (affinity and control group).
unsigned available_cores();
/// Largest resident set so far, of this process.
std::uint64_t peak_memory_bytes();
/// Resident set now, of this process.
std::uint64_t current_memory_bytes();
/// Of these, what is in memory that other processes may have, too (NodeMemory, an MPI library's).
std::uint64_t common_memory_bytes();
/// "1.2 GB in use, at most 1.5 GB of address space allowed (ulimit -v)": what to say when memory is out.
std::string memory_in_words();

}  // namespace rulemill::runtime
