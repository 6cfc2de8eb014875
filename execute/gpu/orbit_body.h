// Evaluation of one tile by a block of threads, in phases separated by barriers: generate the renamings, find
// duplicates, evaluate the distinct ones, and take the minimum fingerprint of each node. `Block` is a GPU block or a
// host loop over threads: each(body) calls body(thread) for all threads, then synchronizes; add() is atomic.
#pragma once

#include "execute/gpu/orbit_view.h"

namespace rulemill::execute {

RM_HD inline bool is_less(const Fingerprint& a, const Fingerprint& b) {
  return a.high != b.high ? a.high < b.high : a.low < b.low;
}
RM_HD inline bool is_equal(const Fingerprint& a, const Fingerprint& b) { return a.high == b.high && a.low == b.low; }

/// The evaluation of one tile. `shared`: SharedMemoryLayout::of(view.max_arguments) bytes; `scratch`: of this block.
template <class Block>
class TileBody {
 public:
  RM_HD TileBody(Block& block, const OrbitView& view, const OrbitTile& tile, unsigned char* shared, FieldPair* scratch)
      : block_(block),
        view_(view),
        tile_(tile),
        program_(view.programs[tile.program]),
        layout_(SharedMemoryLayout::of(view.max_arguments)),
        shared_(shared),
        scratch_(scratch) {}

  RM_HD void run() {
    block_.each([&](std::uint32_t thread) {
      if (thread == 0) initialize();
      for (std::uint32_t i = thread; i < tile_.items; i += threads_per_block) rename_arguments(i);
      for (std::uint32_t s = 0; s < 2; ++s) stage_argument(s, thread);
    });
    block_.each([&](std::uint32_t thread) {
      for (std::uint32_t i = thread; i < tile_.items; i += threads_per_block) find_representative(i);
    });
    block_.each([&](std::uint32_t thread) {
      for (std::uint32_t n = thread; n < distinct_count(); n += threads_per_block) evaluate(distinct_item(n), thread);
    });
    block_.each([&](std::uint32_t thread) {
      for (std::uint32_t i = thread; i < tile_.items; i += threads_per_block) {
        if (view_.minima == nullptr)
          find_equal_renaming(i);
        else if (is_representative(i))
          find_minimum(i);
      }
    });
  }

 private:
  static constexpr std::uint32_t not_staged = 2;

  RM_HD std::uint32_t& distinct_count() const { return *reinterpret_cast<std::uint32_t*>(shared_); }
  RM_HD std::uint32_t* strides() const { return reinterpret_cast<std::uint32_t*>(shared_) + 2; }
  RM_HD const FieldPair** pointers() const { return reinterpret_cast<const FieldPair**>(shared_ + layout_.pointers); }
  RM_HD FieldPair* staged(std::uint32_t s) const {
    auto* first = reinterpret_cast<FieldPair*>(shared_ + layout_.staged);
    return s == 0 ? first : first + tile_.staged[0].columns * staged_elements(0);
  }
  RM_HD std::uint32_t staged_elements(std::uint32_t s) const {
    return program_.input_elements[tile_.staged_arguments[s]];
  }
  /// The staging slot of `argument`, or not_staged.
  RM_HD std::uint32_t staged_as(std::uint32_t argument) const {
    for (std::uint32_t s = 0; s < not_staged; ++s) {
      if (tile_.staged[s].columns != 0 && tile_.staged_arguments[s] == argument) return s;
    }
    return not_staged;
  }

  RM_HD const std::uint32_t* node(std::uint32_t n) const {
    return view_.nodes + tile_.first_word + n * (words_before_arguments + 2 * program_.view.inputs);
  }
  RM_HD std::uint32_t node_of(std::uint32_t item) const {
    std::uint32_t low = 0, high = tile_.nodes;
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      (node(middle)[first_item_word] <= item ? low : high) = middle;
    }
    return low;
  }
  RM_HD std::uint32_t renaming_count(const std::uint32_t* words) const {
    return view_.renaming_words[words[list_word]];
  }
  RM_HD std::uint32_t& argument_code(std::uint32_t argument, std::uint32_t item) const {
    return view_.argument_codes[tile_.first_argument_code + argument * tile_.items + item];
  }
  RM_HD std::uint32_t& representative(std::uint32_t item) const {
    return view_.representatives[tile_.first_item + item];
  }
  RM_HD bool is_representative(std::uint32_t item) const { return representative(item) == item; }
  RM_HD std::uint32_t& distinct_item(std::uint32_t n) const { return view_.distinct_items[tile_.first_item + n]; }
  RM_HD Fingerprint& fingerprint(std::uint32_t output, std::uint32_t item) const {
    return view_.fingerprints[tile_.first_fingerprint + output * tile_.items + item];
  }

