// The two entry points of a kernel, generic over V; each kernel_*.cc instantiates them for its instruction set.
#pragma once

#include "execute/kernels/kernel_body.h"
#include "execute/kernels/kernels.h"

namespace rulemill::execute {

template <class V>
void run_block(const ProgramView& program, const FieldPair* const* operands, const FieldPair* keys,
               std::uint64_t* hashes) {
  for (std::uint32_t lane = 0; lane < block_width; lane += V::width) {
    for (std::uint32_t s = 0; s < program.step_count; ++s) {
      // Later steps read a step's tensor through the pointer that it is written to.
      auto* out = const_cast<FieldPair*>(operands[program.inputs + s]);
      const TensorHash<V> hash =
          run_step<V>(program, program.steps[s], BlockOperands{operands}, lane, out, block_width, keys);
      hash.first.store(hashes + (2 * s) * block_width + lane);
      hash.second.store(hashes + (2 * s + 1) * block_width + lane);
    }
  }
}

template <class V>
void hash_block(const FieldPair* block, std::uint32_t elements, const FieldPair* keys, std::uint64_t* hashes) {
  for (std::uint32_t lane = 0; lane < block_width; lane += V::width) {
    const TensorHash<V> hash = hash_tensor<V>(block, block_width, elements, lane, keys);
    hash.first.store(hashes + lane);
    hash.second.store(hashes + block_width + lane);
  }
}

}  // namespace rulemill::execute
