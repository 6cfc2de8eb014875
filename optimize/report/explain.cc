#include "optimize/report/explain.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "algebra/terms/rule_text.h"
#include "optimize/cost/cost_model.h"
#include "optimize/report/explained_rule.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

namespace {

/// A partial match of the source of a rule.
struct PartialMatch {
  std::size_t operators = 0;  // matched
  std::string obstacle;       // empty for a complete match
};

class NodeExplainer {
 public:
  explicit NodeExplainer(const ExplainedModel& model) : model_(model), positivity_(model.bank) {
    for (const ImportedModel::NodeRecord& record : model.import.nodes) {
      if (record.lowered.is_opaque()) continue;
      for (const ValueId output : record.outputs) record_of_[model.bank.value(output).node] = &record;
    }
  }

  std::vector<Explanation> run(const std::string& target) {
    const ExplainedRule rule(target, model_.database, model_.rules, model_.bank, model_.terms);
    const bool is_rule = rule.exists();
    if (is_rule && !rule.absence_reason().empty()) return {{rule.first_id(), "", rule.absence_reason()}};
    const std::set<NodeId> at = is_rule ? std::set<NodeId>() : nodes_named(target);
    std::vector<Explanation> found;
    for (std::uint32_t number = 0; number < model_.matcher.patterns().size(); ++number) {
      const Pattern& pattern = model_.matcher.patterns()[number];
      if (is_rule && !rule.includes(pattern.rule)) continue;
      const std::string name = is_rule ? rule.name_of(pattern.rule) : model_.rules[pattern.rule].rule.id;
      for (const NodeId id : model_.bank.live_nodes(model_.import.outputs)) {
        if (is_rule || at.contains(id)) explain_at(number, name, id, found);
      }
    }
    std::ranges::stable_sort(found, std::ranges::greater(), &Explanation::matched_operators);
    return found;
  }

 private:
  std::set<NodeId> nodes_named(const std::string& name) const {
    const auto& nodes = model_.import.nodes;
    const auto record = std::ranges::find(nodes, name, &ImportedModel::NodeRecord::name);
    if (record == nodes.end()) {
      throw runtime::UsageError("--explain", "no rule and no node of the model is named '" + name + "'");
    }
    if (record->lowered.is_opaque()) {
      throw runtime::UsageError("--explain", "'" + name + "' is opaque: " + record->reason);
    }
    // All nodes that the ONNX node encodes, starting from its outputs.
    std::set<NodeId> found;
    std::vector<NodeId> open;
    for (const ValueId output : record->outputs) open.push_back(model_.bank.value(output).node);
    while (!open.empty() && found.size() < record->lowered.steps.size()) {
      const NodeId id = open.back();
      open.pop_back();
      if (model_.bank.node(id).kind != Node::Kind::Algebra || !found.insert(id).second) continue;
      for (const ValueId argument : model_.bank.node(id).arguments) open.push_back(model_.bank.value(argument).node);
    }
    return found;
  }

  /// Adds the reason why the pattern, of the named rule, does not fire with one of its terms at node `id`.
  void explain_at(std::uint32_t number, const std::string& rule, NodeId id, std::vector<Explanation>& found) {
    const Pattern& pattern = model_.matcher.patterns()[number];
    const Node& node = model_.bank.node(id);
    if (node.kind != Node::Kind::Algebra || node.constant) return;
    for (const algebra::TermId root : pattern.source) {
      const algebra::Term& term = model_.terms.term(root);
      const auto& wanted = model_.terms.instance_of(root);
      if (wanted.operator_name != model_.bank.instance(node).operator_name) continue;
      if (term.output >= node.outputs.size()) continue;
      const PartialMatch match = match_term(root, node.outputs[term.output]);
      add(pattern.reversed ? rule + ", reversed" : rule, id, match.operators,
          match.obstacle.empty() ? reason_after_match(number, id) : match.obstacle, found);
      return;
    }
  }

  void add(std::string rule, NodeId id, std::size_t operators, std::string reason,
           std::vector<Explanation>& found) const {
    for (Explanation& each : found) {
      if (each.rule == rule && each.reason == reason) {
        ++each.times;
        return;
      }
    }
    const auto record = record_of_.find(id);
    const std::string place =
        record == record_of_.end() ? model_.bank.instance(model_.bank.node(id)).operator_name : record->second->name;
    found.push_back({std::move(rule), place, std::move(reason), operators});
  }

