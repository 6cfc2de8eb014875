// Executes programs on blocks of eight tensors: one call evaluates and fingerprints eight nodes of one program. The
// instruction set is selected at run time; all compute the same bits. Programs over the reals run in real_kernel.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "execute/program/program.h"
#include "execute/values/fingerprint.h"

namespace rulemill::execute {

/// Returns the keys of the hash over values, for tensors of up to `elements` elements.
std::vector<FieldPair> hash_keys(std::uint64_t seed, std::size_t elements);

enum class InstructionSet : std::uint8_t { Scalar, Avx2, Avx512 };
std::string to_string(InstructionSet set);
/// Returns those that this CPU supports, the fastest last.
std::vector<InstructionSet> available_instruction_sets();

/// The hash keys and the instruction set. Immutable, shared by all threads.
class Executor {
 public:
  Executor(std::uint64_t seed, std::size_t max_elements, InstructionSet set = available_instruction_sets().back(),
           algebra::Domain domain = algebra::Domain::Field);

  /// Runs a program. `inputs[i]` is the block of argument i; `scratch` has space for scratch_pairs(program) and
  /// receives the tensors of the steps. fingerprints[o · block_width + l] is output o of lane l.
  void run(const Program& program, const FieldPair* const* inputs, FieldPair* scratch,
           std::span<const std::uint64_t> type_keys, Fingerprint* fingerprints) const;
  /// Fingerprints eight tensors that no program computed; `elements` counts stored elements.
  void hash(const FieldPair* block, std::uint32_t elements, std::uint64_t type, Fingerprint* fingerprints) const;

  static std::size_t scratch_pairs(const Program& program);
  /// Returns the block of output o of the last run; if the output is an input, that input's block.
  static const FieldPair* output(const Program& program, const FieldPair* const* inputs, const FieldPair* scratch,
                                 std::uint32_t o);

  InstructionSet instruction_set() const { return set_; }
  algebra::Domain domain() const { return domain_; }
  std::span<const FieldPair> keys() const { return keys_; }

 private:
  std::vector<FieldPair> keys_;
  InstructionSet set_;  // for the field
  algebra::Domain domain_;
};

}  // namespace rulemill::execute
