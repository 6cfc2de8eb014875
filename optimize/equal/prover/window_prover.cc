#include "optimize/equal/prover/window_prover.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "algebra/terms/rule_text.h"
#include "egraph/explain.h"
#include "optimize/equal/prover/leaf_definition.h"
#include "optimize/search/extraction.h"
#include "optimize/search/region_egraph.h"
#include "optimize/search/saturate.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

using egraph::EClassId;
using egraph::ENodeId;
using egraph::no_id;

namespace {

/// Rounds in which the window is rebuilt: smaller, or with constants whose values agree.
constexpr std::uint32_t max_rounds = 16;

/// Improvement passes of an extraction.
constexpr std::size_t extraction_passes = 20;

/// Larger than those of the optimizer: a window has a goal, and several rewrites' folded constants are rebuilt at once.
egraph::Limits window_limits(egraph::Limits limits) {
  limits.nodes = 12000;
  limits.matches = 240000;
  limits.matches_per_rule = 256;
  limits.iterations = 20;
  return limits;
}

}  // namespace

struct WindowProver::Impl : RegionEGraph {
  Impl(GraphBank& graph_bank, const algebra::TermBank& terms, const std::vector<algebra::RuleRecord>& rules,
       ConstantComparison& comparison, ConstantOperators& operators)
      : RegionEGraph(graph_bank), constants(comparison), constant_operators(operators) {
    for (std::uint32_t r = 0; r < rules.size(); ++r) {
      add_rule(rules[r], r, terms, /*any_direction=*/true);
      for (const algebra::TermId each : algebra::dropped_variables(rules[r].rule, terms))
        dropped[r].push_back(static_cast<std::size_t>(std::ranges::find(rules[r].rule.variables, each) -
                                                      rules[r].rule.variables.begin()));
    }
  }

  std::optional<WindowProof> prove(Region window);
  bool saturate(const Region& window, bool core_only);
  bool simplify(Region& window);
  bool add_constant_leaves(Region& window, const Extraction& extraction, std::span<const EClassId> roots,
                           std::span<const ENodeId> order, std::map<EClassId, std::uint32_t>& numbers);
  std::uint32_t constant_leaf(Region& window, ValueId value);
  void add_window(const Region& window);
  void add_constant_operators(ValueId constant, EClassId leaf);
  EClassId add_definition(const LeafDefinition& definition);
  bool define_leaves(const Region& window);
  void explain(std::span<const std::pair<EClassId, EClassId>> equal);

  ConstantComparison& constants;
  ConstantOperators& constant_operators;
  std::vector<LeafDefinition> definitions;                    // in the current window
  ENodeId window_end = 0;                                     // of the window's own nodes in the e-graph
  std::map<std::uint32_t, std::vector<std::size_t>> dropped;  // numbers of variables that a rule drops, by rule
  bool is_partial = false;  // the window that is proved has values that may be undefined
  WindowProof proof;
  std::size_t own_leaves = 0;                                  // of the window that is proved
  std::map<std::string, std::optional<WindowProof>> searched;  // by window
};

std::optional<WindowProof> WindowProver::Impl::prove(Region window) {
  definitions.clear();
  proof = {};
  own_leaves = window.leaves.size();
  is_partial = std::ranges::any_of(window.graph.nodes, [&](const RegionNode& node) {
    return algebra::applies_partial_function(bank.library().instance(node.instance), bank.library());
  });
  for (std::uint32_t round = 0; round < max_rounds; ++round) {
    bool is_smaller = false;
    for (const bool core_only : {true, false}) {
      if (saturate(window, core_only)) return proof;
      is_smaller = simplify(window);
      if (is_smaller) break;
    }
    if (!is_smaller && !define_leaves(window)) return std::nullopt;
  }
  return std::nullopt;
}

/// Returns true if both outputs are equal.
bool WindowProver::Impl::saturate(const Region& window, bool core_only) {
  const SaturationOptions options;
  const egraph::Limits limits = window_limits(core_only ? options.core_limits : options.limits);
  select_rules(core_only);
  add_window(window);
  const std::pair<EClassId, EClassId> goal[] = {{values[window.graph.outputs[0]], values[window.graph.outputs[1]]}};
  const auto max_operators = window_end + limits.max_growth_over_goal;
  saturation.run(goal, max_operators, limits);
  if (!egraph.are_equal(goal[0].first, goal[0].second)) return false;
  explain(goal);
  return true;
}

