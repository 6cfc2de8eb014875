// What a block of threads does with a piece of a batch, in phases that all threads finish before the next: names are
// made, equal ones found, the different ones evaluated, and each node's told by its least. `Block` is a block of a GPU
// or one that host code runs thread after thread: each(body) runs body(thread) for all of them, add() is atomic.
#pragma once

#include "execute/orbit_view.h"

namespace rulemill::execute {

RM_HD inline bool is_less(const Fingerprint& a, const Fingerprint& b) {
  return a.high != b.high ? a.high < b.high : a.low < b.low;
}
RM_HD inline bool is_equal(const Fingerprint& a, const Fingerprint& b) { return a.high == b.high && a.low == b.low; }

/// One piece; `shared` has room for SharedLayout::of(view.most_arguments). `scratch`: the block's own.
template <class Block>
class PieceBody {
 public:
  RM_HD PieceBody(Block& block, const OrbitView& view, const OrbitPiece& piece, unsigned char* shared, Pair* scratch)
      : block_(block),
        view_(view),
        piece_(piece),
        program_(view.programs[piece.program]),
        layout_(SharedLayout::of(view.most_arguments)),
        shared_(shared),
        scratch_(scratch) {}

  RM_HD void run() {
    block_.each([&](std::uint32_t thread) {
      if (thread == 0) begin();
      for (std::uint32_t i = thread; i < piece_.items; i += threads_a_block) make_name(i);
      for (std::uint32_t s = 0; s < 2; ++s) stage(s, thread);
    });
    block_.each([&](std::uint32_t thread) {
      for (std::uint32_t i = thread; i < piece_.items; i += threads_a_block) find_first(i);
    });
    block_.each([&](std::uint32_t thread) {
      for (std::uint32_t n = thread; n < turns(); n += threads_a_block) evaluate(turn(n), thread);
    });
    block_.each([&](std::uint32_t thread) {
      for (std::uint32_t i = thread; i < piece_.items; i += threads_a_block) {
        if (view_.minima == nullptr) {
          find_same(i);
        } else if (is_first(i)) {
          find_minimum(i);
        }
      }
    });
  }

 private:
  static constexpr std::uint32_t not_staged = 2;

  RM_HD std::uint32_t& turns() const { return *reinterpret_cast<std::uint32_t*>(shared_); }
  RM_HD std::uint32_t* strides() const { return reinterpret_cast<std::uint32_t*>(shared_) + 2; }
  RM_HD const Pair** pointers() const { return reinterpret_cast<const Pair**>(shared_ + layout_.pointers); }
  RM_HD Pair* staged(std::uint32_t s) const {
    auto* first = reinterpret_cast<Pair*>(shared_ + layout_.staged);
    return s == 0 ? first : first + piece_.staged[0].columns * staged_elements(0);
  }
  RM_HD std::uint32_t staged_elements(std::uint32_t s) const {
    return program_.input_elements[piece_.staged_arguments[s]];
  }
  /// By which of the staged arguments `argument` is there.
  RM_HD std::uint32_t staged_as(std::uint32_t argument) const {
    for (std::uint32_t s = 0; s < not_staged; ++s) {
      if (piece_.staged[s].columns != 0 && piece_.staged_arguments[s] == argument) return s;
    }
    return not_staged;
  }

  RM_HD const std::uint32_t* node(std::uint32_t n) const {
    return view_.nodes + piece_.first_word + n * (words_before_arguments + 2 * program_.view.inputs);
  }
  RM_HD std::uint32_t node_of(std::uint32_t item) const {
    std::uint32_t low = 0, high = piece_.nodes;
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      (node(middle)[first_item_word] <= item ? low : high) = middle;
    }
    return low;
  }
  RM_HD std::uint32_t names_of(const std::uint32_t* words) const { return view_.names[words[list_word]]; }
  RM_HD std::uint32_t& code(std::uint32_t argument, std::uint32_t item) const {
    return view_.codes[piece_.first_code + argument * piece_.items + item];
  }
  RM_HD std::uint32_t& first(std::uint32_t item) const { return view_.first[piece_.first_item + item]; }
  RM_HD bool is_first(std::uint32_t item) const { return first(item) == item; }
  RM_HD std::uint32_t& turn(std::uint32_t n) const { return view_.turns[piece_.first_item + n]; }
  RM_HD Fingerprint& print(std::uint32_t output, std::uint32_t item) const {
    return view_.prints[piece_.first_print + output * piece_.items + item];
  }

