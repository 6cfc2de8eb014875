// Evaluation of one node by one GPU thread: it hashes the outputs through the CPU's kernel body. Host code runs it,
// too: tests compare it with the executor. It uses no thread-local arrays, so that no stack is needed.
#pragma once

#include "execute/kernels/kernel_body.h"
#include "execute/kernels/single_lane.h"
#include "execute/values/fingerprint.h"

namespace rulemill::execute {

inline constexpr std::uint32_t max_outputs = 8;
/// Threads of a warp read an element of their tensors with one coalesced access: it is at [e · warp_width + thread].
inline constexpr std::uint32_t warp_width = 32;

/// A program in the form that run_node takes.
struct NodeProgram {
  ProgramView view;
  std::uint32_t output_count = 0;
  std::uint32_t outputs[max_outputs] = {};  // operands
  std::uint32_t output_elements[max_outputs] = {};
  std::uint64_t type_keys[max_outputs] = {};
  std::uint32_t input_elements[max_inputs] = {};
  std::uint32_t stored_steps = 0;                    // bit s: a later step reads step s
  std::uint32_t scratch_elements = 0;                // of the stored steps
  std::uint32_t scratch_offsets[max_operands] = {};  // by step: offset of its tensor, in elements
};

/// Addresses of a node's tensors for one thread.
struct ThreadOperands {
  const NodeProgram& program;
  const FieldPair* const* inputs;  // argument i is at inputs[i · pointer_stride]
  std::uint32_t pointer_stride;
  const std::uint32_t* strides;  // by argument: distance of consecutive elements
  FieldPair* scratch;            // elements are warp_width apart; null if no step is stored
  FieldPair* keep = nullptr;     // destination of the values of output `kept_output`, warp_width apart, or null
  std::uint32_t kept_output = 0;

  RM_HD bool is_kept(std::uint32_t operand) const { return keep != nullptr && program.outputs[kept_output] == operand; }
  /// Destination of a step's tensor; null if no later step reads it.
  RM_HD FieldPair* target(std::uint32_t step) const {
    if (is_kept(program.view.inputs + step)) return keep;
    return program.stored_steps >> step & 1 ? scratch + std::size_t{program.scratch_offsets[step]} * warp_width
                                            : nullptr;
  }
  RM_HD const FieldPair* at(std::uint32_t operand) const {
    if (operand < program.view.inputs) return inputs[std::size_t{operand} * pointer_stride];
    const std::uint32_t step = operand - program.view.inputs;
    return step == program.view.step_count ? program.view.coefficients : target(step);
  }
  RM_HD std::uint32_t stride(std::uint32_t operand) const {
    if (operand < program.view.inputs) return strides[operand];
    return operand == program.view.inputs + program.view.step_count ? block_width : warp_width;
  }
};

/// Evaluates the node; writes output o's fingerprint to fingerprints[o · fingerprint_stride].
RM_HD inline void run_node(const ThreadOperands& operands, const FieldPair* keys, Fingerprint* fingerprints,
                           std::size_t fingerprint_stride) {
  const NodeProgram& program = operands.program;
  for (std::uint32_t s = 0; s < program.view.step_count; ++s) {
    const TensorHash<SingleLane> hash =
        run_step<SingleLane>(program.view, program.view.steps[s], operands, 0, operands.target(s), warp_width, keys);
    for (std::uint32_t o = 0; o < program.output_count; ++o) {
      if (program.outputs[o] != program.view.inputs + s) continue;
      fingerprints[o * fingerprint_stride] = finish_hash(hash.first.v, hash.second.v, program.type_keys[o]);
    }
  }
  for (std::uint32_t o = 0; o < program.output_count; ++o) {
    const std::uint32_t operand = program.outputs[o];
    if (operand >= program.view.inputs) continue;
    const FieldPair* values = operands.at(operand);
    const std::uint32_t stride = operands.stride(operand);
    const auto hash = hash_tensor<SingleLane>(values, stride, program.output_elements[o], 0, keys);
    fingerprints[o * fingerprint_stride] = finish_hash(hash.first.v, hash.second.v, program.type_keys[o]);
    if (operands.keep == nullptr || operands.kept_output != o) continue;
    for (std::size_t e = 0; e < program.output_elements[o]; ++e) operands.keep[e * warp_width] = values[e * stride];
  }
}

}  // namespace rulemill::execute