/// Replaces the window's graph by a smaller one that computes both outputs, in which constants are leaves.
bool WindowProver::Impl::simplify(Region& window) {
  const EClassId roots[] = {values[window.graph.outputs[0]], values[window.graph.outputs[1]]};
  const Extraction::NodePrices prices = {[&](ENodeId node) { return marks_positive_leaf(node) ? 0.0 : 1.0; },
                                         [](const Extraction::NodeContext&, double isolated) { return isolated; }};
  Extraction extraction(egraph, prices);
  extraction.extract(roots, window_end, extraction_passes);
  if (extraction.seconds() > static_cast<double>(window.graph.nodes.size()) - 0.5) return false;

  const std::vector<ENodeId> order = extraction.order(roots);
  std::map<EClassId, std::uint32_t> numbers;  // by class: of values of the new graph
  if (!add_constant_leaves(window, extraction, roots, order, numbers)) return false;
  RegionGraph graph;
  graph.leaves = static_cast<std::uint32_t>(window.leaves.size());
  std::uint32_t next = graph.leaves;
  const auto number = [&](EClassId value) {
    const EClassId variable = extraction.variable(value);
    return variable != no_id ? egraph.tag_of(variable) : numbers.at(egraph.find(value));
  };
  std::vector<std::pair<EClassId, EClassId>> equal;
  const auto select = [&](EClassId value) {
    const EClassId variable = extraction.variable(value);
    if (variable != no_id) return equal.emplace_back(value, variable);
    const ENodeId node = extraction.node(value);
    std::uint32_t output = 0;
    while (!egraph.are_equal(egraph.output(node, output), value)) ++output;
    return equal.emplace_back(value, egraph.output(node, output));
  };
  for (const ENodeId node : order) {
    for (const EClassId argument : egraph.arguments(node)) select(argument);
    if (egraph.is_constant_node(node)) continue;
    if (marks_positive_leaf(node)) {
      numbers.emplace(egraph.find(egraph.output(node, 0)), number(egraph.arguments(node)[0]));
      continue;
    }
    RegionNode created{egraph.instance(node), {}, {}, next, egraph.output_count(node)};
    for (const EClassId argument : egraph.arguments(node)) created.arguments.push_back(number(argument));
    for (const egraph::SizeId size : egraph.sizes(node)) created.sizes.push_back(sizes.poly(size));
    for (std::uint32_t o = 0; o < created.outputs; ++o, ++next)
      numbers.emplace(egraph.find(egraph.output(node, o)), next);
    graph.nodes.push_back(std::move(created));
  }
  for (const EClassId root : roots) {
    select(root);
    graph.outputs.push_back(number(root));
  }
  explain(equal);
  window.graph = std::move(graph);
  definitions.clear();
  return true;
}

/// Builds the constants of the extracted graph. Those that other nodes use, or that are its roots, become leaves of the
/// window.
bool WindowProver::Impl::add_constant_leaves(Region& window, const Extraction& extraction,
                                             std::span<const EClassId> roots, std::span<const ENodeId> order,
                                             std::map<EClassId, std::uint32_t>& numbers) {
  const DataType type = bank.value(window.outputs[0]).type.data_type;
  std::map<EClassId, ValueId> built;
  const auto add_leaf_of = [&](EClassId value) {
    const auto constant = built.find(egraph.find(value));
    if (constant != built.end()) numbers.emplace(constant->first, constant_leaf(window, constant->second));
  };
  for (const ENodeId node : order) {
    if (!egraph.is_constant_node(node)) {
      for (const EClassId argument : egraph.arguments(node)) add_leaf_of(argument);
      continue;
    }
    std::vector<ValueId> arguments;
    for (const EClassId argument : egraph.arguments(node)) {
      const EClassId variable = extraction.variable(argument);
      arguments.push_back(variable != no_id ? window.leaves[egraph.tag_of(variable)].value
                                            : built.at(egraph.find(argument)));
    }
    if (marks_positive_leaf(node)) {
      built.emplace(egraph.find(egraph.output(node, 0)), arguments[0]);
      continue;
    }
    std::vector<algebra::Poly> node_sizes;
    for (const egraph::SizeId size : egraph.sizes(node)) node_sizes.push_back(sizes.poly(size));
    const auto created = bank.apply(egraph.instance(node), arguments, node_sizes, type);
    if (!created || !bank.node(*created).constant) return false;
    for (std::uint32_t o = 0; o < egraph.output_count(node); ++o)
      built.emplace(egraph.find(egraph.output(node, o)), bank.node(*created).outputs[o]);
  }
  std::ranges::for_each(roots, add_leaf_of);
  return true;
}

