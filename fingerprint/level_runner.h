// Drives an enumerator: compiles the programs of a level, evaluates its nodes on all threads, and completes every level
// below the last. Levels up to last − 2 are expanded: all renamings of their terms are stored with their values,
// because later levels take them as arguments. Level last − 1 keeps its canonical terms only, and the last level
// nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "algebra/library/library.h"
#include "enumerate/levels/enumerator.h"
#include "execute/cpu/batch_evaluator.h"
#include "execute/gpu/gpu_evaluator.h"
#include "fingerprint/orbit_evaluator.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/thread_pool.h"
#include "runtime/text/bytes.h"

namespace rulemill::fingerprint {

/// Rows [first, first + size) of a level. A row that has not been set has no signature.
struct EvaluatedRows {
  std::uint64_t first = 0;
  std::vector<enumerate::SignatureId> signatures;
  std::vector<enumerate::TermId> arguments;  // arity_stride per row
  std::vector<OrbitFingerprint> fingerprints;
  std::vector<std::uint32_t> orbit_sizes;  // nodes that the row represents

  void resize(std::uint64_t first_row, std::uint64_t rows, std::uint32_t arity_stride);
  /// Sets the row of one output of the orbit's node.
  void set(const Orbit& orbit, std::uint32_t output);
  void set(std::uint64_t row, enumerate::SignatureId signature, std::span<const enumerate::TermId> terms,
           std::uint32_t orbit_size, const OrbitFingerprint& fingerprint);

  /// Appends the row with index `at` to the message.
  void append(std::size_t at, runtime::Bytes& bytes) const;
  /// Removes a row from the front of the message and sets it; returns its index.
  std::size_t take(runtime::ByteView& bytes);

 private:
  std::size_t stride() const { return arguments.size() / signatures.size(); }
};

inline constexpr const char* fingerprint_stage = "fingerprint";
/// Rows that a thread evaluates at a time while completing a level.
inline constexpr std::uint64_t rows_per_batch = 1 << 12;

/// Where nodes are evaluated. Gpu: nowhere else; a missing or failing GPU is an error.
enum class DeviceChoice : std::uint8_t { Auto, Cpu, Gpu, Emulated };

struct LevelStatistics {
  std::uint64_t nodes = 0;        // all renamings; of the last level 0 until it is evaluated
  std::uint64_t terms = 0;        // outputs of these nodes
  std::uint64_t new_classes = 0;  // terms unequal to every earlier term; of the last level 0 until the join
  std::uint64_t products = 0;     // multiply-adds in one lane of the field
  std::uint64_t orbits = 0;       // nodes up to renaming
  std::uint64_t rows = 0;         // of the term table
};

/// A source of rows that need not be evaluated.
class RowSource {
 public:
  virtual ~RowSource() = default;
  /// Returns a sink that copies known rows to `rows` and passes the nodes of the others to `next`. For one thread.
  virtual std::unique_ptr<enumerate::NodeSink> reuse_rows(enumerate::NodeSink& next, EvaluatedRows& rows) const = 0;
};

class LevelRunner {
 public:
  struct Options {
    unsigned threads = 0;
    bool all_terms = false;    // extend every term, not only one of each class
    bool no_symmetry = false;  // no two variables are interchangeable
    execute::InstructionSet instructions = execute::available_instruction_sets().back();
    DeviceChoice device = DeviceChoice::Auto;  // a GPU if there is one
    std::size_t gpu_index = 0;                 // modulo the number of GPUs of this machine
    std::uint64_t memory = 0;                  // bytes that a rank may use; 0: no limit
    /// Replaces the GPUs of this machine.
    std::function<std::unique_ptr<execute::GpuBackend>()> open_gpu_backend = nullptr;
  };

  LevelRunner(const enumerate::Profile& profile, algebra::Library& library, const Options& options,
              const runtime::Communicator& communicator = runtime::Communicator::self());

  /// Completes levels 1 … last − 1 and begins the last. Call once. Collective: ranks share the evaluation, and each
  /// holds all results. Throws Error if the memory limit is too small.
  void prepare(std::uint32_t last);

  const enumerate::Enumerator& enumerator() const { return enumerator_; }
  const runtime::ThreadPool& thread_pool() const { return thread_pool_; }
  /// By level, from 0 (the variables).
  const std::vector<LevelStatistics>& statistics() const { return statistics_; }
  /// By term of the table: the fingerprint of its orbit.
  const std::vector<OrbitFingerprint>& fingerprints() const { return fingerprints_; }
  /// By term of the table: the first term of its orbit.
  const std::vector<enumerate::TermId>& orbits() const { return orbits_; }
  /// By node of the table: the number of nodes in its orbit; 0 for nodes of expanded levels.
  const std::vector<std::uint32_t>& orbit_sizes() const { return orbit_sizes_; }
  /// "cpu avx512", or "cuda" and the device's name.
  std::string backend() const;
  std::uint64_t value_bytes() const { return values_.bytes(); }
  bool has_gpu() const { return gpu_ != nullptr; }
  /// True if a GPU failed and the CPU took over.
  bool gpu_failed() const { return gpu_failed_; }
  /// Zeros without a GPU.
  execute::GpuCounters gpu_counters() const { return gpu_ ? gpu_->counters() : execute::GpuCounters{}; }
  /// Seconds of a step of prepare(), and those of them in loops distributed over the ranks.
  struct StepTime {
    double total = 0, distributed = 0;
  };
  /// Completing the expanded levels and the canonical one, and counting the last.
  struct Times {
    StepTime expanded_levels, canonical_level, counting;
  };
  const Times& times() const { return times_; }

