#include "dedup/generalize.h"

namespace rulemill::dedup {
namespace {

constexpr std::size_t most_places = 8;

/// One place where a term is used: an argument of a node, or an output of a side.
struct Place {
  enum class Where : std::uint8_t { Argument, Source, Target };
  Where where = Where::Argument;
  std::uint8_t node = 0;
  std::uint8_t index = 0;
};

using Places = BoundedList<Place, most_graph_nodes * enumerate::max_arity + 2 * most_graph_outputs>;

Places places_of(const CandidateGraph& graph, GraphTerm term) {
  Places places;
  for (std::uint8_t n = 0; n < graph.nodes.size(); ++n) {
    for (std::uint8_t a = 0; a < graph.nodes[n].arguments.size(); ++a) {
      if (graph.nodes[n].arguments[a] == term) places.push_back({Place::Where::Argument, n, a});
    }
  }
  for (std::uint8_t i = 0; i < graph.source.size(); ++i) {
    if (graph.source[i] == term) places.push_back({Place::Where::Source, 0, i});
  }
  for (std::uint8_t i = 0; i < graph.target.size(); ++i) {
    if (graph.target[i] == term) places.push_back({Place::Where::Target, 0, i});
  }
  return places;
}

void put(CandidateGraph& graph, const Place& place, GraphTerm term) {
  switch (place.where) {
    case Place::Where::Argument:
      graph.nodes[place.node].arguments[place.index] = term;
      break;
    case Place::Where::Source:
      graph.source[place.index] = term;
      break;
    case Place::Where::Target:
      graph.target[place.index] = term;
      break;
  }
}

GraphTerm fresh_leaf(CandidateGraph& graph, std::uint16_t type) {
  graph.leaves.push_back(type);
  return {true, 0, static_cast<std::uint8_t>(graph.leaves.size() - 1)};
}

bool is_output(const GraphSide& side, GraphTerm term) {
  return std::find(side.begin(), side.end(), term) != side.end();
}

/// A subterm, on one side or both, becomes a variable: larger ones first.
bool replace_subterm(CandidateGraph& graph, Trial& trial) {
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    for (std::uint8_t o = 0; o < graph.nodes[n].types.size(); ++o) {
      const GraphTerm term{false, o, static_cast<std::uint8_t>(n)};
      // A whole side is not equal to a variable, unless the other side has it, too.
      if (graph.source.size() == 1 && is_output(graph.source, term) != is_output(graph.target, term)) {
        const std::uint32_t other =
            is_output(graph.source, term) ? graph.below(graph.target) : graph.below(graph.source);
        if (!(other >> n & 1)) continue;
      }
      const auto places = places_of(graph, term);
      if (places.empty()) continue;
      CandidateGraph changed = graph;
      const GraphTerm leaf = fresh_leaf(changed, graph.type(term));
      for (const Place& place : places) put(changed, place, leaf);
      changed.clean();
      if (!trial.holds(changed)) continue;
      graph = changed;
      return true;
    }
  }
  return false;
}

/// Number of nodes of the sides as trees; stops counting above the limit.
std::size_t tree_size(const CandidateGraph& graph, std::size_t limit) {
  std::size_t total = 0;
  std::array<std::size_t, most_graph_nodes> size{};
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

/// The graph with every node used once: its sides as trees.
CandidateGraph unshared(const CandidateGraph& graph) {
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

/// A variable in several places becomes two.
bool split_variable(CandidateGraph& graph, Trial& trial, std::size_t max_ops) {
  const CandidateGraph tree = tree_size(graph, most_graph_nodes) <= most_graph_nodes ? unshared(graph) : graph;
  for (std::uint8_t l = 0; l < tree.leaves.size(); ++l) {
    const GraphTerm term{true, 0, l};
    const auto places = places_of(tree, term);
    if (places.size() < 2 || places.size() > most_places) continue;
    // The first place keeps the variable; any non-empty set of the others gets a new one.
    for (std::size_t chosen = 1; chosen < std::size_t{1} << (places.size() - 1); ++chosen) {
      CandidateGraph changed = tree;
      const GraphTerm leaf = fresh_leaf(changed, tree.type(term));
      for (std::size_t i = 1; i < places.size(); ++i) {
        if (chosen >> (i - 1) & 1) put(changed, places[i], leaf);
      }
      changed.clean();
      if (changed.size(changed.source) > max_ops || changed.size(changed.target) > max_ops) continue;
      if (!trial.holds(changed)) continue;
      graph = changed;
      return true;
    }
  }
  return false;
}

}  // namespace

bool generalize(CandidateGraph& graph, Trial& trial, std::size_t max_ops) {
  bool changed = false;
  while (replace_subterm(graph, trial) || split_variable(graph, trial, max_ops)) changed = true;
  return changed;
}

}  // namespace rulemill::dedup