/// Returns the number of a leaf with the constant's value.
std::uint32_t WindowProver::Impl::constant_leaf(Region& window, ValueId value) {
  for (std::uint32_t i = 0; i < window.leaves.size(); ++i) {
    if (window.leaves[i].value == value) return i;
  }
  for (std::uint32_t i = 0; i < window.leaves.size(); ++i) {
    const auto difference =
        window.leaves[i].constant ? constants.difference(window.leaves[i].value, value) : std::nullopt;
    if (!difference) continue;
    ++proof.constants;
    proof.constant_difference = std::max(proof.constant_difference, *difference);
    if (i < own_leaves) proof.known.push_back({i, value});
    return i;
  }
  window.leaves.push_back({value, true});
  return static_cast<std::uint32_t>(window.leaves.size() - 1);
}

void WindowProver::Impl::add_window(const Region& window) {
  egraph.clear();
  values.assign(window.leaves.size(), no_id);
  for (std::uint32_t i = 0; i < window.leaves.size(); ++i) {
    if (is_defined(definitions, i)) continue;
    values[i] = add_leaf(window.leaves[i], i);
    if (window.leaves[i].constant) add_constant_operators(window.leaves[i].value, values[i]);
  }
  // Terms may use leaves that were defined later.
  for (auto definition = definitions.rbegin(); definition != definitions.rend(); ++definition)
    values[definition->leaf] = add_definition(*definition);
  for (const RegionNode& node : window.graph.nodes) {
    const EClassId first = egraph.output(add_node(node, values), 0);
    for (std::uint32_t o = 0; o < node.outputs; ++o) values.push_back(first + o);
  }
  egraph.rebuild();
  window_end = egraph.node_count();
}

/// Merges a constant with the operators without inputs that compute its elements.
void WindowProver::Impl::add_constant_operators(ValueId constant, EClassId leaf) {
  for (const NodeId id : constant_operators.nodes_of(constant)) {
    const Node& node = bank.node(id);
    const ENodeId created = add_node({node.instance, {}, node.sizes, 0, 1}, {});
    egraph.merge(leaf, egraph.output(created, 0), egraph::EGraph::Edge::premise);
  }
}

EClassId WindowProver::Impl::add_definition(const LeafDefinition& definition) {
  std::vector<EClassId> known(values.begin(), values.end());
  for (const RegionNode& node : definition.nodes) {
    const EClassId first = egraph.output(add_node(node, known), 0);
    for (std::uint32_t o = 0; o < node.outputs; ++o) known.push_back(first + o);
  }
  return known[definition.root];
}

/// Returns false if no further leaf has the value of a term.
bool WindowProver::Impl::define_leaves(const Region& window) {
  const std::vector<LeafDefinition> found =
      LeafDefinitionSearch(egraph, sizes, bank, constants, window).find(values, definitions);
  for (const LeafDefinition& definition : found) {
    ++proof.constants;
    proof.constant_difference = std::max(proof.constant_difference, definition.difference);
    if (definition.leaf < own_leaves) proof.known.push_back({definition.leaf, definition.value});
  }
  definitions.insert(definitions.end(), found.begin(), found.end());
  return !found.empty();
}

/// Adds the rules that make the pairs equal to the proof.
void WindowProver::Impl::explain(std::span<const std::pair<EClassId, EClassId>> equal) {
  egraph::Explainer explainer(saturation, egraph);
  for (const auto& [a, b] : equal) explainer.add(a, b);
  for (const std::uint32_t number : explainer.applications()) {
    const egraph::Application& application = saturation.application(number);
    proof.rules.push_back(rule_numbers[application.direction.rule]);
    const auto variables = saturation.words(application);
    for (const std::size_t each : dropped[proof.rules.back()])
      proof.drops |= is_partial && !egraph.is_constant_class(variables[each]);
  }
}

WindowProver::WindowProver(GraphBank& bank, const algebra::TermBank& terms,
                           const std::vector<algebra::RuleRecord>& rules, ConstantComparison& constants,
                           ConstantOperators& operators)
    : impl_(std::make_unique<Impl>(bank, terms, rules, constants, operators)) {}

WindowProver::~WindowProver() = default;

std::optional<WindowProof> WindowProver::prove(const Region& window) {
  RM_CHECK(window.outputs.size() == 2, "a window has two values");
  std::string key = region_key(window, impl_->bank);
  for (const RegionLeaf& leaf : window.leaves) key += std::to_string(index(leaf.value)) + ' ';
  auto searched = impl_->searched.find(key);
  if (searched == impl_->searched.end()) searched = impl_->searched.emplace(key, impl_->prove(window)).first;
  return searched->second;
}

}  // namespace rulemill::optimize