  /// Makes evaluate() copy the rows that the source has. Null: none.
  void reuse_rows_from(const RowSource* source) { row_source_ = source; }
  /// Evaluates rows [first, last) of the last level on the calling thread. Thread-safe. Returns the multiply-adds.
  std::uint64_t evaluate(std::uint64_t first, std::uint64_t last, EvaluatedRows& rows) const;

  /// Returns, by type, the largest degree of its terms as polynomials in the variables; hashed values count as
  /// variables. Zeros over the reals, where degrees bound nothing.
  std::vector<std::uint32_t> degree_bounds() const;

 private:
  void add_variables();
  void compile();
  /// Collective: runs body(i) for each i < count, each on one rank.
  void distribute(std::size_t count, const std::function<void(std::size_t)>& body,
                  std::size_t items_per_batch = 1) const;
  void warn_about_unused_operators() const;

  // Levels up to last − 2, expanded: expanded_level.cc.
  struct ExpandedChunk;
  void complete_expanded_level(std::uint64_t rows);
  void evaluate_expanded(std::uint64_t first, std::uint64_t last, ExpandedChunk& chunk) const;
  void add_expanded(const ExpandedChunk& chunk, enumerate::ExpandedNodes& all);
  /// Collective: gives every rank the chunks of all ranks, in the order of rows.
  void exchange(std::vector<ExpandedChunk>& chunks) const;
  void store_values(enumerate::TermId first_term);
  void evaluate_values(enumerate::TermId first, enumerate::TermId last);
  /// Collective: receives the values of terms from `first_term` on that other ranks evaluated. `evaluated`: by chunk of
  /// terms, 1 if this rank evaluated it.
  void exchange_values(enumerate::TermId first_term, const std::vector<std::uint64_t>& evaluated);
  void all_gather_values(enumerate::TermId first_term, const std::vector<std::uint64_t>& evaluated,
                         const runtime::Communicator& communicator);
  /// Allocates values for the groups of terms that are new in the table.
  void add_value_groups();

  // Level last − 1, canonical terms only: canonical_level.cc.
  void complete_canonical_level(std::uint64_t rows);
  /// Collective: evaluates this rank's share of the rows; returns its multiply-adds.
  std::uint64_t evaluate_canonical(std::uint64_t count, EvaluatedRows& rows, enumerate::CanonicalNodes& nodes) const;
  /// Collective: gives every rank the rows that the others evaluated.
  void exchange(EvaluatedRows& rows, enumerate::CanonicalNodes& nodes) const;

  void check_memory(std::uint64_t more, const char* what) const;
  /// Opens a GPU for the last level, if there is one.
  void open_gpu();
  /// Returns null without a GPU.
  std::unique_ptr<execute::GpuEvaluator> open_gpu_evaluator() const;
  /// Rethrows the error if a GPU is required.
  void fall_back_to_cpu(const execute::GpuError& error) const;
  /// Passes the orbits of rows [first, last) to `receiver`, in order. With `rows`, those of the row source are copied
  /// there instead.
  std::uint64_t evaluate(std::uint64_t first, std::uint64_t last, const OrbitEvaluator::Receiver& receiver,
                         EvaluatedRows* rows = nullptr) const;
  std::uint64_t evaluate_on_gpu(std::uint64_t first, std::uint64_t last, EvaluatedRows& rows) const;
  /// Passes the nodes of rows [first, last) to the sink, except those of the row source.
  void walk(std::uint64_t first, std::uint64_t last, enumerate::NodeSink& sink, EvaluatedRows* rows) const;

  const enumerate::Profile& profile_;
  Options options_;
  runtime::Communicator communicator_;
  enumerate::Enumerator enumerator_;
  runtime::ThreadPool thread_pool_;
  execute::Executor executor_;
  execute::EvaluationContext context_;
  std::vector<std::unique_ptr<execute::TypedProgram>> owned_;
  std::vector<const execute::TypedProgram*> programs_;  // by signature
  execute::ValueStore values_;
  struct FingerprintHash {
    std::size_t operator()(const execute::Fingerprint& f) const { return f.low; }
  };
  /// By fingerprint, which covers the type: the first term of the class among the expanded terms.
  std::unordered_map<execute::Fingerprint, enumerate::TermId, FingerprintHash> classes_;
  std::vector<OrbitFingerprint> fingerprints_;
  std::vector<enumerate::TermId> orbits_;
  std::vector<std::uint32_t> orbit_sizes_;
  std::vector<LevelStatistics> statistics_;
  Times times_;
  mutable double distributed_seconds_ = 0;  // in distribute() since the last step ended
  const RowSource* row_source_ = nullptr;
  std::unique_ptr<execute::GpuEvaluator> gpu_;
  mutable std::atomic<bool> gpu_failed_{false};
};

}  // namespace rulemill::fingerprint
