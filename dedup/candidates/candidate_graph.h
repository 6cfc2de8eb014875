// The two sides of a candidate as one small graph, in which they share leaves (variables) and nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dedup/candidates/bounded_list.h"
#include "dedup/terms/term_rows.h"
#include "runtime/text/bytes.h"

namespace rulemill::dedup {

/// A leaf or an output of a node.
struct GraphTerm {
  bool is_leaf = false;
  std::uint8_t output = 0;
  std::uint8_t index = 0;
  bool operator==(const GraphTerm&) const = default;
  auto operator<=>(const GraphTerm&) const = default;
};

inline constexpr std::size_t max_graph_nodes = 32;
inline constexpr std::size_t max_graph_leaves = 48;
inline constexpr std::size_t max_graph_outputs = 4;

struct GraphNode {
  std::uint16_t instance = 0;                           // index in the dictionary
  BoundedList<std::uint16_t, max_graph_outputs> types;  // by output; no_instance if unknown
  std::uint16_t tag = 0;                                // data of an algorithm that reorders nodes
  BoundedList<GraphTerm, enumerate::max_arity> arguments;
  BoundedList<std::int64_t, TermRow::max_sizes> sizes;
};

/// Terms of one side.
using GraphSide = BoundedList<GraphTerm, max_graph_outputs>;

struct CandidateGraph {
  BoundedList<std::uint16_t, max_graph_leaves> leaves;  // types
  BoundedList<GraphNode, max_graph_nodes> nodes;        // arguments precede their users
  GraphSide source, target;

  std::uint16_t type(GraphTerm t) const { return t.is_leaf ? leaves[t.index] : nodes[t.index].types[t.output]; }
  /// Returns the nodes that the terms depend on; bit n is node n.
  std::uint32_t nodes_below(const GraphSide& terms) const;
  /// Returns the number of these nodes.
  std::size_t size(const GraphSide& terms) const;
  /// Removes unused leaves and nodes, merges equal nodes, and orders nodes by first use.
  void normalize();
};

/// Builds the graph of source ⇒ target from the term table.
CandidateGraph make_graph(const TermRows& rows, std::span<const RenamedTerm> source,
                          std::span<const RenamedTerm> target);

/// Serializes the graph.
void append(runtime::Bytes& bytes, const CandidateGraph& graph);
CandidateGraph read_graph(runtime::ByteView& bytes);

/// Serialized candidates, to save memory.
using PackedCandidates = std::vector<std::string>;
std::string pack(const CandidateGraph& graph);
CandidateGraph unpack(const std::string& packed);

}  // namespace rulemill::dedup
