#include "dedup/candidates/candidate_graph.h"

#include <bit>

#include "runtime/text/byte_lists.h"

namespace rulemill::dedup {
namespace {

/// Builds a graph from rows. Within one renamed term, nodes with different ids differ. Equal nodes of two renamed terms
/// are merged by normalize().
class Builder {
 public:
  explicit Builder(const TermRows& rows) : rows_(rows) {}

  GraphTerm add(const RenamedTerm& renamed) {
    ids_.clear();
    variable_map_ = rows_.variable_map(renamed);
    first_node_ = graph.nodes.size();
    return add(renamed.term);
  }

  CandidateGraph graph;

 private:
  GraphTerm add(TermId t) {
    const TermRow& row = rows_.row(t);
    if (row.instance == fingerprint::no_instance) {
      const std::uint8_t variable = variable_map_(static_cast<std::uint8_t>(t));
      for (std::uint8_t l = 0; l < variables_.size(); ++l) {
        if (variables_[l] == variable) return {true, 0, l};
      }
      variables_.push_back(variable);
      graph.leaves.push_back(row.type);
      return {true, 0, static_cast<std::uint8_t>(variables_.size() - 1)};
    }
    std::uint8_t n = 0;
    while (n < ids_.size() && ids_[n] != row.node) ++n;
    if (n == ids_.size()) {
      GraphNode node;
      node.instance = row.instance;
      for (const std::uint32_t size : row.sizes) {
        if (size != no_id) node.sizes.push_back(size);
      }
      for (const std::uint32_t argument : row.arguments) {
        if (argument != no_id) node.arguments.push_back(add(argument));
      }
      n = static_cast<std::uint8_t>(ids_.size());
      ids_.push_back(row.node);
      graph.nodes.push_back(node);
    }
    n = static_cast<std::uint8_t>(first_node_ + n);
    auto& types = graph.nodes[n].types;
    if (types.size() <= row.output) types.resize(row.output + 1u, fingerprint::no_instance);
    types[row.output] = row.type;
    return {false, row.output, n};
  }

  const TermRows& rows_;
  TermRows::VariableMap variable_map_;
  std::size_t first_node_ = 0;
  BoundedList<std::uint8_t, max_graph_leaves> variables_;
  BoundedList<std::uint32_t, max_graph_nodes> ids_;  // of the current term's nodes
};

}  // namespace

CandidateGraph make_graph(const TermRows& rows, std::span<const RenamedTerm> source,
                          std::span<const RenamedTerm> target) {
  Builder builder(rows);
  for (const RenamedTerm& t : source) builder.graph.source.push_back(builder.add(t));
  for (const RenamedTerm& t : target) builder.graph.target.push_back(builder.add(t));
  return builder.graph;
}

std::uint32_t CandidateGraph::nodes_below(const GraphSide& terms) const {
  std::uint32_t reached = 0;
  for (const GraphTerm t : terms) reached |= t.is_leaf ? 0 : 1u << t.index;
  for (std::size_t n = nodes.size(); n-- > 0;) {
    if (!(reached >> n & 1)) continue;
    for (const GraphTerm argument : nodes[n].arguments) reached |= argument.is_leaf ? 0 : 1u << argument.index;
  }
  return reached;
}

std::size_t CandidateGraph::size(const GraphSide& terms) const {
  return static_cast<std::size_t>(std::popcount(nodes_below(terms)));
}

void CandidateGraph::normalize() {
  constexpr std::uint8_t none = 0xff;
  CandidateGraph result;
  std::array<std::uint8_t, max_graph_leaves> leaf;
  std::array<std::uint8_t, max_graph_nodes> node;
  leaf.fill(none);
  node.fill(none);
  const auto visit = [&](const auto& self, GraphTerm t) -> GraphTerm {
    if (t.is_leaf) {
      if (leaf[t.index] == none) {
        leaf[t.index] = static_cast<std::uint8_t>(result.leaves.size());
        result.leaves.push_back(leaves[t.index]);
      }
      return {true, 0, leaf[t.index]};
    }
    if (node[t.index] == none) {
      GraphNode copy = nodes[t.index];
      for (GraphTerm& argument : copy.arguments) argument = self(self, argument);
      auto* same = std::find_if(result.nodes.begin(), result.nodes.end(), [&](const GraphNode& other) {
        return other.instance == copy.instance && other.sizes == copy.sizes && other.arguments == copy.arguments;
      });
      node[t.index] = static_cast<std::uint8_t>(same - result.nodes.begin());
      if (same == result.nodes.end()) {
        result.nodes.push_back(copy);
      } else {
        same->types.resize(std::max(same->types.size(), copy.types.size()), fingerprint::no_instance);
        for (std::size_t o = 0; o < copy.types.size(); ++o) {
          if (copy.types[o] != fingerprint::no_instance) same->types[o] = copy.types[o];
        }
      }
    }
    return {false, t.output, node[t.index]};
  };
  for (const GraphTerm t : source) result.source.push_back(visit(visit, t));
  for (const GraphTerm t : target) result.target.push_back(visit(visit, t));
  *this = result;
}

namespace {

template <class T, std::size_t N>
void append_list(runtime::Bytes& bytes, const BoundedList<T, N>& list) {
  runtime::append_value(bytes, static_cast<std::uint8_t>(list.size()));
  for (const T& value : list) runtime::append_value(bytes, value);
}

template <class T, std::size_t N>
void take_list(runtime::ByteView& bytes, BoundedList<T, N>& list) {
  list.resize(runtime::take_value<std::uint8_t>(bytes));
  for (T& value : list) value = runtime::take_value<T>(bytes);
}

}  // namespace

void append(runtime::Bytes& bytes, const CandidateGraph& graph) {
  append_list(bytes, graph.leaves);
  runtime::append_value(bytes, static_cast<std::uint8_t>(graph.nodes.size()));
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
  take_list(bytes, graph.leaves);
  graph.nodes.resize(runtime::take_value<std::uint8_t>(bytes));
  for (GraphNode& node : graph.nodes) {
    node.instance = runtime::take_value<std::uint16_t>(bytes);
    take_list(bytes, node.sizes);
    take_list(bytes, node.arguments);
    take_list(bytes, node.types);
  }
  take_list(bytes, graph.source);
  take_list(bytes, graph.target);
  return graph;
}

std::string pack(const CandidateGraph& graph) {
  runtime::Bytes bytes;
  bytes.reserve(192);
  append(bytes, graph);
  return std::string(runtime::text_of(bytes));
}

CandidateGraph unpack(const std::string& packed) {
  runtime::ByteView view = runtime::bytes_of(packed);
  return read_graph(view);
}

}  // namespace rulemill::dedup
