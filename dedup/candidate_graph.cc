#include "dedup/candidate_graph.h"

#include <algorithm>
#include <map>

#include "runtime/error.h"

namespace rulemill::dedup {
namespace {

/// Builds a graph from rows, or from another graph's terms, hash-consing as it goes.
class Builder {
 public:
  explicit Builder(const TermRows& rows) : rows_(rows) {}

  GraphTerm add(TermId t) {
    if (const auto found = done_.find(t); found != done_.end()) return found->second;
    const TermRow& row = rows_.row(t);
    GraphTerm term;
    if (row.instance == fingerprint::no_instance) {
      term = {true, 0, static_cast<std::uint16_t>(graph.leaves.size())};
      graph.leaves.push_back({row.type, 0, t});
    } else {
      const auto [found, added] = nodes_.try_emplace(row.node, 0);
      if (added) {
        GraphNode node;
        node.instance = row.instance;
        for (const std::uint32_t size : row.sizes) {
          if (size != no_id) node.sizes.push_back(size);
        }
        for (const std::uint32_t argument : row.arguments) {
          if (argument != no_id) node.arguments.push_back(add(argument));
        }
        graph.nodes.push_back(std::move(node));
        found->second = static_cast<std::uint16_t>(graph.nodes.size() - 1);
      }
      term = {false, row.output, found->second};
      auto& types = graph.nodes[found->second].types;
      if (types.size() <= row.output) types.resize(row.output + 1, fingerprint::no_instance);
      types[row.output] = row.type;
    }
    done_.emplace(t, term);
    return term;
  }

  CandidateGraph graph;

 private:
  const TermRows& rows_;
  std::map<TermId, GraphTerm> done_;
  std::map<std::uint32_t, std::uint16_t> nodes_;
};

}  // namespace

CandidateGraph graph_of(const TermRows& rows, const std::vector<TermId>& source, const std::vector<TermId>& target) {
  Builder builder(rows);
  for (const TermId t : source) builder.graph.source.push_back(builder.add(t));
  for (const TermId t : target) builder.graph.target.push_back(builder.add(t));
  return std::move(builder.graph);
}

std::vector<bool> CandidateGraph::below(const std::vector<GraphTerm>& terms) const {
  std::vector<bool> reached(nodes.size(), false);
  for (const GraphTerm t : terms) {
    if (!t.is_leaf) reached[t.index] = true;
  }
  for (std::size_t n = nodes.size(); n-- > 0;) {
    if (!reached[n]) continue;
    for (const GraphTerm argument : nodes[n].arguments) {
      if (!argument.is_leaf) reached[argument.index] = true;
    }
  }
  return reached;
}

std::size_t CandidateGraph::size(const std::vector<GraphTerm>& terms) const {
  const std::vector<bool> reached = below(terms);
  return static_cast<std::size_t>(std::ranges::count(reached, true));
}

void CandidateGraph::clean() {
  CandidateGraph made;
  std::vector<std::uint16_t> leaf(leaves.size(), fingerprint::no_instance), node(nodes.size(), fingerprint::no_instance);
  const auto visit = [&](const auto& self, GraphTerm t) -> GraphTerm {
    if (t.is_leaf) {
      if (leaf[t.index] == fingerprint::no_instance) {
        leaf[t.index] = static_cast<std::uint16_t>(made.leaves.size());
        made.leaves.push_back(leaves[t.index]);
      }
      return {true, 0, leaf[t.index]};
    }
    if (node[t.index] == fingerprint::no_instance) {
      GraphNode copy = nodes[t.index];
      for (GraphTerm& argument : copy.arguments) argument = self(self, argument);
      const auto same = std::ranges::find_if(made.nodes, [&](const GraphNode& other) {
        return other.instance == copy.instance && other.sizes == copy.sizes && other.arguments == copy.arguments;
      });
      node[t.index] = static_cast<std::uint16_t>(same - made.nodes.begin());
      if (same == made.nodes.end()) {
        made.nodes.push_back(std::move(copy));
      } else {
        same->types.resize(std::max(same->types.size(), copy.types.size()), fingerprint::no_instance);
        for (std::size_t o = 0; o < copy.types.size(); ++o) {
          if (copy.types[o] != fingerprint::no_instance) same->types[o] = copy.types[o];
        }
      }
    }
    return {false, t.output, node[t.index]};
  };
  for (const GraphTerm t : source) made.source.push_back(visit(visit, t));
  for (const GraphTerm t : target) made.target.push_back(visit(visit, t));
  *this = std::move(made);
}

namespace {

template <class T>
T take(runtime::ByteView& bytes) {
  RM_CHECK(bytes.size() >= sizeof(T), "a candidate's bytes end early");
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes = bytes.subspan(sizeof(T));
  return value;
}

template <class T>
std::vector<T> take_list(runtime::ByteView& bytes) {
  std::vector<T> list(take<std::uint16_t>(bytes));
  for (T& value : list) value = take<T>(bytes);
  return list;
}

template <class T>
void append_list(runtime::Bytes& bytes, const std::vector<T>& list) {
  runtime::append_value(bytes, static_cast<std::uint16_t>(list.size()));
  for (const T& value : list) runtime::append_value(bytes, value);
}

}  // namespace

void append(runtime::Bytes& bytes, const CandidateGraph& graph) {
  append_list(bytes, graph.leaves);
  runtime::append_value(bytes, static_cast<std::uint16_t>(graph.nodes.size()));
  for (const GraphNode& node : graph.nodes) {
    runtime::append_value(bytes, node.instance);
    append_list(bytes, node.sizes);
    append_list(bytes, node.arguments);
    append_list(bytes, node.types);
  }
  append_list(bytes, graph.source);
  append_list(bytes, graph.target);
}

CandidateGraph read_graph(runtime::ByteView& bytes) {
  CandidateGraph graph;
  graph.leaves = take_list<GraphLeaf>(bytes);
  graph.nodes.resize(take<std::uint16_t>(bytes));
  for (GraphNode& node : graph.nodes) {
    node.instance = take<std::uint16_t>(bytes);
    node.sizes = take_list<std::int64_t>(bytes);
    node.arguments = take_list<GraphTerm>(bytes);
    node.types = take_list<std::uint16_t>(bytes);
  }
  graph.source = take_list<GraphTerm>(bytes);
  graph.target = take_list<GraphTerm>(bytes);
  return graph;
}

}  // namespace rulemill::dedup
