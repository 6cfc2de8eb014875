// Fingerprints on a GPU. Values, programs and renamings of terms are resident; rows are sent in batches, and one thread
// evaluates one item. It compiles the CPU's kernel body, so that the results are bit-identical.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "execute/gpu/gpu_backend.h"
#include "execute/program/program.h"
#include "execute/values/value_store.h"
#include "runtime/process/stopwatch.h"

namespace rulemill::execute {

struct GpuInfo {
  std::string name;
  std::uint64_t memory_bytes = 0;
};
/// Whether this build can use GPUs.
bool has_cuda();
/// The GPUs that this build can use; empty without CUDA or without a GPU.
std::vector<GpuInfo> available_gpus();
/// Why an installed driver offers no GPU to this build (it is too old, …); empty without one, or if GPUs can be used.
std::string gpu_problem();

/// Counters of GPU work and transfers, for the cost model.
struct GpuCounters {
  std::uint64_t resident_bytes = 0, uploaded_bytes = 0, downloaded_bytes = 0;
  std::uint64_t batches = 0, tiles = 0, nodes = 0, transient = 0, transient_items = 0, words = 0, renaming_words = 0,
                minima = 0;
  std::uint64_t items = 0;                 // of rows
  std::uint64_t operands = 0, staged = 0;  // of items, including transient ones; those of them in shared memory
  std::uint64_t arguments = 0;             // of nodes, including transient terms
  std::uint64_t arena_bytes = 0;           // of transient terms
  std::uint64_t microseconds = 0;          // spent in stream operations, including waiting
  GpuCounters& operator+=(const GpuCounters& other);
};

/// The terms of which all renamings are stored.
struct ExpandedTerms {
  static constexpr std::uint32_t no_group = 0xffffffffu;
  std::vector<std::uint32_t> groups, slots;  // by term: position in the value store; no_group: no values
  std::vector<std::uint32_t> swapped;        // by swap of two variables, then term: the renamed term
  bool all_terms = false;                    // terms of equal value are distinct
};

class GpuBatchQueue;

class GpuEvaluator {
 public:
  /// `queues`: the number of batch queues, including those of other processes, that share the GPU's memory.
  GpuEvaluator(std::unique_ptr<GpuBackend> backend, std::span<const FieldPair> keys, std::size_t queues = 1);
  /// Throws GpuError.
  static std::unique_ptr<GpuEvaluator> open(std::size_t ordinal, std::span<const FieldPair> keys, std::size_t queues);

  /// Copies the values in warp order, and the renamings of the terms, to the GPU. Call once.
  void add_terms(const ExpandedTerms& terms, const ValueStore& values);
  /// Copies the programs to the GPU, by number; null entries are skipped. Then divides the free memory among the
  /// queues. No batch may be in flight. Call after add_terms(). Throws GpuError, also if too little memory is free.
  void add_programs(std::span<const TypedProgram* const> programs);
  /// Creates the queue of one thread. Its buffers return to the evaluator when it is destroyed.
  std::unique_ptr<GpuBatchQueue> create_batch_queue();

  std::string name() const { return backend_->name(); }
  GpuCounters counters() const;

 private:
  friend class GpuBatchQueue;
  /// One of a queue's two batches: one is filled while the other is evaluated.
  struct BatchSlot {
    BatchSlot(GpuBackend& backend, const GpuEvaluator& evaluator);
    OrbitBatch batch;
    PackedBatch packed;
    GpuBackend::Memory upload, download;  // pinned
    GpuBackend::Memory arena;             // GPU memory of the batch
    GpuBackend::Memory scratch;
    std::unique_ptr<GpuStream> stream;
    bool in_flight = false;
  };
  using BatchSlots = std::array<std::unique_ptr<BatchSlot>, 2>;

  template <class T>
  const T* resident(std::span<const T> values);
  std::uint64_t scratch_bytes() const;
  /// Lowers the limits so that two batches of each queue fit into the free memory.
  void fit_to_memory();

  std::unique_ptr<GpuBackend> backend_;
  std::size_t queues_;
  BatchLimits limits_;
  std::vector<GpuBackend::Memory> memory_;
  OrbitView resident_;
  std::vector<TermLocation> term_locations_;
  std::vector<NodeProgram> programs_;  // by number; their arrays are on the GPU
  mutable std::mutex mutex_;           // guards the members below
  std::vector<BatchSlots> free_slots_;
  GpuCounters counters_;
};

class GpuBatchQueue {
 public:
  explicit GpuBatchQueue(GpuEvaluator& evaluator);
  ~GpuBatchQueue();
  GpuBatchQueue(const GpuBatchQueue&) = delete;
  GpuBatchQueue& operator=(const GpuBatchQueue&) = delete;

  /// The slot to fill: 0 and 1 alternate. It must not be in flight.
  std::size_t slot() const { return slot_; }
  OrbitBatch& batch() { return slots_[slot_]->batch; }
  /// As OrbitBatch::fits(). Throws GpuError if it does not fit into an empty batch either.
  bool fits(const OrbitBatch::Growth& growth);
  /// Sends the batch and switches to the other slot.
  void submit();
  bool is_in_flight(std::size_t slot) const { return slots_[slot]->in_flight; }
  /// Waits for a slot's minima, by row and output. They stay valid until its batch is filled again.
  std::span<const OrbitMinimum> collect(std::size_t slot);

 private:
  void run(GpuEvaluator::BatchSlot& slot);
  void add_time(const runtime::Stopwatch& watch);

  GpuEvaluator& evaluator_;
  GpuEvaluator::BatchSlots slots_;
  std::size_t slot_ = 0;
  GpuCounters counters_;
};

/// Converts a program for run_node; `view` points to its arrays.
NodeProgram node_program(const TypedProgram& typed, const ProgramView& view);

}  // namespace rulemill::execute
