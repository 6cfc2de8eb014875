#include "algebra/terms/split_positions.h"

namespace rulemill::algebra {

namespace {

using Kind = IndexExpr::Kind;

/// Nodes that a boundary may come up through.
constexpr int most_steps = 32;

enum class Reach { Nearest, All };

class PositionTrace {
 public:
  PositionTrace(const PositionContext& context, Reach reach) : context_(context), reach_(reach) {}

  /// Boundaries along one dimension of a term, in no more than `limit` steps down.
  std::vector<Poly> of_term(TermId id, std::size_t dimension, int limit) const {
    const Term& term = context_.bank.term(id);
    if (term.is_variable || limit == 0) return {};
    const Instance& instance = context_.bank.instance_of(id);
    return of_expression(term.node, *instance.outputs[term.output].dims[dimension], limit);
  }

  /// Boundaries along every argument dimension that is this slot.
  std::vector<Poly> of_slot(NodeId node, std::uint32_t slot, int limit) const {
    std::vector<Poly> positions;
    const Instance& instance = context_.bank.library().instance(context_.bank.node(node).instance);
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      for (std::size_t d = 0; d < instance.inputs[i].size(); ++d) {
        const IndexExpr& dim = *instance.inputs[i][d];
        if (dim.kind != Kind::Size || dim.slot != slot) continue;
        append(positions, of_term(context_.bank.node(node).arguments[i], d, limit - 1));
      }
    }
    return positions;
  }

 private:
  static void append(std::vector<Poly>& to, const std::vector<Poly>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }

  std::vector<Poly> of_expression(NodeId node, const IndexExpr& expression, int limit) const {
    const std::vector<Poly>& slots = context_.slots.at(node);
    std::vector<Poly> positions;
    if (expression.kind == Kind::Size) return of_slot(node, expression.slot, limit);
    if (expression.kind == Kind::Add && expression.a->kind == Kind::Size && expression.b->kind == Kind::Size) {
      const Poly& first = slots[expression.a->slot];
      if (reach_ == Reach::Nearest) return {first};
      append(positions, of_slot(node, expression.a->slot, limit));
      positions.push_back(first);
      for (const Poly& position : of_slot(node, expression.b->slot, limit)) positions.push_back(first + position);
    }
    if (reach_ == Reach::All && expression.kind == Kind::Sub && expression.a->kind == Kind::Size &&
        expression.b->kind == Kind::Size) {
      const Poly& cut = slots[expression.b->slot];
      for (const Poly& position : of_slot(node, expression.a->slot, limit)) {
        if (context_.example(position - cut) > 0) positions.push_back(position - cut);
      }
    }
    return positions;
  }

  const PositionContext& context_;
  Reach reach_;
};

/// Slots of input dimensions that the parameter is taken from (d − parameter) or compared with (parameter < d).
std::vector<std::uint32_t> cut_slots(const Instance& instance, std::uint32_t parameter) {
  std::vector<std::uint32_t> slots;
  const auto consider = [&](const IndexExpr& whole, const IndexExpr& part) {
    if (whole.kind == Kind::Size && part.kind == Kind::Size && part.slot == parameter) slots.push_back(whole.slot);
  };
  for (const TensorDefinition& output : instance.outputs) {
    for (const IndexExprPtr& dim : output.dims) {
      if (dim->kind == Kind::Sub) consider(*dim->a, *dim->b);
    }
  }
  for (const Comparison& condition : instance.conditions) consider(*condition.b, *condition.a);
  return slots;
}

}  // namespace

std::optional<Poly> trace_position(const PositionContext& context, NodeId node, std::uint32_t slot,
                                   std::int64_t number) {
  const Instance& instance = context.bank.library().instance(context.bank.node(node).instance);
  const PositionTrace trace(context, Reach::All);
  for (const std::uint32_t whole : cut_slots(instance, slot)) {
    for (Poly& position : trace.of_slot(node, whole, most_steps)) {
      if (context.example(position) == number) return std::move(position);
    }
  }
  return std::nullopt;
}

std::optional<Poly> nearest_position(const PositionContext& context, NodeId node, std::uint32_t slot) {
  const Instance& instance = context.bank.library().instance(context.bank.node(node).instance);
  const PositionTrace trace(context, Reach::Nearest);
  for (const std::uint32_t whole : cut_slots(instance, slot)) {
    std::vector<Poly> positions = trace.of_slot(node, whole, most_steps);
    if (!positions.empty()) return std::move(positions.front());
  }
  return std::nullopt;
}

}  // namespace rulemill::algebra
