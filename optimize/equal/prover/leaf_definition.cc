#include "optimize/equal/prover/leaf_definition.h"

#include <algorithm>
#include <set>
#include <utility>

#include "optimize/equal/prover/window.h"

namespace rulemill::optimize {

using egraph::EClassId;
using egraph::ENodeId;

bool is_defined(std::span<const LeafDefinition> definitions, std::uint32_t leaf) {
  return std::ranges::find(definitions, leaf, &LeafDefinition::leaf) != definitions.end();
}

std::vector<LeafDefinition> LeafDefinitionSearch::find(std::span<const EClassId> values,
                                                       std::span<const LeafDefinition> known) {
  std::vector<LeafDefinition> found;
  // A definition must not use a leaf that is defined in the same call: the definitions could be circular. What one
  // model stores is computed from what the other one stores, or rounding within one model would be left out.
  const std::set<std::uint32_t> below[] = {values_below(window_.graph, window_.graph.outputs[0]),
                                           values_below(window_.graph, window_.graph.outputs[1])};
  std::set<std::uint32_t> excluded;
  for (std::uint32_t leaf = 0; leaf < window_.leaves.size(); ++leaf) {
    if (!window_.leaves[leaf].constant || is_defined(known, leaf) || excluded.contains(leaf)) continue;
    if (below[0].contains(leaf) == below[1].contains(leaf)) continue;
    usable_ = below[below[0].contains(leaf) ? 1 : 0];
    for (const LeafDefinition& each : found) usable_.erase(each.leaf);
    auto definition = agreeing_term(leaf, values[leaf]);
    if (!definition) continue;
    for (const RegionNode& node : definition->nodes) excluded.insert(node.arguments.begin(), node.arguments.end());
    found.push_back(std::move(*definition));
  }
  return found;
}

/// Returns a computed constant of the e-graph, in another class than the leaf, whose elements agree with the leaf's.
std::optional<LeafDefinition> LeafDefinitionSearch::agreeing_term(std::uint32_t leaf, EClassId value) {
  for (EClassId id = 0; id < egraph_.id_count(); ++id) {
    if (!egraph_.is_canonical(id) || !egraph_.is_constant_class(id) || egraph_.are_equal(id, value)) continue;
    if (egraph_.shape(id) != egraph_.shape(value)) continue;
    LeafDefinition definition{.leaf = leaf, .nodes = {}};
    Numbers numbers;
    const auto root = extract(id, definition, numbers);
    if (!root || definition.nodes.empty()) continue;
    definition.root = *root;
    const auto built = build(definition);
    if (!built || !bank_.node_of(*built).constant) continue;
    if (const auto difference = constants_.difference(*built, window_.leaves[leaf].value)) {
      definition.value = *built;
      definition.difference = *difference;
      return definition;
    }
  }
  return std::nullopt;
}

/// Adds a term of the class over usable leaves to `into`; returns the number of its value, nullopt if there is none.
std::optional<std::uint32_t> LeafDefinitionSearch::extract(EClassId value, LeafDefinition& into, Numbers& numbers) {
  const EClassId root = egraph_.find(value);
  if (const auto known = numbers.find(root); known != numbers.end()) return known->second;
  numbers[root] = std::nullopt;  // while it is extracted: terms are not circular
  EClassId id = root;
  do {
    const ENodeId node = egraph_.node_of(id);
    if (node == egraph::no_id) {
      if (usable_.contains(egraph_.tag_of(id))) return numbers[root] = egraph_.tag_of(id);
    } else if (egraph_.is_constant_node(node) && !egraph_.is_duplicate(node)) {
      if (algebra::is_positive_operator(bank_.library().instance(egraph_.instance(node))))
        return numbers[root] = extract(egraph_.arguments(node)[0], into, numbers);
      RegionNode created{egraph_.instance(node), {}, {}, 0, egraph_.output_count(node)};
      for (const EClassId argument : egraph_.arguments(node)) {
        const auto number = extract(argument, into, numbers);
        if (number) created.arguments.push_back(*number);
      }
      if (created.arguments.size() == egraph_.arguments(node).size()) {
        for (const egraph::SizeId size : egraph_.sizes(node)) created.sizes.push_back(sizes_.poly(size));
        created.first_output = into.nodes.empty() ? static_cast<std::uint32_t>(window_.leaves.size())
                                                  : into.nodes.back().first_output + into.nodes.back().outputs;
        into.nodes.push_back(created);
        return numbers[root] = created.first_output + egraph_.output_of(id);
      }
    }
    id = egraph_.next_in_class(id);
  } while (id != root);
  return std::nullopt;
}

std::optional<ValueId> LeafDefinitionSearch::build(const LeafDefinition& definition) {
  const DataType type = bank_.value(window_.leaves[definition.leaf].value).type.data_type;
  std::vector<ValueId> known;
  for (const RegionLeaf& leaf : window_.leaves) known.push_back(leaf.value);
  for (const RegionNode& node : definition.nodes) {
    std::vector<ValueId> arguments;
    for (const std::uint32_t argument : node.arguments) arguments.push_back(known[argument]);
    const auto created = bank_.apply(node.instance, arguments, node.sizes, type);
    if (!created) return std::nullopt;
    known.insert(known.end(), bank_.node(*created).outputs.begin(), bank_.node(*created).outputs.end());
  }
  return known[definition.root];
}

}  // namespace rulemill::optimize
