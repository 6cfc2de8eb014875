// Rows gathered into a batch for the GPU, then packed: nodes of one program are contiguous and cut into tiles, one per
// block of threads. A batch is self-contained: it includes the renaming lists of its nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "execute/gpu/orbit_view.h"
#include "runtime/text/error.h"

namespace rulemill::execute {

/// A GPU failure: out of memory, or a failed call. The caller can fall back to the CPU.
class GpuError : public runtime::Error {
 public:
  using Error::Error;
};

/// Location of an expanded term's tensor in the resident values.
struct TermLocation {
  std::uint32_t section = 0, column = 0;
  std::uint32_t columns = 0;  // of its section
};

/// Capacity of a batch.
struct BatchLimits {
  std::uint64_t items = 0;
  std::uint64_t upload_bytes = 0, download_bytes = 0;
  std::uint64_t work_bytes = 0;  // computed on the GPU, including minima
};

/// Sizes of a packed batch, by section; an upload holds the sections in this order.
struct PackedBatch {
  std::uint32_t transient_tiles = 0, row_tiles = 0, transient = 0, words = 0, renaming_words = 0, minima = 0;
  std::uint32_t transient_items = 0, items = 0;        // items: the maximum of both phases
  std::uint32_t argument_codes = 0, fingerprints = 0;  // maximum of both phases
  std::uint32_t max_arguments = 0;
  std::uint64_t arena_pairs = 0;
  // Statistics of both phases.
  std::uint64_t nodes = 0, arguments = 0;  // nodes of rows; arguments of all nodes
  std::uint64_t operands = 0, staged = 0;  // of all items; those of them in shared memory

  std::uint64_t upload_bytes() const {
    return (transient_tiles + row_tiles) * sizeof(OrbitTile) + transient * sizeof(TransientTerm) +
           words * sizeof(std::uint32_t) + renaming_words * sizeof(std::uint16_t);
  }
  std::uint64_t download_bytes() const { return minima * sizeof(OrbitMinimum); }
  /// GPU memory besides the upload.
  std::uint64_t work_bytes() const;
};

class OrbitBatch {
 public:
  OrbitBatch(std::span<const NodeProgram> programs, std::span<const TermLocation> terms)
      : programs_(programs), terms_(terms) {}

  /// Adds a renaming list, by the swaps of each renaming; returns its offset.
  std::uint32_t add_renaming_list(std::span<const std::span<const std::uint8_t>> swaps_by_renaming);
  /// Adds, for each renaming of a node, the number of the renaming of an argument; returns the offset.
  std::uint32_t add_restriction(std::span<const std::uint32_t> numbers);

  struct Node {
    std::uint32_t program = 0;
    bool commutative = false;
    std::uint32_t renaming_list = 0;
    std::span<const std::uint32_t> arguments;
    std::span<const std::uint32_t> restrictions;  // by argument: offset of its restriction, if it is transient
  };
  /// Adds a transient term: an output of a node of expanded terms. Returns its number.
  std::uint32_t add_transient(const Node& node, std::uint32_t output);
  /// Adds a row. In a commutative node, an expanded argument precedes a transient one.
  void add_row(const Node& node);

  bool empty() const { return row_phase_.nodes.empty(); }
  void clear();
  std::uint64_t items() const { return row_phase_.items; }
  std::uint32_t renamings(std::uint32_t list) const { return renaming_words_[list]; }
  /// Upper bounds of what an addition to the batch needs.
  struct Growth {
    std::uint64_t items = 0, transient_items = 0, transient = 0, arena_pairs = 0, renaming_words = 0;
  };
  bool fits(const Growth& growth, const BatchLimits& limits) const;

  /// Sorts the nodes into tiles; returns the sizes of the packed batch.
  const PackedBatch& arrange();
  /// Writes the arranged batch; `to` has upload_bytes() of space.
  void pack(std::byte* to) const;

 private:
  struct PendingNode {
    std::uint32_t program = 0;
    bool commutative = false;
    std::uint32_t renamings = 0, first_word = 0;
  };
  /// The nodes of one kernel launch: transient terms, or rows.
  struct Phase {
    std::vector<PendingNode> nodes;
    std::vector<std::uint32_t> words;
    std::uint64_t items = 0;
    std::uint32_t targets = 0;
    std::vector<std::uint32_t> order;  // of the nodes, sorted by program
    std::vector<OrbitTile> tiles;
  };
  struct Section {
    std::uint32_t elements = 0, columns = 0, begin = 0;
  };
  void add(Phase& phase, const Node& node, std::uint32_t targets);
  void place_sections();
  void sort_by_program(Phase& phase);
  void cut_into_tiles(Phase& phase, std::uint32_t first_word);
  void choose_staged_arguments(Phase& phase, OrbitTile& tile, std::size_t first, std::size_t last) const;
  StagedColumns columns_of(const Phase& phase, std::size_t first, std::size_t last, std::uint32_t argument) const;
  Section& section_of(std::uint32_t elements);

  std::span<const NodeProgram> programs_;
  std::span<const TermLocation> terms_;
  std::vector<std::uint16_t> renaming_words_;
  Phase transient_phase_, row_phase_;
  std::vector<TransientTerm> transients_;
  std::vector<Section> sections_;
  std::vector<std::uint32_t> next_;  // by program
  PackedBatch packed_;
};

}  // namespace rulemill::execute