  RM_HD void begin() const {
    turns() = 0;
    for (std::uint32_t k = 0; k < program_.view.inputs; ++k) {
      const std::uint32_t s = staged_as(k);
      strides()[k] = s == not_staged ? warp_width : piece_.staged[s].columns;
    }
  }

  RM_HD void stage(std::uint32_t s, std::uint32_t thread) const {
    const StagedColumns& staged_columns = piece_.staged[s];
    if (staged_columns.columns == 0) return;
    const std::uint32_t elements = staged_elements(s);
    const Pair* from =
        (staged_columns.section & passing_bit ? view_.arena : view_.values) + (staged_columns.section & ~passing_bit);
    for (std::uint32_t i = thread; i < elements * staged_columns.columns; i += threads_a_block) {
      const std::uint32_t column = staged_columns.first + i % staged_columns.columns;
      staged(s)[i] = from[column_offset(column, elements) + i / staged_columns.columns * warp_width];
    }
  }

  /// The arguments of a node's name, a word each, such that equal ones are equal terms.
  RM_HD void make_name(std::uint32_t item) const {
    const std::uint32_t* words = node(node_of(item));
    const std::uint32_t renaming = item - words[first_item_word];
    const std::uint16_t* list = view_.names + words[list_word];
    const std::uint32_t swaps = list[1];
    list += words_before_swaps + renaming * swaps;
    const std::uint32_t arguments = program_.view.inputs;
    for (std::uint32_t k = 0; k < arguments; ++k) {
      std::uint32_t argument = words[words_before_arguments + k];
      if (argument & passing_bit) {
        const PassingPlace& place = view_.passing[argument & ~passing_bit];
        const std::uint32_t own = view_.names[words[words_before_arguments + arguments + k] + renaming];
        const std::uint32_t column = place.first_column + view_.same[place.first_same + own];
        argument = passing_bit | (place.section + column_offset(column, place.elements));
      } else {
        for (std::uint32_t s = 0; s < swaps; ++s) {
          if (list[s] != 0) argument = view_.swapped[std::size_t{list[s] - 1u} * view_.named_terms + argument];
        }
      }
      code(k, item) = argument;
    }
    if (piece_.commutative && code(1, item) < code(0, item)) {
      const std::uint32_t larger = code(0, item);
      code(0, item) = code(1, item);
      code(1, item) = larger;
    }
    if (view_.minima == nullptr || renaming != 0) return;
    for (std::uint32_t o = 0; o < program_.output_count; ++o) view_.minima[words[target_word] + o] = {};
  }

  RM_HD bool is_same_name(std::uint32_t a, std::uint32_t b) const {
    for (std::uint32_t k = 0; k < program_.view.inputs; ++k) {
      if (code(k, a) != code(k, b)) return false;
    }
    return true;
  }

  RM_HD void find_first(std::uint32_t item) const {
    std::uint32_t earlier = node(node_of(item))[first_item_word];
    while (earlier < item && !is_same_name(earlier, item)) ++earlier;
    first(item) = earlier;
    if (earlier == item) turn(block_.add(turns(), 1)) = item;
  }

