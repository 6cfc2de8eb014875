#include "algebra/terms/split_positions.h"

namespace rulemill::algebra {

namespace {

using IndexKind = IndexExpr::Kind;

/// Maximum number of nodes between a boundary and the split.
constexpr int max_steps = 32;

enum class Boundaries { Nearest, All };

class BoundarySearch {
 public:
  BoundarySearch(const PositionContext& context, Boundaries boundaries) : context_(context), boundaries_(boundaries) {}

  /// Boundaries along one dimension of a term, at most `max_depth` nodes below.
  std::vector<Poly> of_term(TermId id, std::size_t dimension, int max_depth) const {
    const Term& term = context_.bank.term(id);
    if (term.is_variable || max_depth == 0) return {};
    const OperatorInstance& instance = context_.bank.instance_of(id);
    return of_expression(term.node, *instance.outputs[term.output].dims[dimension], max_depth);
  }

  /// Boundaries along every argument dimension that fills this slot.
  std::vector<Poly> of_slot(NodeId node, std::uint32_t slot, int max_depth) const {
    std::vector<Poly> positions;
    const OperatorInstance& instance = context_.bank.library().instance(context_.bank.node(node).instance);
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      for (std::size_t d = 0; d < instance.inputs[i].size(); ++d) {
        const IndexExpr& dim = *instance.inputs[i][d];
        if (dim.kind != IndexKind::Size || dim.slot != slot) continue;
        append(positions, of_term(context_.bank.node(node).arguments[i], d, max_depth - 1));
      }
    }
    return positions;
  }

 private:
  static void append(std::vector<Poly>& to, const std::vector<Poly>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }

  std::vector<Poly> of_expression(NodeId node, const IndexExpr& expression, int max_depth) const {
    const std::vector<Poly>& slots = context_.slots.at(node);
    std::vector<Poly> positions;
    if (expression.kind == IndexKind::Size) return of_slot(node, expression.slot, max_depth);
    if (expression.kind == IndexKind::Add && expression.a->kind == IndexKind::Size &&
        expression.b->kind == IndexKind::Size) {
      const Poly& first = slots[expression.a->slot];
      if (boundaries_ == Boundaries::Nearest) return {first};
      append(positions, of_slot(node, expression.a->slot, max_depth));
      positions.push_back(first);
      for (const Poly& position : of_slot(node, expression.b->slot, max_depth)) positions.push_back(first + position);
    }
    if (boundaries_ == Boundaries::All && expression.kind == IndexKind::Sub && expression.a->kind == IndexKind::Size &&
        expression.b->kind == IndexKind::Size) {
      const Poly& cut_position = slots[expression.b->slot];
      for (const Poly& position : of_slot(node, expression.a->slot, max_depth)) {
        if (context_.example(position - cut_position) > 0) positions.push_back(position - cut_position);
      }
    }
    return positions;
  }

  const PositionContext& context_;
  Boundaries boundaries_;
};

/// Slots of input dimensions d that the parameter is subtracted from (d − parameter) or compared with (parameter < d).
std::vector<std::uint32_t> cut_slots(const OperatorInstance& instance, std::uint32_t parameter) {
  std::vector<std::uint32_t> slots;
  const auto add_if_cut = [&](const IndexExpr& whole, const IndexExpr& part) {
    if (whole.kind == IndexKind::Size && part.kind == IndexKind::Size && part.slot == parameter)
      slots.push_back(whole.slot);
  };
  for (const TensorDefinition& output : instance.outputs) {
    for (const IndexExprPtr& dim : output.dims) {
      if (dim->kind == IndexKind::Sub) add_if_cut(*dim->a, *dim->b);
    }
  }
  for (const Comparison& condition : instance.conditions) add_if_cut(*condition.b, *condition.a);
  return slots;
}

}  // namespace

std::optional<Poly> trace_split_position(const PositionContext& context, NodeId node, std::uint32_t slot,
                                         std::int64_t number) {
  const OperatorInstance& instance = context.bank.library().instance(context.bank.node(node).instance);
  const BoundarySearch search(context, Boundaries::All);
  for (const std::uint32_t whole : cut_slots(instance, slot)) {
    for (Poly& position : search.of_slot(node, whole, max_steps)) {
      if (context.example(position) == number) return std::move(position);
    }
  }
  return std::nullopt;
}

std::optional<Poly> nearest_split_position(const PositionContext& context, NodeId node, std::uint32_t slot) {
  const OperatorInstance& instance = context.bank.library().instance(context.bank.node(node).instance);
  const BoundarySearch search(context, Boundaries::Nearest);
  for (const std::uint32_t whole : cut_slots(instance, slot)) {
    std::vector<Poly> positions = search.of_slot(node, whole, max_steps);
    if (!positions.empty()) return std::move(positions.front());
  }
  return std::nullopt;
}

}  // namespace rulemill::algebra
