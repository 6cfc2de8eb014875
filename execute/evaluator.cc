#include "execute/evaluator.h"

#include <algorithm>

namespace rulemill::execute {

namespace {
constexpr std::uint32_t none = 0xffffffffu;
}  // namespace

Evaluator::Evaluator(std::span<const TypedProgram* const> programs, const ValueStore& values, const Executor& executor)
    : programs_(programs), values_(values), executor_(executor), waiting_index_(programs.size(), none) {}

void Evaluator::reserve(std::uint64_t arena_pairs) {
  if (arena_.size() < arena_pairs) arena_ = AlignedPairs(arena_pairs + arena_pairs / 4);
}

const Pair* Evaluator::tensor(TensorRef ref) const {
  return ref.in_arena() ? arena_.data() + ref.at() : values_.tensor(ref.group(), ref.slot());
}

void Evaluator::run(std::span<const WaveNode> nodes, std::span<Fingerprint> prints) {
  std::array<const Pair*, most_inputs> arguments{};
  for (const WaveNode& node : nodes) {
    const std::uint32_t arity = programs_[node.program]->program.inputs;
    for (std::uint32_t i = 0; i < arity; ++i) arguments[i] = tensor(node.arguments[i]);
    Pair* keep = node.keep_at == WaveNode::not_kept ? nullptr : arena_.data() + node.keep_at;
    add(node.program, std::span(arguments).first(arity), &prints[node.print], keep, node.keep_output);
  }
  finish();
}

void Evaluator::add(std::uint32_t program, std::span<const Pair* const> arguments, Fingerprint* prints, Pair* keep,
                    std::uint32_t keep_output) {
  if (waiting_index_[program] == none) {
    waiting_index_[program] = static_cast<std::uint32_t>(waiting_.size());
    waiting_.emplace_back();
    waiting_programs_.push_back(program);
  }
  Waiting& waiting = waiting_[waiting_index_[program]];
  const std::uint32_t lane = waiting.count++;
  for (std::size_t i = 0; i < arguments.size(); ++i) waiting.arguments[i][lane] = arguments[i];
  waiting.prints[lane] = prints;
  waiting.keep[lane] = keep;
  waiting.keep_output[lane] = keep_output;
  if (waiting.count == block_width) flush(program, waiting);
}

const Pair* Evaluator::gathered(std::uint32_t argument, const Waiting& waiting, std::uint32_t elements) {
  const auto& sources = waiting.arguments[argument];
  // Blocks begin at multiples of 64 bytes: a run of eight that begins at one is a block.
  bool block = reinterpret_cast<std::uintptr_t>(sources[0]) % (block_width * sizeof(Pair)) == 0;
  for (std::uint32_t lane = 1; lane < waiting.count && block; ++lane) block = sources[lane] == sources[0] + lane;
  if (block) return sources[0];
  std::vector<Pair>& buffer = gathered_[argument];
  if (buffer.size() < std::size_t{elements} * block_width) buffer.resize(std::size_t{elements} * block_width);
  for (std::uint32_t lane = 0; lane < waiting.count; ++lane) {
    const Pair* source = sources[lane];
    Pair* target = buffer.data() + lane;
    for (std::size_t e = 0; e < std::size_t{elements} * block_width; e += block_width) target[e] = source[e];
  }
  return buffer.data();
}

void Evaluator::flush(std::uint32_t number, Waiting& waiting) {
  const TypedProgram& typed = *programs_[number];
  const Program& program = typed.program;
  std::array<const Pair*, most_inputs> inputs{};
  for (std::uint32_t i = 0; i < program.inputs; ++i) inputs[i] = gathered(i, waiting, typed.input_elements[i]);
  if (const std::size_t pairs = Executor::scratch_pairs(program); scratch_.size() < pairs) scratch_.resize(pairs);
  fingerprints_.resize(program.outputs.size() * block_width);
  executor_.run(program, inputs.data(), scratch_.data(), typed.type_keys, fingerprints_.data());
  for (std::uint32_t lane = 0; lane < waiting.count; ++lane) {
    for (std::uint32_t o = 0; o < program.outputs.size(); ++o) {
      waiting.prints[lane][o] = fingerprints_[o * block_width + lane];
    }
    if (waiting.keep[lane] == nullptr) continue;
    const std::uint32_t o = waiting.keep_output[lane];
    const Pair* values = Executor::output(program, inputs.data(), scratch_.data(), o) + lane;
    for (std::size_t e = 0; e < std::size_t{program.output_elements[o]} * block_width; e += block_width) {
      waiting.keep[lane][e] = values[e];
    }
  }
  waiting.count = 0;
}

void Evaluator::finish() {
  for (std::size_t w = 0; w < waiting_.size(); ++w) {
    if (waiting_[w].count != 0) flush(waiting_programs_[w], waiting_[w]);
  }
}

}  // namespace rulemill::execute
