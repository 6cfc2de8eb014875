#include "optimize/equal/window_prover.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "egraph/explain.h"
#include "optimize/equal/constant_agreement.h"
#include "optimize/search/positivity.h"
#include "optimize/search/saturate.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

using egraph::EClassId;
using egraph::ENodeId;
using egraph::no_id;

namespace {

/// Rounds in which constants are compared and the rules are applied again.
constexpr std::uint32_t max_constant_rounds = 4;

/// Larger than those of the optimizer: a window has a goal, and the folded constants of several rewrites are rebuilt at
/// once.
egraph::Limits window_limits(egraph::Limits limits) {
  limits.nodes = 12000;
  limits.matches = 240000;
  limits.matches_per_rule = 256;
  limits.iterations = 20;
  return limits;
}

/// A leaf that equals a term over other constant leaves: the term's nodes, arguments first.
struct LeafDefinition {
  std::uint32_t leaf = 0;
  std::vector<RegionNode> nodes;  // their values are numbered after the leaves
  std::uint32_t root = 0;         // number of the term's value
  double difference = 0;          // of the elements
};

}  // namespace

struct WindowProver::Impl {
  Impl(GraphBank& graph_bank, const algebra::TermBank& terms, const std::vector<algebra::RuleRecord>& rules)
      : bank(graph_bank),
        sizes(graph_bank.library(), graph_bank.symbols()),
        egraph(graph_bank.library(), sizes),
        saturation(index, egraph),
        positivity(graph_bank) {
    for (std::uint32_t r = 0; r < rules.size(); ++r) add_rule(rules[r], r, terms);
  }

  void add_rule(const algebra::RuleRecord& record, std::uint32_t number, const algebra::TermBank& terms);
  std::optional<WindowProof> prove(const Region& window);
  bool is_reached(const Region& window, const egraph::Limits& limits);
  void add_window(const Region& window);
  EClassId add_leaf(const RegionLeaf& leaf, std::uint32_t number);
  EClassId add_definition(const LeafDefinition& definition);
  EClassId add_node(const RegionNode& node, const std::vector<EClassId>& arguments);
  bool define_leaves(const Region& window);
  std::optional<LeafDefinition> agreeing_term(const Region& window, std::uint32_t leaf);
  bool is_defined(std::uint32_t leaf) const;
  std::optional<std::uint32_t> extract(EClassId value, std::uint32_t leaves, LeafDefinition& into,
                                       std::map<EClassId, std::optional<std::uint32_t>>& numbers);
  std::optional<ValueId> build(const LeafDefinition& definition, const Region& window);
  WindowProof explain(const Region& window) const;

  GraphBank& bank;
  egraph::SizeTable sizes;
  egraph::RuleIndex index;
  std::vector<std::uint32_t> rule_numbers, late_rules;
  egraph::EGraph egraph;
  egraph::Saturation saturation;
  PositivityAnalysis positivity;
  std::map<std::size_t, algebra::InstanceId> positive_operators;  // by rank of the rules' positive variables
  std::vector<LeafDefinition> definitions;                        // in the current window
  std::vector<EClassId> values;                                   // by value of the window
};

void WindowProver::Impl::add_rule(const algebra::RuleRecord& record, std::uint32_t number,
                                  const algebra::TermBank& terms) {
  if (!restricts_positivity_to_variables(record.rule, terms)) return;
  for (const algebra::TermId variable : positive_variables(record.rule, terms)) {
    const std::uint32_t rank[] = {terms.term(variable).rank};
    positive_operators[rank[0]] = bank.library().instantiate(*bank.library().positive_operator(), {}, rank).id;
  }
  algebra::TypedRule typed;
  typed.rule = record.rule;
  const std::uint32_t added = index.add(egraph::compile(typed, terms, sizes, egraph::NewConstants::Allowed));
  if (algebra::is_late(record)) late_rules.push_back(added);
  rule_numbers.push_back(number);
}

std::optional<WindowProof> WindowProver::Impl::prove(const Region& window) {
  const SaturationOptions options;
  definitions.clear();
  for (std::uint32_t round = 0; round < max_constant_rounds; ++round) {
    for (const bool core_only : {true, false}) {
      for (const std::uint32_t rule : late_rules) index.enable(rule, !core_only);
      add_window(window);
      if (is_reached(window, window_limits(core_only ? options.core_limits : options.limits))) return explain(window);
    }
    if (!define_leaves(window)) return std::nullopt;
  }
  return std::nullopt;
}

