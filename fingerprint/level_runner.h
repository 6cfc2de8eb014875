// Drives an enumerator: compiles what a level needs, evaluates it on all threads, and completes every level below the
// last one. Levels up to the last but two are held under all names, with their values, since later levels take their
// terms as arguments; of the last but one, only canonical terms; of the last, nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "algebra/library/library.h"
#include "enumerate/enumerator.h"
#include "execute/device.h"
#include "execute/evaluator.h"
#include "fingerprint/row_range.h"
#include "runtime/communicator.h"
#include "runtime/workers.h"

namespace rulemill::fingerprint {

inline constexpr const char* fingerprint_stage = "fingerprint";
/// Rows that a thread takes at a time while completing a level.
inline constexpr std::uint64_t rows_at_once = 1 << 12;

/// Where nodes are evaluated.
enum class DeviceChoice : std::uint8_t { Auto, Cpu, Emulated };

struct LevelFigures {
  std::uint64_t nodes = 0;       // under all names; of the last level known once it is evaluated
  std::uint64_t terms = 0;       // of these nodes
  std::uint64_t new_values = 0;  // terms that no earlier one equals; for the last level known after the join
  std::uint64_t products = 0;    // multiply-adds in one lane of the field
  std::uint64_t orbits = 0;      // nodes up to renaming
  std::uint64_t rows = 0;        // of the table of terms
};

class EarlierTable;

class LevelRunner {
 public:
  struct Options {
    unsigned threads = 0;
    bool all_terms = false;       // extend every term, not only one of each class
    bool every_renaming = false;  // take no two variables for each other
    execute::InstructionSet instructions = execute::available_instruction_sets().back();
    DeviceChoice device = DeviceChoice::Auto;  // a GPU if there is one
    std::size_t device_ordinal = 0;            // among this node's ranks; modulo its devices
    std::uint64_t memory = 0;                  // bytes that a rank may use; 0: no limit
    /// Instead of one of devices().
    std::function<std::unique_ptr<execute::Card>()> open_card = nullptr;
  };

  LevelRunner(const enumerate::Profile& profile, algebra::Library& library, const Options& options,
              const runtime::Communicator& communicator = runtime::Communicator::self());

  /// Completes levels 1 … last − 1 and begins the last. Call once. Collective: ranks share the evaluation, and every
  /// one of them holds what comes out. Throws Error if the memory allowed is too little.
  void prepare(std::uint32_t last);

  const enumerate::Enumerator& enumerator() const { return enumerator_; }
  const runtime::Workers& workers() const { return workers_; }
  /// By level, from 0 (the variables).
  const std::vector<LevelFigures>& figures() const { return figures_; }
  /// What is known of the orbit of each term in the table.
  const std::vector<OrbitPrint>& prints() const { return prints_; }
  /// By term of the table: the first term of its orbit.
  const std::vector<enumerate::TermId>& orbits() const { return orbits_; }
  /// By node of the table that is not named: how many nodes it stands for.
  const std::vector<std::uint32_t>& images() const { return images_; }
  /// "cpu avx512", or "cuda" and the device's name.
  std::string backend() const;
  std::uint64_t value_bytes() const { return values_.bytes(); }
  bool has_device() const { return device_ != nullptr; }
  /// A device was there, and the CPU had to do its work.
  bool device_failed() const { return device_failed_; }
  /// Zeros without a device.
  execute::DeviceCounts device_counts() const { return device_ ? device_->counts() : execute::DeviceCounts{}; }
  /// Seconds of a step of prepare(), and those of them in loops that ranks share.
  struct StepTime {
    double all = 0, shared = 0;
  };
  /// The levels under all names, the canonical one, and counting the last.
  struct Times {
    StepTime named_levels, canonical_level, counting;
  };
  const Times& times() const { return times_; }

  /// From now on evaluate() takes what the table has.
  void take_from(const EarlierTable* table) { earlier_ = table; }
  /// Evaluates rows [first, last) of the level that was begun, on the calling thread. Any number of threads may call
  /// it. Returns the multiply-adds.
  std::uint64_t evaluate(std::uint64_t first, std::uint64_t last, RowRange& rows) const;

