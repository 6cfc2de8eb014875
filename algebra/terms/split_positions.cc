#include "algebra/terms/split_positions.h"

namespace rulemill::algebra {
namespace {

/// Terms with symbolic sizes, for a BoundarySearch.
struct TermGraph {
  using Node = NodeId;
  using Value = Poly;

  const PositionContext& context;

  const OperatorInstance& instance(NodeId node) const {
    return context.bank.library().instance(context.bank.node(node).instance);
  }
  std::optional<std::pair<NodeId, std::uint32_t>> producer(NodeId node, std::size_t argument) const {
    const Term& term = context.bank.term(context.bank.node(node).arguments[argument]);
    if (term.is_variable) return std::nullopt;
    return std::pair(term.node, term.output);
  }
  const Poly& slot(NodeId node, std::uint32_t slot) const { return context.slots.at(node)[slot]; }
  bool is_positive(const Poly& size) const { return context.example(size) > 0; }
};

}  // namespace

std::vector<std::uint32_t> cut_slots(const OperatorInstance& instance, std::uint32_t parameter) {
  std::vector<std::uint32_t> slots;
  const auto add_if_cut = [&](const IndexExpr& whole, const IndexExpr& part) {
    if (whole.kind == IndexExpr::Kind::Size && part.kind == IndexExpr::Kind::Size && part.slot == parameter)
      slots.push_back(whole.slot);
  };
  for (const TensorDefinition& output : instance.outputs) {
    for (const IndexExprPtr& dim : output.dims) {
      if (dim->kind == IndexExpr::Kind::Sub) add_if_cut(*dim->a, *dim->b);
    }
  }
  for (const Comparison& condition : instance.conditions) add_if_cut(*condition.b, *condition.a);
  return slots;
}

std::optional<Poly> trace_split_position(const PositionContext& context, NodeId node, std::uint32_t slot,
                                         std::int64_t number) {
  TermGraph graph{context};
  return find_boundary(graph, node, slot, [&](const Poly& position) { return context.example(position) == number; });
}

std::optional<Poly> nearest_split_position(const PositionContext& context, NodeId node, std::uint32_t slot) {
  TermGraph graph{context};
  const BoundarySearch search(graph, Boundaries::Nearest);
  for (const std::uint32_t whole : cut_slots(graph.instance(node), slot)) {
    std::vector<Poly> positions = search.of_slot(node, whole);
    if (!positions.empty()) return std::move(positions.front());
  }
  return std::nullopt;
}

}  // namespace rulemill::algebra
