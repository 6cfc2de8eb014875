// Symbolic positions of splits. A dimension that is a sum a + b has a boundary at a, which every dimension that fills
// the same slot inherits. A split whose concrete position equals that of a boundary on its axis is at that boundary:
// a split after a concat is at the concat's first dimension. The search for boundaries is the same on terms, whose
// sizes are symbolic, and on graphs with numbers.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "algebra/operators/operator_instance.h"
#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// The terms below a node: types inferred so far, size slots of nodes, and the example's value of a polynomial.
struct PositionContext {
  const TermBank& bank;
  const std::unordered_map<TermId, Shape>& types;
  const std::unordered_map<NodeId, std::vector<Poly>>& slots;
  std::function<std::int64_t(const Poly&)> example;
};

/// Returns the first boundary, arguments left to right, on the axis that size parameter `slot` of `node` cuts and with
/// example value `number`; nullopt if there is none.
std::optional<Poly> trace_split_position(const PositionContext& context, NodeId node, std::uint32_t slot,
                                         std::int64_t number);

/// Returns the nearest boundary below on that axis, independently of the example.
std::optional<Poly> nearest_split_position(const PositionContext& context, NodeId node, std::uint32_t slot);

/// Slots of input dimensions d that the parameter is subtracted from (d − parameter) or compared with (parameter < d).
std::vector<std::uint32_t> cut_slots(const OperatorInstance& instance, std::uint32_t parameter);

enum class Boundaries { Nearest, All };

/// `Graph` has the types Node and Value and the functions
///   const OperatorInstance& instance(Node);
///   std::optional<std::pair<Node, std::uint32_t>> producer(Node, std::size_t argument);  // its node and output
///   Value slot(Node, std::uint32_t slot);
///   bool is_positive(const Value&);
template <class Graph>
class BoundarySearch {
 public:
  using Node = typename Graph::Node;
  using Value = typename Graph::Value;

  BoundarySearch(Graph& graph, Boundaries boundaries) : graph_(graph), boundaries_(boundaries) {}

  /// Boundaries along every argument dimension that fills this slot, arguments left to right.
  std::vector<Value> of_slot(Node node, std::uint32_t slot) const { return of_slot(node, slot, max_steps); }

 private:
  /// Maximum number of nodes between a boundary and the split.
  static constexpr int max_steps = 32;

  static void append(std::vector<Value>& to, const std::vector<Value>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }

  std::vector<Value> of_slot(Node node, std::uint32_t slot, int max_depth) const {
    std::vector<Value> positions;
    const OperatorInstance& instance = graph_.instance(node);
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      for (std::size_t d = 0; d < instance.inputs[i].size(); ++d) {
        const IndexExpr& dim = *instance.inputs[i][d];
        if (dim.kind != IndexExpr::Kind::Size || dim.slot != slot || max_depth == 1) continue;
        const auto producer = graph_.producer(node, i);
        if (!producer) continue;
        const IndexExprPtr& made = graph_.instance(producer->first).outputs[producer->second].dims[d];
        append(positions, of_expression(producer->first, *made, max_depth - 1));
      }
    }
    return positions;
  }

  std::vector<Value> of_expression(Node node, const IndexExpr& expression, int max_depth) const {
    using Kind = IndexExpr::Kind;
    std::vector<Value> positions;
    if (expression.kind == Kind::Size) return of_slot(node, expression.slot, max_depth);
    if (expression.kind == Kind::Add && expression.a->kind == Kind::Size && expression.b->kind == Kind::Size) {
      const Value first = graph_.slot(node, expression.a->slot);
      if (boundaries_ == Boundaries::Nearest) return {first};
      append(positions, of_slot(node, expression.a->slot, max_depth));
      positions.push_back(first);
      for (const Value& position : of_slot(node, expression.b->slot, max_depth)) positions.push_back(first + position);
    }
    if (boundaries_ == Boundaries::All && expression.kind == Kind::Sub && expression.a->kind == Kind::Size &&
        expression.b->kind == Kind::Size) {
      const Value cut_position = graph_.slot(node, expression.b->slot);
      for (const Value& position : of_slot(node, expression.a->slot, max_depth)) {
        if (graph_.is_positive(position - cut_position)) positions.push_back(position - cut_position);
      }
    }
    return positions;
  }

  Graph& graph_;
  Boundaries boundaries_;
};

/// Returns the first boundary on the axis that size parameter `slot` of `node` cuts and for which `matches` is true.
template <class Graph, class Matches>
std::optional<typename Graph::Value> find_boundary(Graph& graph, typename Graph::Node node, std::uint32_t slot,
                                                   const Matches& matches) {
  const BoundarySearch<Graph> search(graph, Boundaries::All);
  for (const std::uint32_t whole : cut_slots(graph.instance(node), slot)) {
    for (auto& position : search.of_slot(node, whole)) {
      if (matches(position)) return std::move(position);
    }
  }
  return std::nullopt;
}

}  // namespace rulemill::algebra
