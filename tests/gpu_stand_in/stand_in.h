// Controls the stand-in for cudart, cuDNN, cublasLt and NVRTC: planned failures, and a record of what it saw. One per
// process, because the libraries' functions have no other place for their state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rulemill::gpu_stand_in {

struct Refusal {
  std::size_t nth = 0;      // the call that is refused, from 1; 0: every call
  bool onwards = false;     // and all later ones
  bool in_capture = false;  // only while a stream is captured
  int status = 0;           // of the call's status type; 0: "not supported", or an unknown error of cudart
};

struct Faults {
  std::map<std::string, Refusal> refusals;  // by call
  std::uint64_t memory_bytes = std::uint64_t{80} << 30;
  std::optional<int> math_type = std::nullopt;  // that algorithms report; unset: the descriptor's
  std::string exclusive_lock;                   // file: exclusive compute mode among processes that have this file
};

/// Parses "CALL", "CALL@2", "CALL@2+", "CALL@capture", "CALL=35", "memory=BYTES", "math=TYPE" and "exclusive=FILE",
/// separated by commas. Throws std::invalid_argument.
Faults parse_faults(const std::string& text);

/// Plans failures from now on; forgets violations and which kernels have run, but not the number of calls.
void plan(const Faults& faults);

/// As in a new process: forgets handles and memory, which stay behind where the device is lost.
void restart();

/// Wrong uses of a library since plan(): "cudaFree: no such memory".
std::vector<std::string> violations();
/// Handles and allocations that have not been destroyed: "2 CudnnTensor".
std::vector<std::string> leaks();
/// The number of calls since the process started, refused ones included.
std::map<std::string, std::size_t> call_counts();
/// Device memory in use now, and its maximum since plan().
std::uint64_t device_bytes();
std::uint64_t peak_device_bytes();

}  // namespace rulemill::gpu_stand_in
