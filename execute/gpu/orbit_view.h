// A batch of rows in the GPU's format: nodes by their argument terms, and the renamings of each node by number. The GPU
// generates the renamings of a node, evaluates them, and returns the minimum fingerprint. Terms are expanded (all
// renamings are stored, with values on the GPU) or transient (computed for this batch with all renamings, in its
// arena). An item is one renaming of one node.
#pragma once

#include "execute/gpu/node_body.h"

namespace rulemill::execute {

inline constexpr std::uint32_t threads_per_block = 128;
/// Items of a tile. A node with more renamings is a tile of its own.
inline constexpr std::uint32_t items_per_tile = 256;
/// Maximum number of field pairs of tensors in a block's shared memory.
inline constexpr std::uint32_t max_staged_pairs = 2048;

/// Marks a transient argument. Arguments of a node: the id of an expanded term, or this bit and the number of a
/// transient term in the batch. Arguments of an item (argument codes): the id of an expanded term, or this bit and the
/// offset of the tensor in the arena.
inline constexpr std::uint32_t transient_bit = 1u << 31;

/// Offset of the tensor in column `column`; its elements are warp_width apart.
RM_HD constexpr std::uint32_t column_offset(std::uint32_t column, std::uint32_t elements) {
  return column / warp_width * elements * warp_width + column % warp_width;
}

/// A transient term. Renaming r is column first_column + r of the arena section of tensors of this size.
struct TransientTerm {
  std::uint32_t section = 0;
  std::uint32_t first_column = 0;
  std::uint32_t elements = 0;
  std::uint32_t output = 0;
  std::uint32_t first_equal_renaming = 0;  // offset in equal_renamings of the entry of renaming 0
};

/// The result for one output of a row, over all renamings.
struct OrbitMinimum {
  Fingerprint fingerprint;            // the minimum
  std::uint64_t symmetries = 0;       // bit r < 64: renaming r yields another node with this fingerprint
  std::uint32_t renaming = 0;         // the first renaming with this fingerprint
  std::uint32_t distinct_values = 0;  // number of distinct fingerprints
  std::uint32_t orbit_size = 0;       // number of distinct nodes
  std::uint32_t unused = 0;
};

/// Adjacent columns of tensors that a block copies to shared memory, for one argument of its nodes.
struct StagedColumns {
  std::uint32_t columns = 0;  // 0: none
  std::uint32_t first = 0;    // first column, in its section
  std::uint32_t section = 0;  // offset of the section, in the values or (with transient_bit) in the arena
};

/// The unit of work of a block of threads: consecutive nodes of one program.
struct OrbitTile {
  std::uint32_t program = 0;
  std::uint32_t commutative = 0;  // 1: arguments are sorted
  std::uint32_t first_word = 0;   // of its first node
  std::uint32_t nodes = 0;
  std::uint32_t items = 0;  // of all its nodes
  std::uint32_t first_item = 0;
  std::uint32_t first_argument_code = 0, first_fingerprint = 0;
  std::uint32_t staged_arguments[2] = {};
  StagedColumns staged[2];
};

/// The words of a node: its first item in the tile; the offset of its renaming list in renaming_words; its target (of a
/// row, the minimum of its first output; of a transient term, its number); its arguments; then for each argument, if
/// transient, the offset in renaming_words of its restriction: the renaming of the argument for each renaming of the
/// node.
enum NodeWord : std::uint32_t { first_item_word, list_word, target_word, words_before_arguments };
/// A renaming list is a sequence of 16-bit words: the number of renamings, the number of swaps per renaming, then each
/// swap plus one, 0 for none.
inline constexpr std::uint32_t words_before_swaps = 2;

/// The arrays of a batch, as pointers to GPU memory.
struct OrbitView {
  // resident
  const NodeProgram* programs = nullptr;
  const FieldPair* values = nullptr;
  const std::uint32_t* term_sections = nullptr;  // by expanded term: offset of the section of its tensor
  const std::uint32_t* term_columns = nullptr;
  const std::uint32_t* swapped = nullptr;  // by swap and expanded term: the renamed term
  std::uint32_t expanded_terms = 0;
  std::uint32_t all_terms = 0;  // 1: terms of equal value are distinct
  const FieldPair* keys = nullptr;
  // uploaded with the batch
  const OrbitTile* tiles = nullptr;
  const std::uint32_t* nodes = nullptr;
  const std::uint16_t* renaming_words = nullptr;
  TransientTerm* transient = nullptr;
  std::uint32_t tile_count = 0;
  // computed on the GPU
  FieldPair* arena = nullptr;
  std::uint32_t* argument_codes = nullptr;  // by tile, argument and item
  std::uint32_t* equal_renamings =
      nullptr;  // by transient term and renaming: the first renaming that yields an equal term
  std::uint32_t* representatives = nullptr;  // by item: the first item of its node with the same arguments
  std::uint32_t* distinct_items = nullptr;   // by tile: the items that are their own representative, in any order
  Fingerprint* fingerprints = nullptr;       // by tile, output and item
  FieldPair* scratch = nullptr;              // by resident block
  std::uint32_t scratch_elements = 0;
  std::uint32_t max_arguments = 0;  // over all tiles
  OrbitMinimum* minima = nullptr;   // null in the phase of transient terms
};

/// A block's shared memory: the number of distinct items, strides and pointers of arguments, then staged tensors.
struct SharedMemoryLayout {
  std::uint32_t pointers = 0, staged = 0, bytes = 0;
  RM_HD static SharedMemoryLayout of(std::uint32_t arguments) {
    SharedMemoryLayout layout;
    layout.pointers = (2 + max_inputs) * sizeof(std::uint32_t);
    layout.staged =
        layout.pointers + arguments * threads_per_block * static_cast<std::uint32_t>(sizeof(const FieldPair*));
    layout.bytes = layout.staged + max_staged_pairs * static_cast<std::uint32_t>(sizeof(FieldPair));
    return layout;
  }
};

}  // namespace rulemill::execute