bool WindowProver::Impl::is_reached(const Region& window, const egraph::Limits& limits) {
  const std::pair<EClassId, EClassId> goal[] = {{values[window.graph.outputs[0]], values[window.graph.outputs[1]]}};
  const auto max_operators = static_cast<std::uint32_t>(egraph.node_count()) + limits.max_growth_over_goal;
  saturation.run(goal, max_operators, limits);
  return egraph.are_equal(goal[0].first, goal[0].second);
}

void WindowProver::Impl::add_window(const Region& window) {
  egraph.clear();
  values.assign(window.leaves.size(), no_id);
  for (std::uint32_t i = 0; i < window.leaves.size(); ++i) {
    if (!is_defined(i)) values[i] = add_leaf(window.leaves[i], i);
  }
  // Terms may use leaves that were defined later.
  for (auto definition = definitions.rbegin(); definition != definitions.rend(); ++definition)
    values[definition->leaf] = add_definition(*definition);
  for (const RegionNode& node : window.graph.nodes) {
    const EClassId first = add_node(node, values);
    for (std::uint32_t o = 0; o < node.outputs; ++o) values.push_back(first + o);
  }
  egraph.rebuild();
}

/// A positive leaf is added as positive(c) with its tag on c, so that rules match it.
EClassId WindowProver::Impl::add_leaf(const RegionLeaf& leaf, std::uint32_t number) {
  const ValueType& type = bank.value(leaf.value).type;
  const EClassId variable = egraph.add_variable(number, sizes.shape(*type), leaf.constant);
  const auto positive = positive_operators.find(type->size());
  if (positive == positive_operators.end() || !positivity.is_positive(leaf.value)) return variable;
  const ENodeId created = egraph.add_node(positive->second, std::span(&variable, 1), {});
  RM_CHECK(created != no_id, "the positivity operator accepts every type");
  return egraph.output(created, 0);
}

EClassId WindowProver::Impl::add_definition(const LeafDefinition& definition) {
  std::vector<EClassId> known(values.begin(), values.end());
  for (const RegionNode& node : definition.nodes) {
    const EClassId first = add_node(node, known);
    for (std::uint32_t o = 0; o < node.outputs; ++o) known.push_back(first + o);
  }
  return known[definition.root];
}

/// Returns the class of the node's first output.
EClassId WindowProver::Impl::add_node(const RegionNode& node, const std::vector<EClassId>& known) {
  std::vector<EClassId> arguments;
  for (const std::uint32_t argument : node.arguments) arguments.push_back(known[argument]);
  std::vector<egraph::SizeId> node_sizes;
  for (const algebra::Poly& size : node.sizes) node_sizes.push_back(sizes.intern(size));
  const ENodeId created = egraph.add_node(node.instance, arguments, node_sizes);
  RM_CHECK(created != no_id, "a node of a window is well-typed");
  return egraph.output(created, 0);
}

bool WindowProver::Impl::is_defined(std::uint32_t leaf) const {
  return std::ranges::find(definitions, leaf, &LeafDefinition::leaf) != definitions.end();
}

/// Defines constant leaves by terms of the e-graph that have their values. Returns false if there is none.
bool WindowProver::Impl::define_leaves(const Region& window) {
  std::vector<LeafDefinition> found;
  for (std::uint32_t leaf = 0; leaf < window.leaves.size(); ++leaf) {
    if (!window.leaves[leaf].constant || is_defined(leaf)) continue;
    if (auto definition = agreeing_term(window, leaf)) found.push_back(std::move(*definition));
  }
  // A definition must not use a leaf that is defined in the same round: the definitions could be circular.
  std::set<std::uint32_t> defined;
  for (LeafDefinition& definition : found) {
    const bool is_circular = std::ranges::any_of(definition.nodes, [&](const RegionNode& node) {
      return std::ranges::any_of(node.arguments, [&](std::uint32_t argument) {
        return argument == definition.leaf || defined.contains(argument);
      });
    });
    if (is_circular) continue;
    for (const RegionNode& node : definition.nodes) defined.insert(node.arguments.begin(), node.arguments.end());
    defined.insert(definition.leaf);
    definitions.push_back(std::move(definition));
  }
  return !defined.empty();
}

