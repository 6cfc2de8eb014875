#include "execute/device.h"

#include <algorithm>

#include "execute/node_body.h"

namespace rulemill::execute {

NodeProgram node_program(const TypedProgram& typed, const ProgramView& view) {
  const Program& program = typed.program;
  RM_CHECK(program.outputs.size() <= most_outputs && program.steps.size() <= 32, "a program is too long for a device");
  NodeProgram node;
  node.view = view;
  node.output_count = static_cast<std::uint32_t>(program.outputs.size());
  std::ranges::copy(program.outputs, node.outputs);
  std::ranges::copy(program.output_elements, node.output_elements);
  std::ranges::copy(typed.type_keys, node.type_keys);
  for (const Factors& factors : program.factors) {
    for (const std::uint32_t factor : {factors.left, factors.right}) {
      const std::uint32_t operand = factor >> operand_shift;
      if (operand >= program.inputs && operand < program.coefficient_operand)
        node.stored_steps |= 1u << (operand - program.inputs);
    }
  }
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    if (node.stored_steps >> s & 1) node.scratch_elements += program.steps[s].elements;
  }
  return node;
}

#ifndef RULEMILL_HAVE_CUDA
std::vector<DeviceInfo> devices() { return {}; }
std::unique_ptr<Device> Device::open(std::size_t, std::span<const Pair>) {
  throw DeviceError("device", "this build has no CUDA");
}
#endif

}  // namespace rulemill::execute
