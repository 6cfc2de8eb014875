#include "execute/orbit_batch.h"

#include <algorithm>
#include <cstring>

#include "execute/card.h"
#include "runtime/error.h"

namespace rulemill::execute {

namespace {

constexpr std::uint64_t most_names = 0xffff;  // a list counts them in 16 bits

std::uint64_t padded(std::uint64_t columns) { return (columns + warp_width - 1) / warp_width * warp_width; }

template <class T>
std::byte* append(std::byte* to, std::span<const T> values) {
  if (!values.empty()) std::memcpy(to, values.data(), values.size_bytes());
  return to + values.size_bytes();
}

}  // namespace

std::uint64_t PackedBatch::work_bytes() const {
  // The passing terms' `same` outlives their wave; the rest is used by one wave and then by the other.
  return arena_pairs * sizeof(Pair) + prints * sizeof(Fingerprint) + minima * sizeof(OrbitMinimum) +
         (std::uint64_t{codes} + passing_items + 2 * std::uint64_t{items}) * sizeof(std::uint32_t);
}

std::uint32_t OrbitBatch::add_list(std::span<const std::span<const std::uint8_t>> swaps_by_renaming) {
  if (swaps_by_renaming.size() > most_names)
    throw DeviceError("device", "a node has " + std::to_string(swaps_by_renaming.size()) + " names; at most " +
                                    std::to_string(most_names) + " are made there");
  std::size_t most = 0;
  for (const auto& swaps : swaps_by_renaming) most = std::max(most, swaps.size());
  const auto at = static_cast<std::uint32_t>(names_.size());
  names_.push_back(static_cast<std::uint16_t>(swaps_by_renaming.size()));
  names_.push_back(static_cast<std::uint16_t>(most));
  for (const auto& swaps : swaps_by_renaming) {
    for (std::size_t s = 0; s < most; ++s) {
      names_.push_back(s < swaps.size() ? static_cast<std::uint16_t>(swaps[s] + 1) : std::uint16_t{0});
    }
  }
  return at;
}

std::uint32_t OrbitBatch::add_numbers(std::span<const std::uint32_t> numbers) {
  const auto at = static_cast<std::uint32_t>(names_.size());
  for (const std::uint32_t number : numbers) names_.push_back(static_cast<std::uint16_t>(number));
  return at;
}

OrbitBatch::Section& OrbitBatch::section_of(std::uint32_t elements) {
  const auto found = std::ranges::find(sections_, elements, &Section::elements);
  return found != sections_.end() ? *found : sections_.emplace_back(Section{elements, 0, 0});
}

void OrbitBatch::add(Wave& wave, const Node& node, std::uint32_t targets) {
  const std::uint32_t names = renamings(node.list);
  const std::uint32_t inputs = programs_[node.program].view.inputs;
  RM_CHECK(node.arguments.size() == inputs, "a node has its program's arguments");
  wave.nodes.push_back({node.program, node.commutative, names, static_cast<std::uint32_t>(wave.words.size())});
  wave.words.insert(wave.words.end(), {0, node.list, wave.targets});
  wave.words.insert(wave.words.end(), node.arguments.begin(), node.arguments.end());
  for (std::uint32_t k = 0; k < inputs; ++k) wave.words.push_back(k < node.numbers.size() ? node.numbers[k] : 0);
  wave.items += names;
  wave.targets += targets;
}

std::uint32_t OrbitBatch::add_passing(const Node& node, std::uint32_t output) {
  const auto number = static_cast<std::uint32_t>(places_.size());
  const std::uint32_t elements = programs_[node.program].output_elements[output];
  Section& section = section_of(elements);
  places_.push_back({0, section.columns, elements, output, static_cast<std::uint32_t>(passing_.items)});
  section.columns += renamings(node.list);
  add(passing_, node, 1);
  return number;
}

void OrbitBatch::add_row(const Node& node) { add(rows_, node, programs_[node.program].output_count); }

void OrbitBatch::clear() {
  names_.clear();
  places_.clear();
  sections_.clear();
  for (Wave* wave : {&passing_, &rows_}) {
    wave->nodes.clear();
    wave->words.clear();
    wave->pieces.clear();
    wave->items = 0;
    wave->targets = 0;
  }
}

bool OrbitBatch::fits(const More& more, const BatchLimits& limits) const {
  if (rows_.items + more.items > limits.items || passing_.items + more.passing_items > limits.items) return false;
  std::uint64_t pairs = more.arena_pairs;
  for (const Section& section : sections_) pairs += padded(section.columns) * section.elements;
  const std::uint64_t nodes = rows_.nodes.size() + passing_.nodes.size() + 1 + more.passing;
  const std::uint64_t words =
      rows_.words.size() + passing_.words.size() + (1 + more.passing) * (words_before_arguments + 2 * most_inputs);
  const std::uint64_t upload = nodes * sizeof(OrbitPiece) + (places_.size() + more.passing) * sizeof(PassingPlace) +
                               words * sizeof(std::uint32_t) + (names_.size() + more.names) * sizeof(std::uint16_t);
  const std::uint64_t items = std::max(rows_.items + more.items, passing_.items + more.passing_items);
  const std::uint64_t work = pairs * sizeof(Pair) + (rows_.targets + most_outputs) * sizeof(OrbitMinimum) +
                             items * (most_outputs * sizeof(Fingerprint) + (most_inputs + 3) * sizeof(std::uint32_t));
  const std::uint64_t download = (rows_.targets + most_outputs) * sizeof(OrbitMinimum);
  return upload <= limits.upload_bytes && download <= limits.download_bytes && work <= limits.work_bytes &&
         pairs < passing_bit;
}

void OrbitBatch::place_sections() {
  packed_.arena_pairs = 0;
  for (Section& section : sections_) {
    section.begin = static_cast<std::uint32_t>(packed_.arena_pairs);
    packed_.arena_pairs += padded(section.columns) * section.elements;
  }
  for (PassingPlace& place : places_) place.section = section_of(place.elements).begin;
}

/// Nodes keep their order otherwise, so that those of one primary argument stay together.
void OrbitBatch::sort_by_program(Wave& wave) {
  next_.assign(programs_.size() + 1, 0);
  for (const Waiting& node : wave.nodes) ++next_[node.program + 1];
  for (std::size_t p = 0; p + 1 < next_.size(); ++p) next_[p + 1] += next_[p];
  wave.order.resize(wave.nodes.size());
  for (std::uint32_t n = 0; n < wave.nodes.size(); ++n) wave.order[next_[wave.nodes[n].program]++] = n;
}

StagedColumns OrbitBatch::columns_of(const Wave& wave, std::size_t first, std::size_t last,
                                     std::uint32_t argument) const {
  constexpr std::uint32_t unknown = 0xffffffffu;
  std::uint32_t section = unknown, low = unknown, high = 0;
  for (std::size_t i = first; i < last; ++i) {
    const Waiting& node = wave.nodes[wave.order[i]];
    const std::uint32_t term = wave.words[node.first_word + words_before_arguments + argument];
    std::uint32_t own = 0, begin = 0, end = 0;
    if (term & passing_bit) {
      const PassingPlace& place = places_[term & ~passing_bit];
      const auto next = (term & ~passing_bit) + 1;
      own = passing_bit | place.section;
      begin = place.first_column;
      end = begin + (next < places_.size() ? places_[next].first_same - place.first_same
                                           : static_cast<std::uint32_t>(passing_.items) - place.first_same);
    } else {
      own = terms_[term].section;
      end = terms_[term].columns;
    }
    if (section != unknown && section != own) return {};
    section = own;
    low = std::min(low, begin);
    high = std::max(high, end);
  }
  return {high - low, low, section};
}

/// Arguments whose tensors the piece's names share are kept in shared memory, as far as they fit.
void OrbitBatch::stage(Wave& wave, OrbitPiece& piece, std::size_t first, std::size_t last) const {
  const NodeProgram& program = programs_[piece.program];
  std::uint32_t staged = 0, pairs = 0;
  for (std::uint32_t k = 0; k < program.view.inputs && staged < 2; ++k) {
    const StagedColumns columns = columns_of(wave, first, last, k);
    if (columns.columns == 0 || columns.columns * 2 > piece.items) continue;
    const std::uint64_t needed = std::uint64_t{columns.columns} * program.input_elements[k];
    if (pairs + needed > most_staged_pairs) continue;
    if (piece.commutative) {
      // Their order goes by the names: an argument has one place only if the other is of the other kind.
      const StagedColumns other = columns_of(wave, first, last, 1 - k);
      if (other.columns == 0 || (other.section & passing_bit) == (columns.section & passing_bit)) continue;
    }
    piece.staged_arguments[staged] = k;
    piece.staged[staged++] = columns;
    pairs += static_cast<std::uint32_t>(needed);
  }
}

void OrbitBatch::cut(Wave& wave, std::uint32_t first_word) {
  std::uint32_t item = 0, code = 0, print = 0;
  for (std::size_t begin = 0; begin < wave.order.size();) {
    const Waiting& leader = wave.nodes[wave.order[begin]];
    const NodeProgram& program = programs_[leader.program];
    OrbitPiece piece;
    piece.program = leader.program;
    piece.commutative = leader.commutative ? 1 : 0;
    piece.first_word = first_word;
    piece.first_item = item;
    piece.first_code = code;
    piece.first_print = print;
    std::size_t end = begin;
    for (; end < wave.order.size(); ++end) {
      const Waiting& node = wave.nodes[wave.order[end]];
      if (node.program != leader.program || (end > begin && piece.items + node.names > items_a_piece)) break;
      wave.words[node.first_word + first_item_word] = piece.items;
      piece.items += node.names;
    }
    piece.nodes = static_cast<std::uint32_t>(end - begin);
    stage(wave, piece, begin, end);
    first_word += piece.nodes * (words_before_arguments + 2 * program.view.inputs);
    item += piece.items;
    code += piece.items * program.view.inputs;
    print += piece.items * program.output_count;
    packed_.arguments += std::uint64_t{piece.nodes} * program.view.inputs;
    packed_.operands += std::uint64_t{piece.items} * program.view.inputs;
    for (const StagedColumns& staged : piece.staged) packed_.staged += staged.columns != 0 ? piece.items : 0;
    packed_.most_arguments = std::max(packed_.most_arguments, program.view.inputs);
    wave.pieces.push_back(piece);
    begin = end;
  }
  packed_.items = std::max(packed_.items, item);
  packed_.codes = std::max(packed_.codes, code);
  packed_.prints = std::max(packed_.prints, print);
}

const PackedBatch& OrbitBatch::arrange() {
  packed_ = {};
  place_sections();
  sort_by_program(passing_);
  sort_by_program(rows_);
  cut(passing_, 0);
  cut(rows_, static_cast<std::uint32_t>(passing_.words.size()));
  packed_.passing_pieces = static_cast<std::uint32_t>(passing_.pieces.size());
  packed_.row_pieces = static_cast<std::uint32_t>(rows_.pieces.size());
  packed_.nodes = rows_.nodes.size();
  packed_.passing = static_cast<std::uint32_t>(places_.size());
  packed_.words = static_cast<std::uint32_t>(passing_.words.size() + rows_.words.size());
  packed_.names = static_cast<std::uint32_t>(names_.size());
  packed_.minima = rows_.targets;
  packed_.passing_items = static_cast<std::uint32_t>(passing_.items);
  return packed_;
}

void OrbitBatch::pack(std::byte* to) const {
  to = append(to, std::span<const OrbitPiece>(passing_.pieces));
  to = append(to, std::span<const OrbitPiece>(rows_.pieces));
  to = append(to, std::span<const PassingPlace>(places_));
  for (const Wave* wave : {&passing_, &rows_}) {
    for (const std::uint32_t n : wave->order) {
      const Waiting& node = wave->nodes[n];
      const std::size_t words = words_before_arguments + 2 * programs_[node.program].view.inputs;
      to = append(to, std::span<const std::uint32_t>(wave->words).subspan(node.first_word, words));
    }
  }
  append(to, std::span<const std::uint16_t>(names_));
}

}  // namespace rulemill::execute
