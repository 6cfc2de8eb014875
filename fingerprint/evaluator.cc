#include "fingerprint/evaluator.h"

#include <algorithm>
#include <bit>

#include "runtime/error.h"

namespace rulemill::fingerprint {

using enumerate::no_id;
using enumerate::SignatureId;
using enumerate::TermId;

static_assert(enumerate::group_block == block_width, "a group's block is what one program call evaluates");

namespace {
/// Blocks with fewer lanes than this are not evaluated in place.
constexpr int fewest_lanes_in_place = 3;
}  // namespace

void RowRange::resize(std::uint64_t first_row, std::uint64_t rows, std::uint32_t arity_stride) {
  first = first_row;
  signatures.assign(rows, no_id);
  arguments.assign(rows * arity_stride, no_id);
  fingerprints.assign(rows, {});
}

Evaluator::Evaluator(const enumerate::Enumerator& enumerator, std::span<const CompiledSignature* const> compiled,
                     const ValueStore& values, const Executor& executor, RowRange* rows)
    : enumerator_(enumerator),
      compiled_(compiled),
      values_(values),
      executor_(executor),
      rows_(rows),
      waiting_index_(compiled.size(), no_id) {
  replicated_term_.fill(no_id);
}

void Evaluator::store_values(ValueStore& store, TermId first_term) {
  store_ = &store;
  first_term_ = first_term;
}

void Evaluator::note(SignatureId signature, std::span<const TermId> arguments, std::uint64_t row) {
  if (rows_ == nullptr) return;
  const std::uint32_t stride = enumerator_.arity_stride();
  for (std::size_t o = 0; o < compiled_[signature]->program.outputs.size(); ++o) {
    const std::uint64_t at = row + o - rows_->first;
    rows_->signatures[at] = signature;
    std::ranges::copy(arguments, rows_->arguments.begin() + static_cast<std::ptrdiff_t>(at * stride));
  }
}

const Pair* Evaluator::replicated(std::uint32_t position, TermId term) {
  std::vector<Pair>& buffer = replicated_[position];
  if (replicated_term_[position] == term) return buffer.data();
  const auto& terms = enumerator_.terms();
  const std::uint32_t elements = values_.elements(terms.group(term));
  const Pair* source = values_.tensor(terms.group(term), terms.slot(term));
  if (buffer.size() < std::size_t{elements} * block_width) buffer.resize(std::size_t{elements} * block_width);
  for (std::uint32_t e = 0; e < elements; ++e) {
    std::fill_n(buffer.data() + std::size_t{e} * block_width, block_width, source[std::size_t{e} * block_width]);
  }
  replicated_term_[position] = term;
  return buffer.data();
}

void Evaluator::block(SignatureId signature, std::span<const TermId> fixed, std::uint32_t open, std::uint32_t group,
                      std::uint32_t block, std::uint8_t lanes, std::uint64_t row) {
  const std::size_t outputs = compiled_[signature]->program.outputs.size();
  std::array<TermId, enumerate::max_arity> arguments{};
  for (std::uint32_t i = 0, f = 0; f < fixed.size(); ++i) {
    if (i != open || group == no_id) arguments[i] = fixed[f++];
  }
  const bool in_place = group == no_id || std::popcount(lanes) >= fewest_lanes_in_place;
  const TermId* members =
      group == no_id ? nullptr : enumerator_.terms().groups()[group].members.data() + std::size_t{block} * block_width;
  const std::size_t arity = fixed.size() + (group == no_id ? 0 : 1);
  std::array<std::uint64_t, block_width> lane_rows{};
  for (std::uint32_t lane = 0; lane < block_width; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    if (members != nullptr) arguments[open] = members[lane];
    lane_rows[lane] = row;
    if (in_place)
      note(signature, std::span(arguments).first(arity), row);
    else
      single(signature, std::span(arguments).first(arity), row);
    row += outputs;
  }
  if (!in_place) return;
  std::array<const Pair*, enumerate::max_arity> inputs{};
  for (std::uint32_t i = 0, f = 0; i < arity; ++i) {
    inputs[i] = members != nullptr && i == open ? values_.block(group, block) : replicated(i, fixed[f++]);
  }
  run(signature, inputs, lane_rows, lanes);
}

void Evaluator::single(SignatureId signature, std::span<const TermId> arguments, std::uint64_t row) {
  note(signature, arguments, row);
  if (waiting_index_[signature] == no_id) {
    waiting_index_[signature] = static_cast<std::uint32_t>(waiting_.size());
    waiting_.emplace_back();
    waiting_signatures_.push_back(signature);
  }
  Waiting& waiting = waiting_[waiting_index_[signature]];
  for (std::size_t i = 0; i < arguments.size(); ++i) waiting.arguments[i * block_width + waiting.count] = arguments[i];
  waiting.rows[waiting.count] = row;
  if (++waiting.count == block_width) flush(signature, waiting);
}

void Evaluator::flush(SignatureId signature, Waiting& waiting) {
  const auto& terms = enumerator_.terms();
  const Program& program = compiled_[signature]->program;
  std::array<const Pair*, enumerate::max_arity> inputs{};
  for (std::uint32_t i = 0; i < program.inputs; ++i) {
    const std::uint32_t elements = values_.elements(terms.group(waiting.arguments[i * block_width]));
    std::vector<Pair>& buffer = gathered_[i];
    if (buffer.size() < std::size_t{elements} * block_width) buffer.resize(std::size_t{elements} * block_width);
    for (std::uint32_t lane = 0; lane < waiting.count; ++lane) {
      const TermId t = waiting.arguments[i * block_width + lane];
      const Pair* source = values_.tensor(terms.group(t), terms.slot(t));
      Pair* target = buffer.data() + lane;
      for (std::uint32_t e = 0; e < elements; ++e)
        target[std::size_t{e} * block_width] = source[std::size_t{e} * block_width];
    }
    inputs[i] = buffer.data();
  }
  run(signature, inputs, waiting.rows, static_cast<std::uint8_t>((1u << waiting.count) - 1));
  waiting.count = 0;
}

void Evaluator::finish() {
  for (std::size_t w = 0; w < waiting_.size(); ++w) {
    if (waiting_[w].count != 0) flush(waiting_signatures_[w], waiting_[w]);
  }
}

void Evaluator::run(SignatureId signature, const std::array<const Pair*, enumerate::max_arity>& inputs,
                    std::span<const std::uint64_t> lane_rows, std::uint8_t lanes) {
  const CompiledSignature& compiled = *compiled_[signature];
  const Program& program = compiled.program;
  if (const std::size_t pairs = Executor::scratch_pairs(program); scratch_.size() < pairs) scratch_.resize(pairs);
  fingerprints_.resize(program.outputs.size() * block_width);
  executor_.run(program, inputs.data(), scratch_.data(), compiled.type_keys, fingerprints_.data());
  ++evaluations_;
  products_ += program.products * static_cast<unsigned>(std::popcount(lanes));
  for (std::uint32_t o = 0; o < program.outputs.size(); ++o) {
    const Pair* values = store_ != nullptr ? Executor::output(program, inputs.data(), scratch_.data(), o) : nullptr;
    for (std::uint32_t lane = 0; lane < block_width; ++lane) {
      if (!(lanes >> lane & 1)) continue;
      const std::uint64_t row = lane_rows[lane] + o;
      if (rows_ != nullptr) rows_->fingerprints[row - rows_->first] = fingerprints_[o * block_width + lane];
      if (store_ == nullptr) continue;
      const auto term = static_cast<TermId>(first_term_ + row);
      const auto& terms = enumerator_.terms();
      if (!terms.is_extended(term)) continue;
      Pair* target = store_->tensor(terms.group(term), terms.slot(term));
      for (std::uint32_t e = 0; e < program.output_elements[o]; ++e) {
        target[std::size_t{e} * block_width] = values[std::size_t{e} * block_width + lane];
      }
    }
  }
}

}  // namespace rulemill::fingerprint