  /// Largest degree, as a polynomial in the variables, of any term of each type; hashed values count as variables.
  /// Zeros over the reals, where degrees bound nothing.
  std::vector<std::uint32_t> degree_bounds() const;

 private:
  void add_variables();
  void compile();
  /// Collective: runs body(i) for each i < count, on one rank each.
  void share(std::size_t count, const std::function<void(std::size_t)>& body, std::size_t at_once = 1) const;
  void warn_of_idle_operators() const;

  // Levels up to the last but two, under all names: named_level.cc.
  struct NamedPart;
  void complete_named(std::uint64_t rows);
  void evaluate_named(std::uint64_t first, std::uint64_t last, NamedPart& part) const;
  void add_named(const NamedPart& part, enumerate::NamedNodes& all);
  /// Every rank's parts, in the order of rows.
  void exchange(std::vector<NamedPart>& parts) const;
  void store_values(enumerate::TermId first_term);
  void evaluate_values(enumerate::TermId first, enumerate::TermId last);
  /// Collective: what others have evaluated of the chunks of terms from `first_term` on; `mine`: 1 by chunk of this
  /// rank's.
  void exchange_values(enumerate::TermId first_term, const std::vector<std::uint64_t>& mine);
  void swap_values(enumerate::TermId first_term, const std::vector<std::uint64_t>& ours,
                   const runtime::Communicator& communicator);
  /// Makes room for groups of terms that are new in the table.
  void grow_values();

  // The last level but one, canonical terms alone: canonical_level.cc.
  void complete_canonical(std::uint64_t rows);
  /// Evaluates this rank's share; returns its multiply-adds.
  std::uint64_t evaluate_canonical(std::uint64_t count, RowRange& rows, enumerate::CanonicalNodes& nodes) const;
  /// What the ranks have found of their parts of a level's rows; every rank gets all.
  void exchange(RowRange& rows, enumerate::CanonicalNodes& nodes) const;

  void check_memory(std::uint64_t more, const char* what) const;
  /// If there is one; it takes the last level.
  void open_device();
  /// The device has failed: the CPU does its work.
  void leave_device(const execute::DeviceError& error);
  /// Shows the orbits of rows [first, last), in order. With `rows`, what the earlier table has is set there instead.
  std::uint64_t evaluate(std::uint64_t first, std::uint64_t last, const OrbitEvaluator::Receiver& receiver,
                         RowRange* rows = nullptr) const;
  std::uint64_t evaluate_on_device(std::uint64_t first, std::uint64_t last, RowRange& rows) const;
  /// Shows the nodes of rows [first, last) to the sink, but for what the earlier table has.
  void walk(std::uint64_t first, std::uint64_t last, enumerate::NodeSink& sink, RowRange* rows) const;

  const enumerate::Profile& profile_;
  Options options_;
  runtime::Communicator communicator_;
  enumerate::Enumerator enumerator_;
  runtime::Workers workers_;
  execute::Executor executor_;
  execute::Ground ground_;
  std::vector<std::unique_ptr<execute::TypedProgram>> owned_;
  std::vector<const execute::TypedProgram*> programs_;  // by signature
  execute::ValueStore values_;
  /// What tells a class: the fingerprint covers the type.
  struct FingerprintHash {
    std::size_t operator()(const execute::Fingerprint& f) const { return f.low; }
  };
  std::unordered_map<execute::Fingerprint, enumerate::TermId, FingerprintHash> classes_;  // of named terms: their first
  std::vector<OrbitPrint> prints_;
  std::vector<enumerate::TermId> orbits_;
  std::vector<std::uint32_t> images_;
  std::vector<LevelFigures> figures_;
  Times times_;
  mutable double sharing_ = 0;  // seconds in share() since the last step ended
  const EarlierTable* earlier_ = nullptr;
  std::unique_ptr<execute::Device> device_;
  mutable std::atomic<bool> device_failed_{false};
};

}  // namespace rulemill::fingerprint
