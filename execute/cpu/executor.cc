#include "execute/cpu/executor.h"

#include <array>

#include "execute/kernels/kernels.h"
#include "execute/kernels/real_kernel.h"
#include "execute/values/real_values.h"
#include "runtime/text/error.h"

namespace rulemill::execute {
namespace {

constexpr std::uint64_t key_stream = 0x68617368206b6579u;

Kernels kernels_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::Avx512:
      return avx512_kernels();
    case InstructionSet::Avx2:
      return avx2_kernels();
    case InstructionSet::Scalar:
      break;
  }
  return scalar_kernels();
}

}  // namespace

std::vector<FieldPair> hash_keys(std::uint64_t seed, std::size_t elements) {
  // Key halves are below 2^31, so that the sum with half a value fits 32 bits.
  std::vector<FieldPair> keys(2 * elements);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = random_word(seed ^ key_stream, i) & pair_of(prime, prime);
  return keys;
}

std::string to_string(InstructionSet set) {
  switch (set) {
    case InstructionSet::Scalar:
      return "scalar";
    case InstructionSet::Avx2:
      return "avx2";
    case InstructionSet::Avx512:
      return "avx512";
  }
  return "";
}

std::vector<InstructionSet> available_instruction_sets() {
  std::vector<InstructionSet> sets{InstructionSet::Scalar};
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) sets.push_back(InstructionSet::Avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw")) {
    sets.push_back(InstructionSet::Avx512);
  }
#endif
  return sets;
}

Executor::Executor(std::uint64_t seed, std::size_t max_elements, InstructionSet set, algebra::Domain domain)
    : keys_(hash_keys(seed, max_elements * points_per_element(domain))), set_(set), domain_(domain) {}

std::size_t Executor::scratch_pairs(const Program& program) {
  std::size_t elements = 0;
  for (const ProgramStep& step : program.steps) elements += step.elements;
  return elements * points_per_element(program.domain) * block_width;
}

const FieldPair* Executor::output(const Program& program, const FieldPair* const* inputs, const FieldPair* scratch,
                                  std::uint32_t o) {
  const std::uint32_t operand = program.outputs[o];
  if (operand < program.inputs) return inputs[operand];
  const std::size_t width = points_per_element(program.domain) * block_width;
  for (std::uint32_t s = 0; s < operand - program.inputs; ++s) scratch += program.steps[s].elements * width;
  return scratch;
}

void Executor::run(const Program& program, const FieldPair* const* inputs, FieldPair* scratch,
                   std::span<const std::uint64_t> type_keys, Fingerprint* fingerprints) const {
  RM_CHECK(program.domain == domain_, "the program and the executor have the same domain");
  const std::uint32_t points = points_per_element(domain_);
  std::array<const FieldPair*, max_operands + 1> operands;
  for (std::uint32_t i = 0; i < program.inputs; ++i) operands[i] = inputs[i];
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const std::size_t stored = std::size_t{program.steps[s].elements} * points;
    RM_CHECK(stored * 2 <= keys_.size(), "a tensor has more elements than the profile allows");
    operands[program.inputs + s] = scratch;
    scratch += stored * block_width;
  }
  operands[program.coefficient_operand] = program.coefficients.data();

  alignas(64) std::array<std::uint64_t, 2 * max_operands * block_width> hashes;
  if (domain_ == algebra::Domain::Reals)
    run_reals(program, operands.data(), keys_.data(), hashes.data());
  else
    kernels_of(set_).run(program.view(), operands.data(), keys_.data(), hashes.data());
  for (std::size_t o = 0; o < program.outputs.size(); ++o) {
    const std::uint32_t operand = program.outputs[o];
    if (operand < program.inputs) {
      hash(inputs[operand], program.output_elements[o], type_keys[o], fingerprints + o * block_width);
      continue;
    }
    const std::uint64_t* words = hashes.data() + 2 * std::size_t{operand - program.inputs} * block_width;
    for (std::uint32_t l = 0; l < block_width; ++l) {
      fingerprints[o * block_width + l] = finish_hash(words[l], words[block_width + l], type_keys[o]);
    }
  }
}

void Executor::hash(const FieldPair* block, std::uint32_t elements, std::uint64_t type,
                    Fingerprint* fingerprints) const {
  RM_CHECK(std::size_t{elements} * 2 <= keys_.size(), "a tensor has more elements than the profile allows");
  alignas(64) std::array<std::uint64_t, 2 * block_width> hashes;
  if (domain_ == algebra::Domain::Reals)
    hash_reals(block, elements, keys_.data(), hashes.data());
  else
    kernels_of(set_).hash(block, elements, keys_.data(), hashes.data());
  for (std::uint32_t l = 0; l < block_width; ++l) {
    fingerprints[l] = finish_hash(hashes[l], hashes[block_width + l], type);
  }
}

}  // namespace rulemill::execute