/// Returns a computed constant of the e-graph, in another class than the leaf, whose elements agree with the leaf's.
std::optional<LeafDefinition> WindowProver::Impl::agreeing_term(const Region& window, std::uint32_t leaf) {
  const ValueId value = window.leaves[leaf].value;
  const DataType type = bank.value(value).type.data_type;
  std::shared_ptr<const algebra::Tensor> elements;
  for (EClassId id = 0; id < egraph.id_count(); ++id) {
    if (!egraph.is_canonical(id) || !egraph.is_constant_class(id) || egraph.are_equal(id, values[leaf])) continue;
    if (egraph.shape(id) != egraph.shape(values[leaf])) continue;
    LeafDefinition definition{.leaf = leaf, .nodes = {}};
    std::map<EClassId, std::optional<std::uint32_t>> numbers;
    const auto root = extract(id, static_cast<std::uint32_t>(window.leaves.size()), definition, numbers);
    if (!root || definition.nodes.empty()) continue;
    definition.root = *root;
    const auto built = build(definition, window);
    if (!built || !bank.node_of(*built).constant) continue;
    const auto term = constant_elements(bank, *built);
    if (!elements) elements = constant_elements(bank, value);
    if (!term || !elements) continue;
    if (const auto difference = constant_difference(*term, *elements, type)) {
      definition.difference = *difference;
      return definition;
    }
  }
  return std::nullopt;
}

/// Adds a term of the class over constant leaves to `into`; returns the number of its value, nullopt if there is none.
std::optional<std::uint32_t> WindowProver::Impl::extract(EClassId value, std::uint32_t leaves, LeafDefinition& into,
                                                         std::map<EClassId, std::optional<std::uint32_t>>& numbers) {
  const EClassId root = egraph.find(value);
  if (const auto known = numbers.find(root); known != numbers.end()) return known->second;
  numbers[root] = std::nullopt;  // while it is extracted: terms are not circular
  EClassId id = root;
  do {
    const ENodeId node = egraph.node_of(id);
    if (node == no_id) return numbers[root] = egraph.tag_of(id);
    if (egraph.is_constant_node(node) && !egraph.is_duplicate(node)) {
      if (algebra::is_positive_operator(bank.library().instance(egraph.instance(node))))
        return numbers[root] = extract(egraph.arguments(node)[0], leaves, into, numbers);
      RegionNode created{egraph.instance(node), {}, {}, 0, egraph.output_count(node)};
      for (const EClassId argument : egraph.arguments(node)) {
        const auto number = extract(argument, leaves, into, numbers);
        if (number) created.arguments.push_back(*number);
      }
      if (created.arguments.size() == egraph.arguments(node).size()) {
        for (const egraph::SizeId size : egraph.sizes(node)) created.sizes.push_back(sizes.poly(size));
        created.first_output = into.nodes.empty() ? leaves : into.nodes.back().first_output + into.nodes.back().outputs;
        into.nodes.push_back(created);
        return numbers[root] = created.first_output + egraph.output_of(id);
      }
    }
    id = egraph.next_in_class(id);
  } while (id != root);
  return std::nullopt;
}

std::optional<ValueId> WindowProver::Impl::build(const LeafDefinition& definition, const Region& window) {
  std::vector<ValueId> known;
  for (const RegionLeaf& leaf : window.leaves) known.push_back(leaf.value);
  for (const RegionNode& node : definition.nodes) {
    std::vector<ValueId> arguments;
    for (const std::uint32_t argument : node.arguments) arguments.push_back(known[argument]);
    const DataType type = bank.value(window.leaves[definition.leaf].value).type.data_type;
    const auto created = bank.apply(node.instance, arguments, node.sizes, type);
    if (!created) return std::nullopt;
    known.insert(known.end(), bank.node(*created).outputs.begin(), bank.node(*created).outputs.end());
  }
  return known[definition.root];
}

WindowProof WindowProver::Impl::explain(const Region& window) const {
  egraph::Explainer explainer(saturation, egraph);
  explainer.add(values[window.graph.outputs[0]], values[window.graph.outputs[1]]);
  WindowProof proof;
  for (const std::uint32_t number : explainer.applications())
    proof.rules.push_back(rule_numbers[saturation.application(number).direction.rule]);
  proof.constants = static_cast<std::uint32_t>(definitions.size());
  for (const LeafDefinition& each : definitions)
    proof.constant_difference = std::max(proof.constant_difference, each.difference);
  return proof;
}

WindowProver::WindowProver(GraphBank& bank, const algebra::TermBank& terms,
                           const std::vector<algebra::RuleRecord>& rules)
    : impl_(std::make_unique<Impl>(bank, terms, rules)) {}

WindowProver::~WindowProver() = default;

std::optional<WindowProof> WindowProver::prove(const Region& window) {
  RM_CHECK(window.outputs.size() == 2, "a window has two values");
  return impl_->prove(window);
}

}  // namespace rulemill::optimize
