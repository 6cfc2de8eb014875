#include "algebra/terms/free_positions.h"

#include <algorithm>
#include <set>

#include "algebra/terms/typing.h"

namespace rulemill::algebra {
namespace {

using Kind = IndexExpr::Kind;

class Boundaries {
 public:
  Boundaries(const TypedRule& rule, const TermBank& bank) : rule_(rule), bank_(bank) {}

  /// The boundary on the axis of an argument that size parameter `slot` of the node is compared with.
  std::optional<Poly> at(NodeId node, std::uint32_t slot) const {
    const Instance& instance = bank_.library().instance(bank_.node(node).instance);
    for (const Comparison& condition : instance.conditions) {
      const bool cuts = condition.a->kind == Kind::Size && condition.a->slot == slot && condition.b->kind == Kind::Size;
      if (!cuts) continue;
      if (std::optional<Poly> found = of_slot(node, condition.b->slot)) return found;
    }
    return std::nullopt;
  }

 private:
  /// The first argument dimension that is this slot and has a boundary.
  std::optional<Poly> of_slot(NodeId node, std::uint32_t slot) const {
    const Instance& instance = bank_.library().instance(bank_.node(node).instance);
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      for (std::size_t d = 0; d < instance.inputs[i].size(); ++d) {
        const IndexExpr& dim = *instance.inputs[i][d];
        if (dim.kind != Kind::Size || dim.slot != slot) continue;
        if (std::optional<Poly> found = of_term(bank_.node(node).arguments[i], d)) return found;
      }
    }
    return std::nullopt;
  }

  std::optional<Poly> of_term(TermId id, std::size_t dimension) const {
    const Term& term = bank_.term(id);
    if (term.is_variable) return std::nullopt;
    const IndexExpr& expression = *bank_.instance_of(id).outputs[term.output].dims[dimension];
    if (expression.kind == Kind::Size) return of_slot(term.node, expression.slot);
    const bool sum =
        expression.kind == Kind::Add && expression.a->kind == Kind::Size && expression.b->kind == Kind::Size;
    return sum ? value(term.node, expression.a->slot) : std::nullopt;
  }

  /// A size slot that an input dimension binds.
  std::optional<Poly> value(NodeId node, std::uint32_t slot) const {
    const Instance& instance = bank_.library().instance(bank_.node(node).instance);
    for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
      for (std::size_t d = 0; d < instance.inputs[i].size(); ++d) {
        const IndexExpr& dim = *instance.inputs[i][d];
        if (dim.kind == Kind::Size && dim.slot == slot) return rule_.types.at(bank_.node(node).arguments[i])[d];
      }
    }
    return std::nullopt;
  }

  const TypedRule& rule_;
  const TermBank& bank_;
};

}  // namespace

Rule with_positions(const Rule& rule, TermBank& bank, Symbols& symbols) {
  auto types = infer_types(rule, bank, symbols);
  const auto* typed = std::get_if<TypedRule>(&types);
  if (typed == nullptr) return rule;
  std::set<Atom> determined;
  for (const Shape& shape : typed->rule.shapes) {
    for (const Poly& dim : shape) {
      for (const Atom atom : symbols.atoms(dim)) determined.insert(atom);
    }
  }
  Rule result = typed->rule;
  const Boundaries boundaries(*typed, bank);
  std::vector<TermId> roots = result.source;
  roots.insert(roots.end(), result.target.begin(), result.target.end());
  bool found = false;
  for (const NodeId id : bank.nodes(roots)) {
    const Node& node = bank.node(id);
    const Instance& instance = bank.library().instance(node.instance);
    for (std::uint32_t p = 0; p < node.sizes.size(); ++p) {
      const std::optional<Atom> open = node.sizes[p].atom();
      if (!open || determined.contains(*open)) continue;
      const std::optional<Poly> position = boundaries.at(id, instance.first_size_parameter + p);
      if (!position || *position == node.sizes[p]) continue;
      result.condition.push_back({Relation::Eq, node.sizes[p], *position});
      determined.insert(*open);
      found = true;
    }
  }
  return found ? result : rule;
}

}  // namespace rulemill::algebra
