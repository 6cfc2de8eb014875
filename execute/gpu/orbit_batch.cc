#include "execute/gpu/orbit_batch.h"

#include <algorithm>
#include <cstring>

namespace rulemill::execute {
namespace {

constexpr std::uint64_t max_renamings = 0xffff;  // a renaming list has 16-bit counts

std::uint64_t padded(std::uint64_t columns) { return (columns + warp_width - 1) / warp_width * warp_width; }

template <class T>
std::byte* append(std::byte* to, std::span<const T> values) {
  if (!values.empty()) std::memcpy(to, values.data(), values.size_bytes());
  return to + values.size_bytes();
}

}  // namespace

std::uint64_t PackedBatch::work_bytes() const {
  // equal_renamings of the first phase are read by the second; the other arrays are reused.
  return arena_pairs * sizeof(FieldPair) + fingerprints * sizeof(Fingerprint) + minima * sizeof(OrbitMinimum) +
         (std::uint64_t{argument_codes} + transient_items + 2 * std::uint64_t{items}) * sizeof(std::uint32_t);
}

std::uint32_t OrbitBatch::add_renaming_list(std::span<const std::span<const std::uint8_t>> swaps_by_renaming) {
  if (swaps_by_renaming.size() > max_renamings)
    throw GpuError("device", "a node has " + std::to_string(swaps_by_renaming.size()) + " renamings; the limit is " +
                                 std::to_string(max_renamings));
  std::size_t most = 0;
  for (const auto& swaps : swaps_by_renaming) most = std::max(most, swaps.size());
  const auto at = static_cast<std::uint32_t>(renaming_words_.size());
  renaming_words_.push_back(static_cast<std::uint16_t>(swaps_by_renaming.size()));
  renaming_words_.push_back(static_cast<std::uint16_t>(most));
  for (const auto& swaps : swaps_by_renaming) {
    for (std::size_t s = 0; s < most; ++s)
      renaming_words_.push_back(s < swaps.size() ? static_cast<std::uint16_t>(swaps[s] + 1) : std::uint16_t{0});
  }
  return at;
}

std::uint32_t OrbitBatch::add_restriction(std::span<const std::uint32_t> numbers) {
  const auto at = static_cast<std::uint32_t>(renaming_words_.size());
  for (const std::uint32_t number : numbers) renaming_words_.push_back(static_cast<std::uint16_t>(number));
  return at;
}

OrbitBatch::Section& OrbitBatch::section_of(std::uint32_t elements) {
  const auto found = std::ranges::find(sections_, elements, &Section::elements);
  return found != sections_.end() ? *found : sections_.emplace_back(Section{elements, 0, 0});
}

void OrbitBatch::add(Phase& phase, const Node& node, std::uint32_t targets) {
  const std::uint32_t renaming_count = renamings(node.renaming_list);
  const std::uint32_t inputs = programs_[node.program].view.inputs;
  RM_CHECK(node.arguments.size() == inputs, "the number of arguments is that of the program");
  phase.nodes.push_back(
      {node.program, node.commutative, renaming_count, static_cast<std::uint32_t>(phase.words.size())});
  phase.words.insert(phase.words.end(), {0, node.renaming_list, phase.targets});
  phase.words.insert(phase.words.end(), node.arguments.begin(), node.arguments.end());
  for (std::uint32_t k = 0; k < inputs; ++k)
    phase.words.push_back(k < node.restrictions.size() ? node.restrictions[k] : 0);
  phase.items += renaming_count;
  phase.targets += targets;
}

std::uint32_t OrbitBatch::add_transient(const Node& node, std::uint32_t output) {
  const auto number = static_cast<std::uint32_t>(transients_.size());
  const std::uint32_t elements = programs_[node.program].output_elements[output];
  Section& section = section_of(elements);
  transients_.push_back({0, section.columns, elements, output, static_cast<std::uint32_t>(transient_phase_.items)});
  section.columns += renamings(node.renaming_list);
  add(transient_phase_, node, 1);
  return number;
}

void OrbitBatch::add_row(const Node& node) { add(row_phase_, node, programs_[node.program].output_count); }

void OrbitBatch::clear() {
  renaming_words_.clear();
  transients_.clear();
  sections_.clear();
  for (Phase* phase : {&transient_phase_, &row_phase_}) {
    phase->nodes.clear();
    phase->words.clear();
    phase->tiles.clear();
    phase->items = 0;
    phase->targets = 0;
  }
}

bool OrbitBatch::fits(const Growth& growth, const BatchLimits& limits) const {
  if (row_phase_.items + growth.items > limits.items || transient_phase_.items + growth.transient_items > limits.items)
    return false;
  std::uint64_t pairs = growth.arena_pairs;
  for (const Section& section : sections_) pairs += padded(section.columns) * section.elements;
  const std::uint64_t nodes = row_phase_.nodes.size() + transient_phase_.nodes.size() + 1 + growth.transient;
  const std::uint64_t words = row_phase_.words.size() + transient_phase_.words.size() +
                              (1 + growth.transient) * (words_before_arguments + 2 * max_inputs);
  const std::uint64_t upload =
      nodes * sizeof(OrbitTile) + (transients_.size() + growth.transient) * sizeof(TransientTerm) +
      words * sizeof(std::uint32_t) + (renaming_words_.size() + growth.renaming_words) * sizeof(std::uint16_t);
  const std::uint64_t items =
      std::max(row_phase_.items + growth.items, transient_phase_.items + growth.transient_items);
  const std::uint64_t work = pairs * sizeof(FieldPair) + (row_phase_.targets + max_outputs) * sizeof(OrbitMinimum) +
                             items * (max_outputs * sizeof(Fingerprint) + (max_inputs + 3) * sizeof(std::uint32_t));
  const std::uint64_t download = (row_phase_.targets + max_outputs) * sizeof(OrbitMinimum);
  return upload <= limits.upload_bytes && download <= limits.download_bytes && work <= limits.work_bytes &&
         pairs < transient_bit;
}

void OrbitBatch::place_sections() {
  packed_.arena_pairs = 0;
  for (Section& section : sections_) {
    section.begin = static_cast<std::uint32_t>(packed_.arena_pairs);
    packed_.arena_pairs += padded(section.columns) * section.elements;
  }
  for (TransientTerm& transient : transients_) transient.section = section_of(transient.elements).begin;
}

/// A stable counting sort, so that nodes with the same first argument stay adjacent.
void OrbitBatch::sort_by_program(Phase& phase) {
  next_.assign(programs_.size() + 1, 0);
  for (const PendingNode& node : phase.nodes) ++next_[node.program + 1];
  for (std::size_t p = 0; p + 1 < next_.size(); ++p) next_[p + 1] += next_[p];
  phase.order.resize(phase.nodes.size());
  for (std::uint32_t n = 0; n < phase.nodes.size(); ++n) phase.order[next_[phase.nodes[n].program]++] = n;
}

StagedColumns OrbitBatch::columns_of(const Phase& phase, std::size_t first, std::size_t last,
                                     std::uint32_t argument) const {
  constexpr std::uint32_t unknown = 0xffffffffu;
  std::uint32_t section = unknown, low = unknown, high = 0;
  for (std::size_t i = first; i < last; ++i) {
    const PendingNode& node = phase.nodes[phase.order[i]];
    const std::uint32_t term = phase.words[node.first_word + words_before_arguments + argument];
    std::uint32_t section_begin = 0, begin = 0, end = 0;
    if (term & transient_bit) {
      const TransientTerm& transient = transients_[term & ~transient_bit];
      const auto next = (term & ~transient_bit) + 1;
      section_begin = transient_bit | transient.section;
      begin = transient.first_column;
      end = begin + (next < transients_.size()
                         ? transients_[next].first_equal_renaming - transient.first_equal_renaming
                         : static_cast<std::uint32_t>(transient_phase_.items) - transient.first_equal_renaming);
    } else {
      section_begin = terms_[term].section;
      end = terms_[term].columns;
    }
    if (section != unknown && section != section_begin) return {};
    section = section_begin;
    low = std::min(low, begin);
    high = std::max(high, end);
  }
  return {high - low, low, section};
}

/// Stages arguments in shared memory if their columns fit and each is used by two or more items.
void OrbitBatch::choose_staged_arguments(Phase& phase, OrbitTile& tile, std::size_t first, std::size_t last) const {
  const NodeProgram& program = programs_[tile.program];
  std::uint32_t staged = 0, pairs = 0;
  for (std::uint32_t k = 0; k < program.view.inputs && staged < 2; ++k) {
    const StagedColumns columns = columns_of(phase, first, last, k);
    if (columns.columns == 0 || columns.columns * 2 > tile.items) continue;
    const std::uint64_t needed = std::uint64_t{columns.columns} * program.input_elements[k];
    if (pairs + needed > max_staged_pairs) continue;
    if (tile.commutative) {
      // Sorting may swap the arguments, unless one is expanded and the other transient.
      const StagedColumns other = columns_of(phase, first, last, 1 - k);
      if (other.columns == 0 || (other.section & transient_bit) == (columns.section & transient_bit)) continue;
    }
    tile.staged_arguments[staged] = k;
    tile.staged[staged++] = columns;
    pairs += static_cast<std::uint32_t>(needed);
  }
}

void OrbitBatch::cut_into_tiles(Phase& phase, std::uint32_t first_word) {
  std::uint32_t item = 0, argument_code = 0, fingerprint = 0;
  for (std::size_t begin = 0; begin < phase.order.size();) {
    const PendingNode& leader = phase.nodes[phase.order[begin]];
    const NodeProgram& program = programs_[leader.program];
    OrbitTile tile;
    tile.program = leader.program;
    tile.commutative = leader.commutative ? 1 : 0;
    tile.first_word = first_word;
    tile.first_item = item;
    tile.first_argument_code = argument_code;
    tile.first_fingerprint = fingerprint;
    std::size_t end = begin;
    for (; end < phase.order.size(); ++end) {
      const PendingNode& node = phase.nodes[phase.order[end]];
      if (node.program != leader.program || (end > begin && tile.items + node.renamings > items_per_tile)) break;
      phase.words[node.first_word + first_item_word] = tile.items;
      tile.items += node.renamings;
    }
    tile.nodes = static_cast<std::uint32_t>(end - begin);
    choose_staged_arguments(phase, tile, begin, end);
    first_word += tile.nodes * (words_before_arguments + 2 * program.view.inputs);
    item += tile.items;
    argument_code += tile.items * program.view.inputs;
    fingerprint += tile.items * program.output_count;
    packed_.arguments += std::uint64_t{tile.nodes} * program.view.inputs;
    packed_.operands += std::uint64_t{tile.items} * program.view.inputs;
    for (const StagedColumns& staged : tile.staged) packed_.staged += staged.columns != 0 ? tile.items : 0;
    packed_.max_arguments = std::max(packed_.max_arguments, program.view.inputs);
    phase.tiles.push_back(tile);
    begin = end;
  }
  packed_.items = std::max(packed_.items, item);
  packed_.argument_codes = std::max(packed_.argument_codes, argument_code);
  packed_.fingerprints = std::max(packed_.fingerprints, fingerprint);
}

const PackedBatch& OrbitBatch::arrange() {
  packed_ = {};
  place_sections();
  sort_by_program(transient_phase_);
  sort_by_program(row_phase_);
  cut_into_tiles(transient_phase_, 0);
  cut_into_tiles(row_phase_, static_cast<std::uint32_t>(transient_phase_.words.size()));
  packed_.transient_tiles = static_cast<std::uint32_t>(transient_phase_.tiles.size());
  packed_.row_tiles = static_cast<std::uint32_t>(row_phase_.tiles.size());
  packed_.nodes = row_phase_.nodes.size();
  packed_.transient = static_cast<std::uint32_t>(transients_.size());
  packed_.words = static_cast<std::uint32_t>(transient_phase_.words.size() + row_phase_.words.size());
  packed_.renaming_words = static_cast<std::uint32_t>(renaming_words_.size());
  packed_.minima = row_phase_.targets;
  packed_.transient_items = static_cast<std::uint32_t>(transient_phase_.items);
  return packed_;
}

void OrbitBatch::pack(std::byte* to) const {
  to = append(to, std::span<const OrbitTile>(transient_phase_.tiles));
  to = append(to, std::span<const OrbitTile>(row_phase_.tiles));
  to = append(to, std::span<const TransientTerm>(transients_));
  for (const Phase* phase : {&transient_phase_, &row_phase_}) {
    for (const std::uint32_t n : phase->order) {
      const PendingNode& node = phase->nodes[n];
      const std::size_t words = words_before_arguments + 2 * programs_[node.program].view.inputs;
      to = append(to, std::span<const std::uint32_t>(phase->words).subspan(node.first_word, words));
    }
  }
  append(to, std::span<const std::uint16_t>(renaming_words_));
}

}  // namespace rulemill::execute
