// The GPU backend: values and programs resident on one device, nodes evaluated in batches, one thread a node. Same body
// as the CPU's kernels, same bits. Built only with CUDA; without, there are no devices.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fingerprint/evaluator.h"
#include "runtime/error.h"

namespace rulemill::fingerprint {

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

/// Nodes of one signature, next to each other in a batch.
struct DeviceRun {
  std::uint32_t signature = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// Nodes to evaluate: arguments are term ids, `arity_stride` a node; output o of node n goes to prints[places[n] + o].
struct DeviceBatch {
  std::vector<DeviceRun> runs;
  std::vector<enumerate::TermId> arguments;
  std::vector<std::uint32_t> places;
};

class Device {
 public:
  virtual ~Device() = default;
  /// Throws DeviceError.
  static std::unique_ptr<Device> open(std::size_t ordinal, std::span<const Pair> keys, std::uint32_t arity_stride);

  /// Copies the values of groups that are not there yet. No evaluation may be under way.
  virtual void add_values(const ValueStore& values, const enumerate::Enumerator& enumerator) = 0;
  /// Makes the programs resident that are not there yet, by signature.
  virtual void add_programs(std::span<const CompiledSignature* const> compiled) = 0;
  /// Blocks until the fingerprints are there. Several threads may evaluate at once.
  virtual void evaluate(const DeviceBatch& batch, std::span<Fingerprint> prints) = 0;
  virtual std::string name() const = 0;
};

/// Gathers the nodes that an enumerator shows into a batch and notes the rows.
class DeviceBatcher final : public enumerate::NodeSink {
 public:
  DeviceBatcher(const enumerate::Enumerator& enumerator, std::span<const CompiledSignature* const> compiled,
                RowRange& rows);

  void block(enumerate::SignatureId signature, std::span<const enumerate::TermId> fixed, std::uint32_t open,
             std::uint32_t group, std::uint32_t block, std::uint8_t lanes, std::uint64_t row) override;
  void single(enumerate::SignatureId signature, std::span<const enumerate::TermId> arguments,
              std::uint64_t row) override;

  /// The nodes, those of a signature together.
  DeviceBatch batch() const;
  std::uint64_t products() const { return products_; }

 private:
  struct Node {
    enumerate::SignatureId signature;
    std::uint32_t place;
  };
  const enumerate::Enumerator& enumerator_;
  std::span<const CompiledSignature* const> compiled_;
  RowRange& rows_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> counts_;  // by signature
  std::uint64_t products_ = 0;
};

/// A signature's program as run_node takes it, its arrays being `view`'s.
struct NodeProgram;
NodeProgram node_program(const CompiledSignature& compiled, const ProgramView& view);

}  // namespace rulemill::fingerprint
