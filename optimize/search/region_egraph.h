// A region of a model in an e-graph, with the rules that apply to it: the common part of the search for cheaper graphs
// (saturate.h) and of the proof that two values are equal (optimize/equal/prover/window_prover.h).
#pragma once

#include <map>
#include <set>
#include <span>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "egraph/saturate.h"
#include "optimize/search/positivity.h"
#include "optimize/search/region.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

struct RegionEGraph {
  using EClassId = egraph::EClassId;
  using ENodeId = egraph::ENodeId;

  explicit RegionEGraph(GraphBank& graph_bank)
      : bank(graph_bank),
        sizes(graph_bank.library(), graph_bank.symbols()),
        egraph(graph_bank.library(), sizes),
        saturation(index, egraph),
        positivity(graph_bank) {}

  /// Adds a rule, unless no model matches it. With `any_direction`, also the directions in which it does not rewrite.
  void add_rule(const algebra::RuleRecord& record, std::uint32_t number, const algebra::TermBank& terms,
                bool any_direction) {
    if (!restricts_positivity_to_variables(record.rule, terms)) return;
    for (const algebra::TermId variable : positive_variables(record.rule, terms)) {
      const std::uint32_t rank[] = {terms.term(variable).rank};
      positive_operators[rank[0]] = bank.library().instantiate(*bank.library().positive_operator(), {}, rank).id;
    }
    algebra::TypedRule typed;
    typed.rule = record.rule;
    egraph::CompiledRule compiled = egraph::compile(typed, terms, sizes, egraph::NewConstants::Allowed);
    if (!any_direction && !record.reversible)
      std::erase_if(compiled.directions, [](const auto& each) { return !each.forward; });
    const std::uint32_t added = index.add(std::move(compiled));
    if (algebra::is_late(record)) late_rules.push_back(added);
    rule_numbers.push_back(number);
  }
  void select_rules(bool core_only) {
    for (const std::uint32_t rule : late_rules) index.enable(rule, !core_only);
  }

  /// Leaves out all rules but these, by their numbers in the rule set.
  void select_only(const std::set<std::uint32_t>& numbers) {
    for (std::uint32_t rule = 0; rule < rule_numbers.size(); ++rule)
      index.enable(rule, numbers.contains(rule_numbers[rule]));
  }

  bool is_positive_leaf(const RegionLeaf& leaf) {
    const ValueType& type = bank.value(leaf.value).type;
    return type && positive_operators.contains(type->size()) && positivity.is_positive(leaf.value);
  }
  /// Adds a positive leaf as positive(c) with its tag on c, so that rules match it. No other node uses c, because rules
  /// apply the positivity operator to variables only.
  EClassId add_leaf(const RegionLeaf& leaf, std::uint32_t tag) {
    const ValueType& type = bank.value(leaf.value).type;
    RM_CHECK(type.has_value(), "a leaf of a region has a type");
    const EClassId variable = egraph.add_variable(tag, sizes.shape(*type), leaf.constant);
    if (!is_positive_leaf(leaf)) return variable;
    const ENodeId created = egraph.add_node(positive_operators.at(type->size()), std::span(&variable, 1), {});
    RM_CHECK(created != egraph::no_id, "the positivity operator accepts every type");
    return egraph.output(created, 0);
  }
  /// Returns true for the node that marks a leaf as positive.
  bool marks_positive_leaf(ENodeId node) const {
    return algebra::is_positive_operator(bank.library().instance(egraph.instance(node)));
  }
  /// Adds a node whose arguments are numbers of the values.
  ENodeId add_node(const RegionNode& node, const std::vector<EClassId>& of_values) {
    std::vector<EClassId> arguments;
    for (const std::uint32_t argument : node.arguments) arguments.push_back(of_values[argument]);
    std::vector<egraph::SizeId> node_sizes;
    for (const algebra::Poly& size : node.sizes) node_sizes.push_back(sizes.intern(size));
    const ENodeId created = egraph.add_node(node.instance, arguments, node_sizes);
    RM_CHECK(created != egraph::no_id, "a node of a model is well-typed");
    return created;
  }

  GraphBank& bank;
  egraph::SizeTable sizes;
  egraph::RuleIndex index;
  std::vector<std::uint32_t> rule_numbers;  // by rule in the index: its number in the rule set
  std::vector<std::uint32_t> late_rules;    // numbers in the index of rules that are searched after the core
  egraph::EGraph egraph;
  egraph::Saturation saturation;
  PositivityAnalysis positivity;
  std::map<std::size_t, algebra::InstanceId> positive_operators;  // by rank of the rules' positive variables
  std::vector<EClassId> values;                                   // of the current region, by its value numbers
};

}  // namespace rulemill::optimize
