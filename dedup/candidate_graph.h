// The two sides of a candidate as one small graph: leaves (variables) and nodes shared by both. It can be brought to a
// form that does not depend on the names of variables, and be changed: subterms and variables replaced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dedup/term_rows.h"
#include "runtime/bytes.h"

namespace rulemill::dedup {

/// A leaf or an output of a node.
struct GraphTerm {
  bool is_leaf = false;
  std::uint8_t output = 0;
  std::uint16_t index = 0;
  bool operator==(const GraphTerm&) const = default;
  auto operator<=>(const GraphTerm&) const = default;
};

struct GraphNode {
  std::uint16_t instance = 0;  // of the dictionary
  std::vector<std::int64_t> sizes;
  std::vector<GraphTerm> arguments;
  std::vector<std::uint16_t> types;  // by output; no_instance where no row said
  bool operator==(const GraphNode&) const = default;
};

struct GraphLeaf {
  std::uint16_t type = 0;
  std::uint16_t padding = 0;
  std::uint32_t variable = no_id;  // of the profile; no_id: a fresh one
};

struct CandidateGraph {
  std::vector<GraphLeaf> leaves;
  std::vector<GraphNode> nodes;  // arguments before users
  std::vector<GraphTerm> source, target;

  std::uint16_t type(GraphTerm t) const {
    return t.is_leaf ? leaves[t.index].type : nodes[t.index].types[t.output];
  }
  /// Nodes below the terms.
  std::vector<bool> below(const std::vector<GraphTerm>& terms) const;
  std::size_t size(const std::vector<GraphTerm>& terms) const;
  /// Drops leaves and nodes that nothing uses, merges equal nodes, and puts nodes in order of need.
  void clean();
};

/// source ⇒ target from the table.
CandidateGraph graph_of(const TermRows& rows, const std::vector<TermId>& source, const std::vector<TermId>& target);

/// Bytes, and back.
void append(runtime::Bytes& bytes, const CandidateGraph& graph);
CandidateGraph read_graph(runtime::ByteView& bytes);

}  // namespace rulemill::dedup
