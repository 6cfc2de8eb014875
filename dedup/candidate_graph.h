// The two sides of a candidate as one small graph: leaves (variables) and nodes shared by both. It can be brought to a
// form that does not depend on the names of variables, and be changed: subterms and variables replaced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dedup/bounded_list.h"
#include "dedup/term_rows.h"
#include "runtime/bytes.h"

namespace rulemill::dedup {

/// A leaf or an output of a node.
struct GraphTerm {
  bool is_leaf = false;
  std::uint8_t output = 0;
  std::uint8_t index = 0;
  bool operator==(const GraphTerm&) const = default;
  auto operator<=>(const GraphTerm&) const = default;
};

inline constexpr std::size_t most_graph_nodes = 32;
inline constexpr std::size_t most_graph_leaves = 48;
inline constexpr std::size_t most_graph_outputs = 4;

struct GraphNode {
  std::uint16_t instance = 0;                            // of the dictionary
  BoundedList<std::uint16_t, most_graph_outputs> types;  // by output; no_instance where no row said
  std::uint16_t mark = 0;                                // whatever one wants to know of the node while it moves about
  BoundedList<GraphTerm, enumerate::max_arity> arguments;
  BoundedList<std::int64_t, TermRow::most_sizes> sizes;
};

/// Terms of one side.
using GraphSide = BoundedList<GraphTerm, most_graph_outputs>;

struct CandidateGraph {
  BoundedList<std::uint16_t, most_graph_leaves> leaves;  // their types
  BoundedList<GraphNode, most_graph_nodes> nodes;        // arguments before users
  GraphSide source, target;

  std::uint16_t type(GraphTerm t) const { return t.is_leaf ? leaves[t.index] : nodes[t.index].types[t.output]; }
  /// Nodes below the terms.
  std::uint32_t below(const GraphSide& terms) const;  // bit n: node n
  std::size_t size(const GraphSide& terms) const;
  /// Drops leaves and nodes that nothing uses, merges equal nodes, and puts nodes in order of need.
  void clean();
};

/// source ⇒ target from the table.
CandidateGraph graph_of(const TermRows& rows, std::span<const Occurrence> source, std::span<const Occurrence> target);

/// Bytes, and back.
void append(runtime::Bytes& bytes, const CandidateGraph& graph);
CandidateGraph read_graph(runtime::ByteView& bytes);

}  // namespace rulemill::dedup
