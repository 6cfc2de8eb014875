// Runs programs on blocks of eight tensors: one call evaluates eight nodes of one program and fingerprints them.
// The instruction set is chosen at run time; every choice gives the same bits. Programs over the reals are run by
// real_kernel.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "execute/fingerprint.h"
#include "execute/program.h"

namespace rulemill::execute {

/// Keys of the hash over values, for tensors of up to `elements` elements.
std::vector<Pair> hash_keys(std::uint64_t seed, std::size_t elements);

enum class InstructionSet : std::uint8_t { Scalar, Avx2, Avx512 };
std::string to_string(InstructionSet set);
/// Those that this CPU has, best last.
std::vector<InstructionSet> available_instruction_sets();

/// What every call shares: the hash keys and the choice of instructions. Immutable, used by all threads.
class Executor {
 public:
  Executor(std::uint64_t seed, std::size_t max_elements, InstructionSet set = available_instruction_sets().back(),
           algebra::Domain domain = algebra::Domain::Field);

  /// `inputs[i]` is the block of argument i; `scratch` has room for scratch_pairs(program); tensors of step s are left
  /// at scratch + step_offset(program, s). hashes[o · block_width + l] is output o of lane l.
  void run(const Program& program, const Pair* const* inputs, Pair* scratch, std::span<const std::uint64_t> type_keys,
           Fingerprint* fingerprints) const;
  /// Fingerprints of eight tensors that no program computed; `elements` as they are stored.
  void hash(const Pair* block, std::uint32_t elements, std::uint64_t type, Fingerprint* fingerprints) const;

  static std::size_t scratch_pairs(const Program& program);
  /// Where output o of the last run lies; an output that is an input lies where that does.
  static const Pair* output(const Program& program, const Pair* const* inputs, const Pair* scratch, std::uint32_t o);

  InstructionSet instruction_set() const { return set_; }
  algebra::Domain domain() const { return domain_; }
  std::span<const Pair> keys() const { return keys_; }

 private:
  std::vector<Pair> keys_;
  InstructionSet set_;  // over the field
  algebra::Domain domain_;
};

}  // namespace rulemill::execute
