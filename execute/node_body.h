// What one GPU thread does: evaluates one node and hashes its outputs, through the same body as the CPU's kernels. Host
// code runs it, too: the tests compare it with the executor.
#pragma once

#include "execute/fingerprint.h"
#include "execute/kernel_body.h"
#include "execute/single_lane.h"

namespace rulemill::execute {

inline constexpr std::uint32_t most_outputs = 8;

/// A program as a node's evaluation needs it.
struct NodeProgram {
  ProgramView view;
  std::uint32_t output_count = 0;
  std::uint32_t outputs[most_outputs] = {};  // operands
  std::uint32_t output_elements[most_outputs] = {};
  std::uint64_t type_keys[most_outputs] = {};
  std::uint32_t stored_steps = 0;      // bit s: a later step reads step s
  std::uint32_t scratch_elements = 0;  // of the stored steps
};

/// inputs[i]: element e of argument i is at [e · block_width]; so it is for the scratch, which may be null if nothing
/// is stored, and for `keep`, where the values of output `keep_output` go unless it is null.
RM_HD inline void run_node(const NodeProgram& program, const Pair* const* inputs, Pair* scratch, const Pair* keys,
                           Fingerprint* fingerprints, Pair* keep = nullptr, std::uint32_t keep_output = 0) {
  const Pair* operands[max_operands + 1];
  TensorHash<SingleLane> hashes[max_operands];
  for (std::uint32_t i = 0; i < program.view.inputs; ++i) operands[i] = inputs[i];
  operands[program.view.inputs + program.view.step_count] = program.view.coefficients;
  for (std::uint32_t s = 0; s < program.view.step_count; ++s) {
    const ProgramStep& step = program.view.steps[s];
    Pair* out = nullptr;
    if (program.stored_steps >> s & 1) {
      out = scratch;
      scratch += std::size_t{step.elements} * block_width;
    }
    // A kept output is computed where it is kept; later steps read it there.
    if (keep != nullptr && program.outputs[keep_output] == program.view.inputs + s) out = keep;
    operands[program.view.inputs + s] = out;
    hashes[s] = run_step<SingleLane>(program.view, step, operands, 0, out, keys);
  }
  if (keep != nullptr && program.outputs[keep_output] < program.view.inputs) {
    const Pair* values = inputs[program.outputs[keep_output]];
    for (std::size_t e = 0; e < program.output_elements[keep_output]; ++e)
      keep[e * block_width] = values[e * block_width];
  }
  for (std::uint32_t o = 0; o < program.output_count; ++o) {
    const std::uint32_t operand = program.outputs[o];
    const TensorHash<SingleLane> hash =
        operand < program.view.inputs ? hash_tensor<SingleLane>(inputs[operand], program.output_elements[o], 0, keys)
                                      : hashes[operand - program.view.inputs];
    fingerprints[o] = finish_hash(hash.first.v, hash.second.v, program.type_keys[o]);
  }
}

}  // namespace rulemill::execute