  RM_HD const Pair* tensor(std::uint32_t argument, std::uint32_t term) const {
    const std::uint32_t elements = program_.input_elements[argument];
    const std::uint32_t s = staged_as(argument);
    if (s != not_staged) {
      const std::uint32_t section = piece_.staged[s].section & ~passing_bit;
      const std::uint32_t offset = term & passing_bit ? (term & ~passing_bit) - section : 0;
      const std::uint32_t column = term & passing_bit
                                       ? offset / (elements * warp_width) * warp_width + offset % warp_width
                                       : view_.term_columns[term];
      return staged(s) + (column - piece_.staged[s].first);
    }
    if (term & passing_bit) return view_.arena + (term & ~passing_bit);
    return view_.values + view_.term_sections[term] + column_offset(view_.term_columns[term], elements);
  }

  RM_HD void evaluate(std::uint32_t item, std::uint32_t thread) const {
    for (std::uint32_t k = 0; k < program_.view.inputs; ++k) {
      pointers()[k * threads_a_block + thread] = tensor(k, code(k, item));
    }
    Pair* own = scratch_ + std::size_t{thread / warp_width} * view_.scratch_elements * warp_width + thread % warp_width;
    ThreadOperands operands{program_, pointers() + thread, threads_a_block, strides(), own};
    if (view_.minima == nullptr) {
      const std::uint32_t* words = node(node_of(item));
      const PassingPlace& place = view_.passing[words[target_word]];
      operands.keep = view_.arena + place.section +
                      column_offset(place.first_column + item - words[first_item_word], place.elements);
      operands.kept = place.output;
    }
    run_node(operands, view_.keys, &print(0, item), piece_.items);
  }

  /// Of a passing term: which renaming is the first that gives the same term.
  RM_HD void find_same(std::uint32_t item) const {
    const std::uint32_t* words = node(node_of(item));
    const PassingPlace& place = view_.passing[words[target_word]];
    const std::uint32_t begin = words[first_item_word], own = first(item);
    std::uint32_t same = begin;
    while (same < own &&
           (view_.all_terms || !is_first(same) || !is_equal(print(place.output, same), print(place.output, own)))) {
      ++same;
    }
    view_.same[place.first_same + item - begin] = same - begin;
  }

  /// What this name says of the minimum of its node's: it writes it if it is the first that has it.
  RM_HD void find_minimum(std::uint32_t item) const {
    const std::uint32_t* words = node(node_of(item));
    const std::uint32_t begin = words[first_item_word], end = begin + names_of(words);
    for (std::uint32_t o = 0; o < program_.output_count; ++o) {
      OrbitMinimum& minimum = view_.minima[words[target_word] + o];
      const Fingerprint own = print(o, item);
      std::uint32_t images = 0;
      std::uint64_t symmetries = 0;
      bool is_new = true, is_least = true;
      for (std::uint32_t other = begin; other < end; ++other) {
        if (!is_first(other)) continue;
        ++images;
        const Fingerprint theirs = print(o, other);
        if (is_less(theirs, own)) is_least = false;
        if (other == item || !is_equal(theirs, own)) continue;
        if (other < item) is_new = false;
        if (other - begin < 64) symmetries |= std::uint64_t{1} << (other - begin);
      }
      if (is_new) block_.add(minimum.values, 1);
      if (!is_new || !is_least) continue;
      minimum.print = own;
      minimum.symmetries = symmetries;
      minimum.renaming = item - begin;
      minimum.images = images;
    }
  }

  Block& block_;
  const OrbitView& view_;
  const OrbitPiece& piece_;
  const NodeProgram& program_;
  SharedLayout layout_;
  unsigned char* shared_;
  Pair* scratch_;
};

/// A block's share of the pieces: every so manieth. `shared` and `view.scratch` as above.
template <class Block>
RM_HD inline void run_pieces(Block& block, const OrbitView& view, unsigned char* shared) {
  Pair* scratch = view.scratch + std::size_t{block.index()} * threads_a_block * view.scratch_elements;
  for (std::uint32_t p = block.index(); p < view.piece_count; p += block.count()) {
    PieceBody<Block>(block, view, view.pieces[p], shared, scratch).run();
  }
}

}  // namespace rulemill::execute