  PartialMatch match_term(algebra::TermId id, ValueId value) {
    const algebra::Term& term = model_.terms.term(id);
    const Value& actual = model_.bank.value(value);
    if (const auto variable = positive_variable(id, model_.terms)) {
      if (positivity_.is_positive(value)) return match_term(*variable, value);
      return {0, describe_value(value) + " is not known to be positive, as the rule's " +
                     model_.terms.term(*variable).name + " must be"};
    }
    if (term.is_variable) {
      if (!actual.type) return {0, "the type of " + describe_value(value) + " is not known"};
      if (actual.type->size() == term.rank) return {};
      return {0, describe_value(value) + " has rank " + std::to_string(actual.type->size()) + ", the rule's " +
                     term.name + " has rank " + std::to_string(term.rank)};
    }
    const algebra::OperatorInstance& wanted = model_.terms.instance_of(id);
    const Node& node = model_.bank.node(actual.node);
    if (node.kind != Node::Kind::Algebra || model_.bank.instance(node).operator_name != wanted.operator_name) {
      return {0, "the rule has " + wanted.operator_name + " where the model has " + describe_value(value)};
    }
    if (node.instance != wanted.id) {
      const std::string& actual_name = model_.bank.instance(node).name;
      if (actual_name == wanted.name) return {0, "the rule has " + wanted.name + " on tensors of other ranks"};
      return {0, "the rule has " + wanted.name + " where the model has " + actual_name};
    }
    const auto& arguments = model_.terms.node(term.node).arguments;
    PartialMatch match = match_arguments(arguments, node.arguments);
    if (!match.obstacle.empty() && wanted.commutative && node.arguments.size() == 2) {
      PartialMatch other = match_arguments(arguments, {node.arguments[1], node.arguments[0]});
      if (other.obstacle.empty() || other.operators > match.operators) match = std::move(other);
    }
    ++match.operators;
    return match;
  }

  PartialMatch match_arguments(const std::vector<algebra::TermId>& wanted, const std::vector<ValueId>& values) {
    PartialMatch all;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const PartialMatch match = match_term(wanted[i], values[i]);
      all.operators += match.operators;
      if (all.obstacle.empty()) all.obstacle = match.obstacle;
    }
    return all;
  }

  std::string describe_value(ValueId id) const {
    const Value& value = model_.bank.value(id);
    const Node& node = model_.bank.node(value.node);
    const std::string name = value.name.empty() ? "" : " '" + value.name + "'";
    switch (node.kind) {
      case Node::Kind::Input:
        return "the model's input" + name;
      case Node::Kind::Constant:
        return "the constant" + name;
      case Node::Kind::Opaque: {
        const auto& record = model_.import.nodes[model_.import.opaque_nodes.at(node.source)];
        return record.op_type + " '" + record.name + "', opaque: " + record.reason;
      }
      case Node::Kind::Algebra:
        return (node.constant ? "a constant, " : "") + model_.bank.instance(node).operator_name + name;
    }
    return name;
  }

  /// Returns the reason why a complete match did not lead to a rewrite.
  std::string reason_after_match(std::uint32_t number, NodeId id) {
    const Pattern& pattern = model_.matcher.patterns()[number];
    const NodeId near[] = {id};
    for (const Rewrite& rewrite : model_.matcher.rewrites(model_.import.outputs, near)) {
      if (rewrite.pattern != number) continue;
      std::unordered_map<ValueId, ValueId> replacements;
      for (const auto& [before, after] : rewrite.replacements) replacements.emplace(before, after);
      const double before = model_.cost.graph_seconds(model_.import.outputs);
      const double after = model_.cost.graph_seconds(model_.bank.replace(model_.import.outputs, replacements));
      char text[120];
      std::snprintf(text, sizeof text, "it applies; by the cost model the graph would take %.4g ms instead of %.4g ms",
                    after * 1e3, before * 1e3);
      return text;
    }
    const algebra::Rule& rule = model_.rules[pattern.rule].rule;
    std::string reason = "all its operators match, but sizes or uses do not";
    for (const algebra::SizeCondition& condition : rule.condition) {
      reason += (&condition == rule.condition.data() ? "; it requires " : ", ") +
                algebra::to_string(condition, model_.bank.symbols());
    }
    return reason;
  }

  const ExplainedModel& model_;
  PositivityAnalysis positivity_;
  std::map<NodeId, const ImportedModel::NodeRecord*> record_of_;
};

}  // namespace

std::vector<Explanation> explain(const ExplainedModel& model, const std::string& target) {
  return NodeExplainer(model).run(target);
}

std::string to_text(const std::vector<Explanation>& explanations) {
  constexpr std::size_t max_lines = 40;
  std::string text;
  for (std::size_t i = 0; i < explanations.size() && i < max_lines; ++i) {
    const Explanation& each = explanations[i];
    text += each.rule + (each.place.empty() ? " has no instance for the model" : " at " + each.place);
    if (each.times > 1) text += " and " + std::to_string(each.times - 1) + " more";
    text += ": " + each.reason + "\n";
  }
  if (explanations.empty()) text = "no operator of the model is the root of a side of the rule\n";
  if (explanations.size() > max_lines)
    text += "and " + std::to_string(explanations.size() - max_lines) + " more reasons\n";
  return text;
}

}  // namespace rulemill::optimize
