// The GPU backend: values, programs and names of terms resident on one card; batches of rows, whose names are made
// there, evaluated one thread a name, and told by their least fingerprint. Same body as the CPU's kernels, same bits.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "execute/card.h"
#include "execute/program.h"
#include "execute/value_store.h"
#include "runtime/stopwatch.h"

namespace rulemill::execute {

struct DeviceInfo {
  std::string name;
  std::uint64_t memory_bytes = 0;
};
/// The devices that this build can use here; empty without CUDA or without a device.
std::vector<DeviceInfo> devices();

/// What a device was sent and did, for the model of its costs.
struct DeviceCounts {
  std::uint64_t resident_bytes = 0, uploaded_bytes = 0, downloaded_bytes = 0;
  std::uint64_t batches = 0, pieces = 0, nodes = 0, passing = 0, passing_items = 0, words = 0, names = 0, minima = 0;
  std::uint64_t items = 0;                 // names of the nodes
  std::uint64_t operands = 0, staged = 0;  // of names, passing terms' as well; of these in shared memory
  std::uint64_t arguments = 0;             // of nodes, passing terms' as well
  std::uint64_t arena_bytes = 0;           // of passing terms, written once
  std::uint64_t microseconds = 0;          // that lanes spent in calls of their queues, waiting included
  DeviceCounts& operator+=(const DeviceCounts& other);
};

/// Terms that are held under all their names.
struct NamedTerms {
  static constexpr std::uint32_t no_group = 0xffffffffu;
  std::vector<std::uint32_t> groups, slots;  // in the value store, by term; no_group: it has no values
  std::vector<std::uint32_t> swapped;        // by swap of two variables and term: the term that it becomes
  bool all_terms = false;                    // terms of equal value are different terms
};

class DeviceLane;

class Device {
 public:
  Device(std::unique_ptr<Card> card, std::span<const Pair> keys);
  /// Throws DeviceError.
  static std::unique_ptr<Device> open(std::size_t ordinal, std::span<const Pair> keys);

  /// Copies values, element by element in warps' order, and what renaming makes of the terms. Call once.
  void add_terms(const NamedTerms& terms, const ValueStore& values);
  /// Makes the programs resident, by number; null for one that is not there. No evaluation may be under way.
  void add_programs(std::span<const TypedProgram* const> programs);
  /// One thread's way to the device, borrowed until it is destroyed.
  std::unique_ptr<DeviceLane> lane();

  std::string name() const { return card_->name(); }
  DeviceCounts counts() const;

 private:
  friend class DeviceLane;
  /// One of a lane's two batches: while one is evaluated the other is filled.
  struct Slot {
    Slot(Card& card, const Device& device);
    OrbitBatch batch;
    PackedBatch packed;
    Card::Memory upload, download;  // pinned
    Card::Memory arena;             // one for all that a batch needs on the card
    Card::Memory scratch;
    std::unique_ptr<CardQueue> queue;
    bool under_way = false;
  };
  using Slots = std::array<std::unique_ptr<Slot>, 2>;

  template <class T>
  const T* resident(std::span<const T> values);
  OrbitView view() const;

  std::unique_ptr<Card> card_;
  BatchLimits limits_;
  std::vector<Card::Memory> memory_;
  OrbitView resident_;
  std::vector<TermPlace> places_;
  std::vector<NodeProgram> programs_;  // by number, their arrays on the card
  mutable std::mutex mutex_;           // guards what follows
  std::vector<Slots> free_;
  DeviceCounts counts_;
};

class DeviceLane {
 public:
  explicit DeviceLane(Device& device);
  ~DeviceLane();
  DeviceLane(const DeviceLane&) = delete;
  DeviceLane& operator=(const DeviceLane&) = delete;

  /// The slot to fill: 0 or 1, in turn. It must not be under way.
  std::size_t slot() const { return slot_; }
  OrbitBatch& batch() { return slots_[slot_]->batch; }
  /// As OrbitBatch::fits(). Throws DeviceError if it does not fit an empty batch either.
  bool fits(const OrbitBatch::More& more);
  /// Sends the batch; the other slot is to be filled next.
  void submit();
  bool is_under_way(std::size_t slot) const { return slots_[slot]->under_way; }
  /// Waits for a slot's minima, by row and output; they stay until its batch is filled again.
  std::span<const OrbitMinimum> collect(std::size_t slot);

 private:
  void run(Device::Slot& slot);
  void note_time(const runtime::Stopwatch& watch);

  Device& device_;
  Device::Slots slots_;
  std::size_t slot_ = 0;
  DeviceCounts counts_;
};

/// A program as run_node takes it, its arrays being `view`'s.
NodeProgram node_program(const TypedProgram& typed, const ProgramView& view);

}  // namespace rulemill::execute
