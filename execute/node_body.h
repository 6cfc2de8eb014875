// What one GPU thread does: evaluates one node and hashes its outputs, through the same body as the CPU's kernels. Host
// code runs it, too: the tests compare it with the executor. No array is a thread's own, so that none needs a stack.
#pragma once

#include "execute/fingerprint.h"
#include "execute/kernel_body.h"
#include "execute/single_lane.h"
#include "execute/wave.h"

namespace rulemill::execute {

inline constexpr std::uint32_t most_outputs = 8;
/// Threads of a warp read an element of their tensors in one sweep: it is at [e · warp_width + thread].
inline constexpr std::uint32_t warp_width = 32;

/// A program as a node's evaluation needs it.
struct NodeProgram {
  ProgramView view;
  std::uint32_t output_count = 0;
  std::uint32_t outputs[most_outputs] = {};  // operands
  std::uint32_t output_elements[most_outputs] = {};
  std::uint64_t type_keys[most_outputs] = {};
  std::uint32_t input_elements[most_inputs] = {};
  std::uint32_t stored_steps = 0;               // bit s: a later step reads step s
  std::uint32_t scratch_elements = 0;           // of the stored steps
  std::uint32_t scratch_at[max_operands] = {};  // by stored step: elements of those before
};

/// Where one thread finds a node's tensors.
struct ThreadOperands {
  const NodeProgram& program;
  const Pair* const* inputs;  // argument i is at inputs[i · between]
  std::uint32_t between;
  const std::uint32_t* strides;  // by argument: from one of its elements to the next
  Pair* scratch;                 // elements warp_width apart; null if nothing is stored
  Pair* keep = nullptr;          // where the values of output `kept` go, unless null; likewise apart
  std::uint32_t kept = 0;

  RM_HD bool is_kept(std::uint32_t operand) const { return keep != nullptr && program.outputs[kept] == operand; }
  /// Where a step's tensor is computed; null if nobody reads it.
  RM_HD Pair* target(std::uint32_t step) const {
    if (is_kept(program.view.inputs + step)) return keep;
    return program.stored_steps >> step & 1 ? scratch + std::size_t{program.scratch_at[step]} * warp_width : nullptr;
  }
  RM_HD const Pair* at(std::uint32_t operand) const {
    if (operand < program.view.inputs) return inputs[std::size_t{operand} * between];
    const std::uint32_t step = operand - program.view.inputs;
    return step == program.view.step_count ? program.view.coefficients : target(step);
  }
  RM_HD std::uint32_t stride(std::uint32_t operand) const {
    if (operand < program.view.inputs) return strides[operand];
    return operand == program.view.inputs + program.view.step_count ? block_width : warp_width;
  }
};

/// Output o's fingerprint goes to prints[o · between_prints].
RM_HD inline void run_node(const ThreadOperands& operands, const Pair* keys, Fingerprint* prints,
                           std::size_t between_prints) {
  const NodeProgram& program = operands.program;
  for (std::uint32_t s = 0; s < program.view.step_count; ++s) {
    const TensorHash<SingleLane> hash =
        run_step<SingleLane>(program.view, program.view.steps[s], operands, 0, operands.target(s), warp_width, keys);
    for (std::uint32_t o = 0; o < program.output_count; ++o) {
      if (program.outputs[o] != program.view.inputs + s) continue;
      prints[o * between_prints] = finish_hash(hash.first.v, hash.second.v, program.type_keys[o]);
    }
  }
  for (std::uint32_t o = 0; o < program.output_count; ++o) {
    const std::uint32_t operand = program.outputs[o];
    if (operand >= program.view.inputs) continue;
    const Pair* values = operands.at(operand);
    const std::uint32_t stride = operands.stride(operand);
    const auto hash = hash_tensor<SingleLane>(values, stride, program.output_elements[o], 0, keys);
    prints[o * between_prints] = finish_hash(hash.first.v, hash.second.v, program.type_keys[o]);
    if (operands.keep == nullptr || operands.kept != o) continue;
    for (std::size_t e = 0; e < program.output_elements[o]; ++e) operands.keep[e * warp_width] = values[e * stride];
  }
}

}  // namespace rulemill::execute
