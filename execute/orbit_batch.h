// Rows gathered for a device until they fill it, then packed: nodes of one program side by side, cut into pieces that a
// block of threads takes. A batch is self-contained: it brings the lists of renamings that its nodes have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "execute/orbit_view.h"

namespace rulemill::execute {

/// A named term's tensor among the values of a device.
struct TermPlace {
  std::uint32_t section = 0, column = 0;
  std::uint32_t columns = 0;  // of its section
};

/// How much a batch may hold.
struct BatchLimits {
  std::uint64_t items = 0;
  std::uint64_t upload_bytes = 0, download_bytes = 0;
  std::uint64_t work_bytes = 0;  // made on the device, minima included
};

/// What a packed batch holds, by section; the sections of an upload follow each other in this order.
struct PackedBatch {
  std::uint32_t passing_pieces = 0, row_pieces = 0, passing = 0, words = 0, names = 0, minima = 0;
  std::uint32_t passing_items = 0, items = 0;  // the larger of both waves
  std::uint32_t codes = 0, prints = 0;         // likewise
  std::uint32_t most_arguments = 0;
  std::uint64_t arena_pairs = 0;
  // Of both waves, to be counted.
  std::uint64_t nodes = 0, arguments = 0;  // rows' nodes alone; arguments of all
  std::uint64_t operands = 0, staged = 0;  // of all names; of these in shared memory

  std::uint64_t upload_bytes() const {
    return (passing_pieces + row_pieces) * sizeof(OrbitPiece) + passing * sizeof(PassingPlace) +
           words * sizeof(std::uint32_t) + names * sizeof(std::uint16_t);
  }
  std::uint64_t download_bytes() const { return minima * sizeof(OrbitMinimum); }
  /// Without the upload.
  std::uint64_t work_bytes() const;
};

class OrbitBatch {
 public:
  OrbitBatch(std::span<const NodeProgram> programs, std::span<const TermPlace> terms)
      : programs_(programs), terms_(terms) {}

  /// Another list of renamings, by the swaps of each; returns where it is.
  std::uint32_t add_list(std::span<const std::span<const std::uint8_t>> swaps_by_renaming);
  /// By renaming of a node: which renaming of an argument that is. Returns where they are.
  std::uint32_t add_numbers(std::span<const std::uint32_t> numbers);

  struct Node {
    std::uint32_t program = 0;
    bool commutative = false;
    std::uint32_t list = 0;
    std::span<const std::uint32_t> arguments;
    std::span<const std::uint32_t> numbers;  // by argument, of a passing one
  };
  /// A term that is not named, an output of a node of named terms; returns its number.
  std::uint32_t add_passing(const Node& node, std::uint32_t output);
  /// Arguments of a commutative program: a named term stands before a passing one.
  void add_row(const Node& node);

  bool empty() const { return rows_.nodes.empty(); }
  void clear();
  std::uint64_t items() const { return rows_.items; }
  std::uint32_t renamings(std::uint32_t list) const { return names_[list]; }
  /// What a batch with so much more would take at most.
  struct More {
    std::uint64_t items = 0, passing_items = 0, passing = 0, arena_pairs = 0, names = 0;
  };
  bool fits(const More& more, const BatchLimits& limits) const;

  /// What `pack` would write and need.
  const PackedBatch& arrange();
  /// Writes what arrange() arranged; `to` has room for upload_bytes().
  void pack(std::byte* to) const;

 private:
  struct Waiting {
    std::uint32_t program = 0;
    bool commutative = false;
    std::uint32_t names = 0, first_word = 0;
  };
  /// Nodes that are evaluated together: passing terms, or rows.
  struct Wave {
    std::vector<Waiting> nodes;
    std::vector<std::uint32_t> words;
    std::uint64_t items = 0;
    std::uint32_t targets = 0;
    std::vector<std::uint32_t> order;  // of the nodes, by program
    std::vector<OrbitPiece> pieces;
  };
  struct Section {
    std::uint32_t elements = 0, columns = 0, begin = 0;
  };
  void add(Wave& wave, const Node& node, std::uint32_t targets);
  void place_sections();
  void sort_by_program(Wave& wave);
  void cut(Wave& wave, std::uint32_t first_word);
  void stage(Wave& wave, OrbitPiece& piece, std::size_t first, std::size_t last) const;
  StagedColumns columns_of(const Wave& wave, std::size_t first, std::size_t last, std::uint32_t argument) const;
  Section& section_of(std::uint32_t elements);

  std::span<const NodeProgram> programs_;
  std::span<const TermPlace> terms_;
  std::vector<std::uint16_t> names_;
  Wave passing_, rows_;
  std::vector<PassingPlace> places_;
  std::vector<Section> sections_;
  std::vector<std::uint32_t> next_;  // by program
  PackedBatch packed_;
};

}  // namespace rulemill::execute