  RM_HD void initialize() const {
    distinct_count() = 0;
    for (std::uint32_t k = 0; k < program_.view.inputs; ++k) {
      const std::uint32_t s = staged_as(k);
      strides()[k] = s == not_staged ? warp_width : tile_.staged[s].columns;
    }
  }

  RM_HD void stage_argument(std::uint32_t s, std::uint32_t thread) const {
    const StagedColumns& staged_columns = tile_.staged[s];
    if (staged_columns.columns == 0) return;
    const std::uint32_t elements = staged_elements(s);
    const FieldPair* from = (staged_columns.section & transient_bit ? view_.arena : view_.values) +
                            (staged_columns.section & ~transient_bit);
    for (std::uint32_t i = thread; i < elements * staged_columns.columns; i += threads_per_block) {
      const std::uint32_t column = staged_columns.first + i % staged_columns.columns;
      staged(s)[i] = from[column_offset(column, elements) + i / staged_columns.columns * warp_width];
    }
  }

  /// Computes the argument codes of an item; equal codes mean equal terms.
  RM_HD void rename_arguments(std::uint32_t item) const {
    const std::uint32_t* words = node(node_of(item));
    const std::uint32_t renaming = item - words[first_item_word];
    const std::uint16_t* list = view_.renaming_words + words[list_word];
    const std::uint32_t swaps = list[1];
    list += words_before_swaps + renaming * swaps;
    const std::uint32_t arguments = program_.view.inputs;
    for (std::uint32_t k = 0; k < arguments; ++k) {
      std::uint32_t argument = words[words_before_arguments + k];
      if (argument & transient_bit) {
        const TransientTerm& transient = view_.transient[argument & ~transient_bit];
        const std::uint32_t own = view_.renaming_words[words[words_before_arguments + arguments + k] + renaming];
        const std::uint32_t column =
            transient.first_column + view_.equal_renamings[transient.first_equal_renaming + own];
        argument = transient_bit | (transient.section + column_offset(column, transient.elements));
      } else {
        for (std::uint32_t s = 0; s < swaps; ++s) {
          if (list[s] != 0) argument = view_.swapped[std::size_t{list[s] - 1u} * view_.expanded_terms + argument];
        }
      }
      argument_code(k, item) = argument;
    }
    if (tile_.commutative && argument_code(1, item) < argument_code(0, item)) {
      const std::uint32_t larger = argument_code(0, item);
      argument_code(0, item) = argument_code(1, item);
      argument_code(1, item) = larger;
    }
    if (view_.minima == nullptr || renaming != 0) return;
    for (std::uint32_t o = 0; o < program_.output_count; ++o) view_.minima[words[target_word] + o] = {};
  }

  RM_HD bool has_same_arguments(std::uint32_t a, std::uint32_t b) const {
    for (std::uint32_t k = 0; k < program_.view.inputs; ++k) {
      if (argument_code(k, a) != argument_code(k, b)) return false;
    }
    return true;
  }

  RM_HD void find_representative(std::uint32_t item) const {
    std::uint32_t earlier = node(node_of(item))[first_item_word];
    while (earlier < item && !has_same_arguments(earlier, item)) ++earlier;
    representative(item) = earlier;
    if (earlier == item) distinct_item(block_.add(distinct_count(), 1)) = item;
  }

