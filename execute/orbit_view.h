// A batch of rows as a device takes it: nodes by their terms, and the renamings of each by number. All names of a node
// are made there, evaluated, and told by their least fingerprint. Terms are named (held under all names, with values on
// the device) or passing (computed for this batch, under all names, in its arena).
#pragma once

#include "execute/node_body.h"

namespace rulemill::execute {

inline constexpr std::uint32_t threads_a_block = 128;
/// Names that a block of threads takes at a time, unless one node has more.
inline constexpr std::uint32_t items_a_piece = 256;
/// Tensors that a block keeps in shared memory take at most so many pairs.
inline constexpr std::uint32_t most_staged_pairs = 2048;

/// An argument of a node: a named term by id, or a passing one by its number in the batch. As a name's argument: a
/// named term, or where in the arena the tensor begins.
inline constexpr std::uint32_t passing_bit = 1u << 31;

/// Where the tensor of column `c` begins, its elements warp_width apart.
RM_HD constexpr std::uint32_t column_offset(std::uint32_t column, std::uint32_t elements) {
  return column / warp_width * elements * warp_width + column % warp_width;
}

/// A passing term: renaming r is column first_column + r of the section of the arena that holds tensors of its size.
struct PassingPlace {
  std::uint32_t section = 0;
  std::uint32_t first_column = 0;
  std::uint32_t elements = 0;
  std::uint32_t output = 0;
  std::uint32_t first_same = 0;  // place of the first renaming that gives the same term, by renaming
};

/// What comes back for a row: of one output under all names.
struct OrbitMinimum {
  Fingerprint print;             // the smallest
  std::uint64_t symmetries = 0;  // bit r, of the first 64: renaming r has it, too, as another node
  std::uint32_t renaming = 0;    // the first that has it
  std::uint32_t values = 0;      // different fingerprints
  std::uint32_t images = 0;      // different nodes
  std::uint32_t unused = 0;
};

/// Columns of tensors side by side that a block keeps in shared memory, for one argument of its nodes.
struct StagedColumns {
  std::uint32_t columns = 0;  // 0: none
  std::uint32_t first = 0;    // column of its section
  std::uint32_t section = 0;  // where the section begins, among values or in the arena
};

/// What a block of threads evaluates: consecutive nodes of one program.
struct OrbitPiece {
  std::uint32_t program = 0;
  std::uint32_t commutative = 0;  // arguments are in order
  std::uint32_t first_word = 0;   // of its first node
  std::uint32_t nodes = 0;
  std::uint32_t items = 0;  // names in all
  std::uint32_t first_item = 0;
  std::uint32_t first_code = 0, first_print = 0;
  std::uint32_t staged_arguments[2] = {};
  StagedColumns staged[2];
};

/// A node's words: its first item in the piece, where its renamings are among the names, its target (rows: the first
/// output's minimum; passing terms: their number), the arguments, then for each passing argument where the numbers are
/// by which the node's renamings are renamings of the argument.
enum NodeWord : std::uint32_t { first_item_word, list_word, target_word, words_before_arguments };
/// A list of renamings is 16-bit words: how many, swaps a renaming, then the swaps plus one; 0: none.
inline constexpr std::uint32_t words_before_swaps = 2;

/// Everything by pointers of the device.
struct OrbitView {
  // resident
  const NodeProgram* programs = nullptr;
  const Pair* values = nullptr;
  const std::uint32_t* term_sections = nullptr;  // by named term: where the section begins that its tensor is in
  const std::uint32_t* term_columns = nullptr;
  const std::uint32_t* swapped = nullptr;  // by swap and named term: the term that it becomes
  std::uint32_t named_terms = 0;
  std::uint32_t all_terms = 0;  // terms of equal value are different terms
  const Pair* keys = nullptr;
  // uploaded with the batch
  const OrbitPiece* pieces = nullptr;
  const std::uint32_t* nodes = nullptr;
  const std::uint16_t* names = nullptr;
  PassingPlace* passing = nullptr;
  std::uint32_t piece_count = 0;
  // made on the device
  Pair* arena = nullptr;
  std::uint32_t* codes = nullptr;  // by piece, argument and item
  std::uint32_t* same = nullptr;   // by passing term and renaming
  std::uint32_t* first = nullptr;  // by item: the first of its node's with the same arguments
  std::uint32_t* turns = nullptr;  // by piece: the items that are first, in any order
  Fingerprint* prints = nullptr;   // by piece, output and item
  Pair* scratch = nullptr;         // by block that runs at a time
  std::uint32_t scratch_elements = 0;
  std::uint32_t most_arguments = 0;  // of any piece's program
  OrbitMinimum* minima = nullptr;    // null: these are passing terms
};

/// Shared memory of a block: a count, the pointers and strides of arguments, then what is staged.
struct SharedLayout {
  std::uint32_t pointers = 0, staged = 0, bytes = 0;
  RM_HD static SharedLayout of(std::uint32_t arguments) {
    SharedLayout made;
    made.pointers = (2 + most_inputs) * sizeof(std::uint32_t);
    made.staged = made.pointers + arguments * threads_a_block * static_cast<std::uint32_t>(sizeof(const Pair*));
    made.bytes = made.staged + most_staged_pairs * static_cast<std::uint32_t>(sizeof(Pair));
    return made;
  }
};

}  // namespace rulemill::execute
