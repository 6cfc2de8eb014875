#include "algebra/exchange/infer_split_positions.h"

#include <set>

#include "algebra/terms/split_positions.h"
#include "algebra/terms/typing.h"

namespace rulemill::algebra {
Rule infer_split_positions(const Rule& rule, TermBank& bank, Symbols& symbols) {
  const auto typed = try_typing(rule, bank, symbols);
  if (!typed || !typed->narrowing.conditions.empty()) return rule;
  std::set<Atom> determined;
  for (const Shape& shape : typed->rule.shapes) {
    for (const Poly& dim : shape) {
      for (const Atom atom : symbols.atoms(dim)) determined.insert(atom);
    }
  }
  Rule result = typed->rule;
  const std::vector<TermId> roots = outputs_of(result);
  std::unordered_map<NodeId, std::vector<Poly>> slots;
  for (const NodeId id : bank.nodes(roots)) slots.emplace(id, size_slots(id, *typed, bank));
  const PositionContext context{bank, typed->types, slots, {}};
  bool found = false;
  for (const NodeId id : bank.nodes(roots)) {
    const Node& node = bank.node(id);
    const OperatorInstance& instance = bank.library().instance(node.instance);
    for (std::uint32_t p = 0; p < node.sizes.size(); ++p) {
      const std::optional<Atom> size = node.sizes[p].atom();
      if (!size || determined.contains(*size)) continue;
      const std::optional<Poly> position = nearest_split_position(context, id, instance.first_size_parameter + p);
      if (!position || *position == node.sizes[p]) continue;
      result.condition.push_back({Relation::Eq, node.sizes[p], *position});
      determined.insert(*size);
      found = true;
    }
  }
  return found ? result : rule;
}

}  // namespace rulemill::algebra
