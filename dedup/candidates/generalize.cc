#include "dedup/candidates/generalize.h"

namespace rulemill::dedup {
namespace {

constexpr std::size_t max_uses = 8;

/// A use of a term: an argument of a node, or an output of a side.
struct Use {
  enum class Kind : std::uint8_t { Argument, Source, Target };
  Kind kind = Kind::Argument;
  std::uint8_t node = 0;
  std::uint8_t index = 0;
};

using Uses = BoundedList<Use, max_graph_nodes * enumerate::max_arity + 2 * max_graph_outputs>;

Uses uses_of(const CandidateGraph& graph, GraphTerm term) {
  Uses uses;
  for (std::uint8_t n = 0; n < graph.nodes.size(); ++n) {
    for (std::uint8_t a = 0; a < graph.nodes[n].arguments.size(); ++a) {
      if (graph.nodes[n].arguments[a] == term) uses.push_back({Use::Kind::Argument, n, a});
    }
  }
  for (std::uint8_t i = 0; i < graph.source.size(); ++i) {
    if (graph.source[i] == term) uses.push_back({Use::Kind::Source, 0, i});
  }
  for (std::uint8_t i = 0; i < graph.target.size(); ++i) {
    if (graph.target[i] == term) uses.push_back({Use::Kind::Target, 0, i});
  }
  return uses;
}

void replace(CandidateGraph& graph, const Use& use, GraphTerm term) {
  switch (use.kind) {
    case Use::Kind::Argument:
      graph.nodes[use.node].arguments[use.index] = term;
      break;
    case Use::Kind::Source:
      graph.source[use.index] = term;
      break;
    case Use::Kind::Target:
      graph.target[use.index] = term;
      break;
  }
}

GraphTerm add_leaf(CandidateGraph& graph, std::uint16_t type) {
  graph.leaves.push_back(type);
  return {true, 0, static_cast<std::uint8_t>(graph.leaves.size() - 1)};
}

bool is_output(const GraphSide& side, GraphTerm term) {
  return std::find(side.begin(), side.end(), term) != side.end();
}

/// Replaces the largest possible subterm, on one side or both, by a variable.
bool replace_subterm(CandidateGraph& graph, EqualityTest& test) {
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    for (std::uint8_t o = 0; o < graph.nodes[n].types.size(); ++o) {
      const GraphTerm term{false, o, static_cast<std::uint8_t>(n)};
      // A whole side may become a variable only if the other side contains it.
      if (graph.source.size() == 1 && is_output(graph.source, term) != is_output(graph.target, term)) {
        const std::uint32_t other =
            is_output(graph.source, term) ? graph.nodes_below(graph.target) : graph.nodes_below(graph.source);
        if (!(other >> n & 1)) continue;
      }
      const auto uses = uses_of(graph, term);
      if (uses.empty()) continue;
      CandidateGraph changed = graph;
      const GraphTerm leaf = add_leaf(changed, graph.type(term));
      for (const Use& use : uses) replace(changed, use, leaf);
      changed.normalize();
      if (!test.passes(changed)) continue;
      graph = changed;
      return true;
    }
  }
  return false;
}

/// Returns the number of nodes of both sides as trees. Counts up to `limit` per node.
std::size_t tree_size(const CandidateGraph& graph, std::size_t limit) {
  std::size_t total = 0;
  std::array<std::size_t, max_graph_nodes> size{};
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    size[n] = 1;
    for (const GraphTerm t : graph.nodes[n].arguments) size[n] += t.is_leaf ? 0 : size[t.index];
    size[n] = std::min(size[n], limit + 1);
  }
  for (const GraphSide* side : {&graph.source, &graph.target}) {
    for (const GraphTerm t : *side) total += t.is_leaf ? 0 : size[t.index];
  }
  return total;
}

/// Returns the graph with both sides as trees: every node has one use.
CandidateGraph expand_to_trees(const CandidateGraph& graph) {
  CandidateGraph made;
  made.leaves = graph.leaves;
  const auto copy = [&](const auto& self, GraphTerm t) -> GraphTerm {
    if (t.is_leaf) return t;
    GraphNode node = graph.nodes[t.index];
    for (GraphTerm& argument : node.arguments) argument = self(self, argument);
    made.nodes.push_back(node);
    return {false, t.output, static_cast<std::uint8_t>(made.nodes.size() - 1)};
  };
  for (const GraphTerm t : graph.source) made.source.push_back(copy(copy, t));
  for (const GraphTerm t : graph.target) made.target.push_back(copy(copy, t));
  return made;
}

/// Splits a variable with several uses into two variables.
bool split_variable(CandidateGraph& graph, EqualityTest& test, std::size_t max_ops) {
  const CandidateGraph tree = tree_size(graph, max_graph_nodes) <= max_graph_nodes ? expand_to_trees(graph) : graph;
  for (std::uint8_t l = 0; l < tree.leaves.size(); ++l) {
    const GraphTerm term{true, 0, l};
    const auto uses = uses_of(tree, term);
    if (uses.size() < 2 || uses.size() > max_uses) continue;
    // The first use keeps the variable; a non-empty subset of the others gets a new one.
    for (std::size_t chosen = 1; chosen < std::size_t{1} << (uses.size() - 1); ++chosen) {
      CandidateGraph changed = tree;
      const GraphTerm leaf = add_leaf(changed, tree.type(term));
      for (std::size_t i = 1; i < uses.size(); ++i) {
        if (chosen >> (i - 1) & 1) replace(changed, uses[i], leaf);
      }
      changed.normalize();
      if (changed.size(changed.source) > max_ops || changed.size(changed.target) > max_ops) continue;
      if (!test.passes(changed)) continue;
      graph = changed;
      return true;
    }
  }
  return false;
}

}  // namespace

bool generalize_once(CandidateGraph& graph, EqualityTest& test, std::size_t max_ops) {
  return replace_subterm(graph, test) || split_variable(graph, test, max_ops);
}

}  // namespace rulemill::dedup
