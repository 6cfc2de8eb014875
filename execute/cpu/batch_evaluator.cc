#include "execute/cpu/batch_evaluator.h"

namespace rulemill::execute {
namespace {
constexpr std::uint32_t no_index = 0xffffffffu;
}  // namespace

BatchEvaluator::BatchEvaluator(std::span<const TypedProgram* const> programs, const ValueStore& values,
                               const Executor& executor)
    : programs_(programs), values_(values), executor_(executor), pending_index_(programs.size(), no_index) {}

void BatchEvaluator::reserve(std::uint64_t arena_pairs) {
  if (arena_.size() < arena_pairs) arena_ = AlignedPairs(arena_pairs + arena_pairs / 4);
}

const FieldPair* BatchEvaluator::tensor(TensorRef ref) const {
  return ref.in_arena() ? arena_.data() + ref.offset() : values_.tensor(ref.group(), ref.slot());
}

void BatchEvaluator::run(std::span<const BatchNode> nodes, std::span<Fingerprint> fingerprints) {
  std::array<const FieldPair*, max_inputs> arguments{};
  for (const BatchNode& node : nodes) {
    const std::uint32_t arity = programs_[node.program]->program.inputs;
    for (std::uint32_t i = 0; i < arity; ++i) arguments[i] = tensor(node.arguments[i]);
    FieldPair* keep = node.keep_at == BatchNode::not_kept ? nullptr : arena_.data() + node.keep_at;
    add(node.program, std::span(arguments).first(arity), &fingerprints[node.first_fingerprint], keep, node.keep_output);
  }
  finish();
}

void BatchEvaluator::add(std::uint32_t program, std::span<const FieldPair* const> arguments, Fingerprint* fingerprints,
                         FieldPair* keep, std::uint32_t keep_output) {
  if (pending_index_[program] == no_index) {
    pending_index_[program] = static_cast<std::uint32_t>(pending_.size());
    pending_.emplace_back();
    pending_programs_.push_back(program);
  }
  PendingBlock& pending = pending_[pending_index_[program]];
  const std::uint32_t lane = pending.count++;
  for (std::size_t i = 0; i < arguments.size(); ++i) pending.arguments[i][lane] = arguments[i];
  pending.fingerprints[lane] = fingerprints;
  pending.keep[lane] = keep;
  pending.keep_output[lane] = keep_output;
  if (pending.count == block_width) flush(program, pending);
}

const FieldPair* BatchEvaluator::gather(std::uint32_t argument, const PendingBlock& pending, std::uint32_t elements) {
  const auto& sources = pending.arguments[argument];
  // Blocks are aligned to 64 bytes: eight consecutive pairs that start at such an address are a block.
  bool block = reinterpret_cast<std::uintptr_t>(sources[0]) % (block_width * sizeof(FieldPair)) == 0;
  for (std::uint32_t lane = 1; lane < pending.count && block; ++lane) block = sources[lane] == sources[0] + lane;
  if (block) return sources[0];
  std::vector<FieldPair>& buffer = gather_buffers_[argument];
  if (buffer.size() < std::size_t{elements} * block_width) buffer.resize(std::size_t{elements} * block_width);
  for (std::uint32_t lane = 0; lane < pending.count; ++lane) {
    const FieldPair* source = sources[lane];
    FieldPair* target = buffer.data() + lane;
    for (std::size_t e = 0; e < std::size_t{elements} * block_width; e += block_width) target[e] = source[e];
  }
  return buffer.data();
}

void BatchEvaluator::flush(std::uint32_t number, PendingBlock& pending) {
  const TypedProgram& typed = *programs_[number];
  const Program& program = typed.program;
  std::array<const FieldPair*, max_inputs> inputs{};
  for (std::uint32_t i = 0; i < program.inputs; ++i) inputs[i] = gather(i, pending, typed.input_elements[i]);
  if (const std::size_t pairs = Executor::scratch_pairs(program); scratch_.size() < pairs) scratch_.resize(pairs);
  fingerprints_.resize(program.outputs.size() * block_width);
  executor_.run(program, inputs.data(), scratch_.data(), typed.type_keys, fingerprints_.data());
  for (std::uint32_t lane = 0; lane < pending.count; ++lane) {
    for (std::uint32_t o = 0; o < program.outputs.size(); ++o) {
      pending.fingerprints[lane][o] = fingerprints_[o * block_width + lane];
    }
    if (pending.keep[lane] == nullptr) continue;
    const std::uint32_t o = pending.keep_output[lane];
    const FieldPair* values = Executor::output(program, inputs.data(), scratch_.data(), o) + lane;
    for (std::size_t e = 0; e < std::size_t{program.output_elements[o]} * block_width; e += block_width) {
      pending.keep[lane][e] = values[e];
    }
  }
  pending.count = 0;
}

void BatchEvaluator::finish() {
  for (std::size_t w = 0; w < pending_.size(); ++w) {
    if (pending_[w].count != 0) flush(pending_programs_[w], pending_[w]);
  }
}

}  // namespace rulemill::execute
