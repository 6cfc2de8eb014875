// Drives an enumerator: compiles what a level needs, evaluates it on all threads, and completes every level below the
// last one, whose values later levels take as arguments.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "enumerate/enumerator.h"
#include "fingerprint/device.h"
#include "fingerprint/evaluator.h"
#include "fingerprint/workers.h"

namespace rulemill::fingerprint {

/// Where the last level is evaluated.
enum class DeviceChoice : std::uint8_t { Auto, Cpu };

struct LevelFigures {
  std::uint64_t nodes = 0;
  std::uint64_t terms = 0;
  std::uint64_t new_values = 0;  // terms that no earlier one equals; for the last level known after the join
  std::uint64_t products = 0;    // multiply-adds in one lane of the field
};

class LevelRunner {
 public:
  struct Options {
    unsigned threads = 0;
    bool all_terms = false;  // extend every term, not only one of each class
    InstructionSet instructions = available_instruction_sets().back();
    DeviceChoice device = DeviceChoice::Auto;  // a GPU if there is one
    std::size_t device_ordinal = 0;            // modulo the number of devices
  };

  LevelRunner(const enumerate::Profile& profile, algebra::Library& library, const Options& options);

  /// Completes levels 1 … last − 1 and begins the last. Call once.
  void prepare(std::uint32_t last);

  const enumerate::Enumerator& enumerator() const { return enumerator_; }
  const Workers& workers() const { return workers_; }
  /// By level, from 0 (the variables). The last has no new_values.
  const std::vector<LevelFigures>& figures() const { return figures_; }
  /// Fingerprints of the terms in the table.
  const std::vector<Fingerprint>& fingerprints() const { return fingerprints_; }
  /// "cpu avx512", or "cuda" and the device's name.
  std::string backend() const;
  std::uint64_t value_bytes() const { return values_.bytes(); }

  /// Evaluates rows [first, last) of the level that was begun, on the calling thread. Any number of threads may call
  /// it. Returns the multiply-adds.
  std::uint64_t evaluate(std::uint64_t first, std::uint64_t last, RowRange& rows) const;

  /// Largest degree, as a polynomial in the variables, of any term of each type; hashed values count as variables.
  std::vector<std::uint32_t> degree_bounds() const;

 private:
  void add_variables();
  void compile();
  void complete(std::uint64_t rows);
  void open_device();

  const enumerate::Profile& profile_;
  const algebra::Library& library_;
  Options options_;
  enumerate::Enumerator enumerator_;
  Workers workers_;
  Executor executor_;
  std::vector<FunctionKey> functions_;
  std::vector<std::unique_ptr<CompiledSignature>> owned_;
  std::vector<const CompiledSignature*> compiled_;  // by signature
  ValueStore values_;
  std::vector<Fingerprint> fingerprints_;
  std::vector<LevelFigures> figures_;
  std::unique_ptr<Device> device_;
  mutable std::atomic<bool> device_failed_{false};
};

}  // namespace rulemill::fingerprint
