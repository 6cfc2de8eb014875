// The GPU backend: values and programs resident on one device, waves of nodes evaluated one thread a node. Same body as
// the CPU's kernels, same bits. Built only with CUDA; without, there are no devices.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "execute/program.h"
#include "execute/value_store.h"
#include "execute/wave.h"
#include "runtime/error.h"

namespace rulemill::execute {

/// A CUDA call failed: no memory, a device gone. The work can be done on the CPU instead.
class DeviceError : public runtime::Error {
 public:
  using Error::Error;
};

struct DeviceInfo {
  std::string name;
  std::uint64_t memory_bytes = 0;
};
/// The devices that this build can use here; empty without CUDA or without a device.
std::vector<DeviceInfo> devices();

class Device {
 public:
  virtual ~Device() = default;
  /// Throws DeviceError.
  static std::unique_ptr<Device> open(std::size_t ordinal, std::span<const Pair> keys);

  /// Copies the groups that are not there yet. No evaluation may be under way.
  virtual void add_values(const ValueStore& values) = 0;
  /// Makes the programs resident that are not there yet, by number; null for one that is not there.
  virtual void add_programs(std::span<const TypedProgram* const> programs) = 0;
  /// One thread's runner: a stream and buffers of its own, so that copies of one overlap with the evaluation of
  /// another.
  virtual std::unique_ptr<WaveRunner> runner() = 0;
  virtual std::string name() const = 0;
};

/// A program as run_node takes it, its arrays being `view`'s.
struct NodeProgram;
NodeProgram node_program(const TypedProgram& typed, const ProgramView& view);

}  // namespace rulemill::execute
