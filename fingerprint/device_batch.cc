#include <algorithm>

#include "fingerprint/device.h"
#include "fingerprint/node_body.h"

namespace rulemill::fingerprint {

using enumerate::no_id;
using enumerate::SignatureId;
using enumerate::TermId;

DeviceBatcher::DeviceBatcher(const enumerate::Enumerator& enumerator,
                             std::span<const CompiledSignature* const> compiled, RowRange& rows)
    : enumerator_(enumerator), compiled_(compiled), rows_(rows), counts_(compiled.size(), 0) {}

void DeviceBatcher::block(SignatureId signature, std::span<const TermId> fixed, std::uint32_t open, std::uint32_t group,
                          std::uint32_t block, std::uint8_t lanes, std::uint64_t row) {
  std::array<TermId, enumerate::max_arity> arguments{};
  const std::size_t arity = fixed.size() + (group == no_id ? 0 : 1);
  for (std::uint32_t i = 0, f = 0; i < arity; ++i) {
    if (i != open || group == no_id) arguments[i] = fixed[f++];
  }
  for (std::uint32_t lane = 0; lane < block_width; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    if (group != no_id)
      arguments[open] = enumerator_.terms().groups()[group].members[std::size_t{block} * block_width + lane];
    single(signature, std::span(arguments).first(arity), row);
    row += compiled_[signature]->program.outputs.size();
  }
}

void DeviceBatcher::single(SignatureId signature, std::span<const TermId> arguments, std::uint64_t row) {
  const std::uint32_t stride = enumerator_.arity_stride();
  const Program& program = compiled_[signature]->program;
  for (std::size_t o = 0; o < program.outputs.size(); ++o) {
    const std::uint64_t at = row + o - rows_.first;
    rows_.signatures[at] = signature;
    std::ranges::copy(arguments, rows_.arguments.begin() + static_cast<std::ptrdiff_t>(at * stride));
  }
  nodes_.push_back({signature, static_cast<std::uint32_t>(row - rows_.first)});
  ++counts_[signature];
  products_ += program.products;
}

DeviceBatch DeviceBatcher::batch() const {
  const std::uint32_t stride = enumerator_.arity_stride();
  DeviceBatch batch;
  std::vector<std::uint32_t> next(counts_.size(), 0);
  std::uint32_t first = 0;
  for (SignatureId s = 0; s < counts_.size(); ++s) {
    if (counts_[s] == 0) continue;
    batch.runs.push_back({s, first, counts_[s]});
    next[s] = first;
    first += counts_[s];
  }
  batch.places.resize(nodes_.size());
  batch.arguments.resize(nodes_.size() * stride);
  for (const Node& node : nodes_) {
    const std::uint32_t at = next[node.signature]++;
    batch.places[at] = node.place;
    std::copy_n(rows_.arguments.begin() + static_cast<std::ptrdiff_t>(std::size_t{node.place} * stride), stride,
                batch.arguments.begin() + static_cast<std::ptrdiff_t>(std::size_t{at} * stride));
  }
  return batch;
}

NodeProgram node_program(const CompiledSignature& compiled, const ProgramView& view) {
  const Program& program = compiled.program;
  RM_CHECK(program.outputs.size() <= most_outputs && program.steps.size() <= 32, "a program is too long for a device");
  NodeProgram node;
  node.view = view;
  node.output_count = static_cast<std::uint32_t>(program.outputs.size());
  std::ranges::copy(program.outputs, node.outputs);
  std::ranges::copy(program.output_elements, node.output_elements);
  std::ranges::copy(compiled.type_keys, node.type_keys);
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
std::unique_ptr<Device> Device::open(std::size_t, std::span<const Pair>, std::uint32_t) {
  throw DeviceError("device", "this build has no CUDA");
}
#endif

}  // namespace rulemill::fingerprint
