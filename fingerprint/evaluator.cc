#include "fingerprint/evaluator.h"

#include <algorithm>

namespace rulemill::fingerprint {

using enumerate::no_id;
using enumerate::SignatureId;

Evaluator::Evaluator(const enumerate::Enumerator& enumerator, std::span<const CompiledSignature* const> compiled,
                     const ValueStore& values, const Executor& executor)
    : enumerator_(enumerator),
      compiled_(compiled),
      values_(values),
      executor_(executor),
      waiting_index_(compiled.size(), no_id) {}

void Evaluator::reserve(std::uint64_t arena_pairs) {
  if (arena_.size() < arena_pairs) arena_ = AlignedPairs(arena_pairs + arena_pairs / 4);
}

const Pair* Evaluator::tensor(TensorRef ref) const {
  if (ref.in_arena()) return arena_.data() + ref.at();
  const auto& terms = enumerator_.terms();
  return values_.tensor(terms.group(ref.term()), terms.slot(ref.term()));
}

void Evaluator::run(std::span<const WaveNode> nodes, std::span<Fingerprint> prints) {
  std::array<const Pair*, enumerate::max_arity> arguments{};
  for (const WaveNode& node : nodes) {
    const std::uint32_t arity = compiled_[node.signature]->program.inputs;
    for (std::uint32_t i = 0; i < arity; ++i) arguments[i] = tensor(node.arguments[i]);
    Pair* keep = node.keep_at == WaveNode::not_kept ? nullptr : arena_.data() + node.keep_at;
    add(node.signature, std::span(arguments).first(arity), &prints[node.print], keep, node.keep_output);
  }
  finish();
}

void Evaluator::add(SignatureId signature, std::span<const Pair* const> arguments, Fingerprint* prints, Pair* keep,
                    std::uint32_t keep_output) {
  if (waiting_index_[signature] == no_id) {
    waiting_index_[signature] = static_cast<std::uint32_t>(waiting_.size());
    waiting_.emplace_back();
    waiting_signatures_.push_back(signature);
  }
  Waiting& waiting = waiting_[waiting_index_[signature]];
  const std::uint32_t lane = waiting.count++;
  for (std::size_t i = 0; i < arguments.size(); ++i) waiting.arguments[i][lane] = arguments[i];
  waiting.prints[lane] = prints;
  waiting.keep[lane] = keep;
  waiting.keep_output[lane] = keep_output;
  if (waiting.count == block_width) flush(signature, waiting);
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

void Evaluator::flush(SignatureId signature, Waiting& waiting) {
  const CompiledSignature& compiled = *compiled_[signature];
  const Program& program = compiled.program;
  const auto& types = enumerator_.signatures()[signature].arguments;
  std::array<const Pair*, enumerate::max_arity> inputs{};
  for (std::uint32_t i = 0; i < program.inputs; ++i) {
    inputs[i] = gathered(i, waiting, static_cast<std::uint32_t>(enumerator_.types().elements(types[i])));
  }
  if (const std::size_t pairs = Executor::scratch_pairs(program); scratch_.size() < pairs) scratch_.resize(pairs);
  fingerprints_.resize(program.outputs.size() * block_width);
  executor_.run(program, inputs.data(), scratch_.data(), compiled.type_keys, fingerprints_.data());
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
    if (waiting_[w].count != 0) flush(waiting_signatures_[w], waiting_[w]);
  }
}

}  // namespace rulemill::fingerprint