  RM_HD const FieldPair* tensor(std::uint32_t argument, std::uint32_t term) const {
    const std::uint32_t elements = program_.input_elements[argument];
    const std::uint32_t s = staged_as(argument);
    if (s != not_staged) {
      const std::uint32_t section = tile_.staged[s].section & ~transient_bit;
      const std::uint32_t offset = term & transient_bit ? (term & ~transient_bit) - section : 0;
      const std::uint32_t column = term & transient_bit
                                       ? offset / (elements * warp_width) * warp_width + offset % warp_width
                                       : view_.term_columns[term];
      return staged(s) + (column - tile_.staged[s].first);
    }
    if (term & transient_bit) return view_.arena + (term & ~transient_bit);
    return view_.values + view_.term_sections[term] + column_offset(view_.term_columns[term], elements);
  }

  RM_HD void evaluate(std::uint32_t item, std::uint32_t thread) const {
    for (std::uint32_t k = 0; k < program_.view.inputs; ++k)
      pointers()[k * threads_per_block + thread] = tensor(k, argument_code(k, item));
    FieldPair* own =
        scratch_ + std::size_t{thread / warp_width} * view_.scratch_elements * warp_width + thread % warp_width;
    ThreadOperands operands{program_, pointers() + thread, threads_per_block, strides(), own};
    if (view_.minima == nullptr) {
      const std::uint32_t* words = node(node_of(item));
      const TransientTerm& transient = view_.transient[words[target_word]];
      operands.keep = view_.arena + transient.section +
                      column_offset(transient.first_column + item - words[first_item_word], transient.elements);
      operands.kept_output = transient.output;
    }
    run_node(operands, view_.keys, &fingerprint(0, item), tile_.items);
  }

  /// For a transient term: finds the first renaming that yields an equal term.
  RM_HD void find_equal_renaming(std::uint32_t item) const {
    const std::uint32_t* words = node(node_of(item));
    const TransientTerm& transient = view_.transient[words[target_word]];
    const std::uint32_t begin = words[first_item_word], own = representative(item);
    std::uint32_t equal = begin;
    while (equal < own && (view_.all_terms || !is_representative(equal) ||
                           !is_equal(fingerprint(transient.output, equal), fingerprint(transient.output, own))))
      ++equal;
    view_.equal_renamings[transient.first_equal_renaming + item - begin] = equal - begin;
  }

  /// Compares an item with all items of its node, and writes the minimum if it is the first item that attains it.
  RM_HD void find_minimum(std::uint32_t item) const {
    const std::uint32_t* words = node(node_of(item));
    const std::uint32_t begin = words[first_item_word], end = begin + renaming_count(words);
    for (std::uint32_t o = 0; o < program_.output_count; ++o) {
      OrbitMinimum& minimum = view_.minima[words[target_word] + o];
      const Fingerprint own = fingerprint(o, item);
      std::uint32_t orbit_size = 0;
      std::uint64_t symmetries = 0;
      bool is_new = true, is_least = true;
      for (std::uint32_t other = begin; other < end; ++other) {
        if (!is_representative(other)) continue;
        ++orbit_size;
        const Fingerprint theirs = fingerprint(o, other);
        if (is_less(theirs, own)) is_least = false;
        if (other == item || !is_equal(theirs, own)) continue;
        if (other < item) is_new = false;
        if (other - begin < 64) symmetries |= std::uint64_t{1} << (other - begin);
      }
      if (is_new) block_.add(minimum.distinct_values, 1);
      if (!is_new || !is_least) continue;
      minimum.fingerprint = own;
      minimum.symmetries = symmetries;
      minimum.renaming = item - begin;
      minimum.orbit_size = orbit_size;
    }
  }

  Block& block_;
  const OrbitView& view_;
  const OrbitTile& tile_;
  const NodeProgram& program_;
  SharedMemoryLayout layout_;
  unsigned char* shared_;
  FieldPair* scratch_;
};

/// Evaluates every block.count()-th tile, starting with block.index(). `shared` as in TileBody; `view.scratch` has
/// space for all resident blocks.
template <class Block>
RM_HD inline void run_tiles(Block& block, const OrbitView& view, unsigned char* shared) {
  FieldPair* scratch = view.scratch + std::size_t{block.index()} * threads_per_block * view.scratch_elements;
  for (std::uint32_t p = block.index(); p < view.tile_count; p += block.count())
    TileBody<Block>(block, view, view.tiles[p], shared, scratch).run();
}

}  // namespace rulemill::execute
