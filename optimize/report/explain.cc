#include "optimize/report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "algebra/terms/rule_text.h"
#include "optimize/cost/cost_model.h"
#include "optimize/model/numbers.h"
#include "optimize/report/explained_rule.h"
#include "runtime/text/error.h"
#include "runtime/text/join_text.h"

namespace rulemill::optimize {

namespace {

/// A partial match of the source of a rule.
struct PartialMatch {
  std::size_t operators = 0;  // matched
  std::string obstacle;       // empty for a complete match
  std::string requirement;    // what would remove the obstacle
  double seconds_after = 0;   // of the graph, if the rule applies
};

class NodeExplainer {
 public:
  explicit NodeExplainer(const ExplainedModel& model) : model_(model), positivity_(model.bank) {
    std::vector<const ImportedModel::NodeRecord*> records;
    std::vector<ValueId> values = model.import.outputs;
    for (const ImportedModel::NodeRecord& record : model.import.nodes) {
      if (record.lowered.is_opaque()) continue;
      for (const ValueId output : record.outputs) {
        if (model.bank.node_of(output).kind == Node::Kind::Constant) continue;
        records.push_back(&record);
        values.push_back(output);
      }
    }
    const std::vector<ValueId> named = name_constants(model.bank, values, model.terms, model.rules);
    outputs_.assign(named.begin(), named.end() - static_cast<std::ptrdiff_t>(records.size()));
    for (std::size_t i = 0; i < records.size(); ++i) {
      const NodeId id = model.bank.value(named[outputs_.size() + i]).node;
      record_of_[id] = records[i];
      nodes_of_[records[i]].push_back(id);
    }
  }

  std::vector<Explanation> run(const std::string& target) {
    const ExplainedRule rule(target, model_.database, model_.rules, model_.bank, model_.terms);
    const bool is_rule = rule.exists();
    if (is_rule && !rule.absence_reason().empty()) return {{rule.first_id(), "", "", rule.absence_reason(), ""}};
    const std::set<NodeId> at = is_rule ? std::set<NodeId>() : nodes_named(target);
    std::vector<Explanation> found;
    for (std::uint32_t number = 0; number < model_.matcher.patterns().size(); ++number) {
      const Pattern& pattern = model_.matcher.patterns()[number];
      if (is_rule && !rule.includes(pattern.rule)) continue;
      const std::string name = is_rule ? rule.name_of(pattern.rule) : model_.rules[pattern.rule].rule.id;
      for (const NodeId id : model_.bank.live_nodes(outputs_)) {
        if (is_rule || at.contains(id)) explain_at(number, name, id, found);
      }
    }
    if (found.empty() && !is_rule) found.push_back(place_of(*at.begin()));
    std::ranges::stable_sort(found, {}, &Explanation::distance);
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
    if (const auto last = nodes_of_.find(&*record); last != nodes_of_.end()) open = last->second;
    while (!open.empty() && found.size() < record->lowered.steps.size()) {
      const NodeId id = open.back();
      open.pop_back();
      if (model_.bank.node(id).kind != Node::Kind::Algebra || !found.insert(id).second) continue;
      for (const ValueId argument : model_.bank.node(id).arguments) open.push_back(model_.bank.value(argument).node);
    }
    if (found.empty())
      throw runtime::UsageError("--explain", "'" + name + "' computes nothing; the clean-up removes it");
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
      PartialMatch match = match_term(root, node.outputs[term.output]);
      if (match.obstacle.empty()) find_effect(number, id, match);
      const std::string name = pattern.reversed ? rule + ", reversed" : rule;
      const auto known = std::ranges::find_if(
          found, [&](const Explanation& each) { return each.rule == name && each.reason == match.obstacle; });
      if (known != found.end()) {
        ++known->times;
        return;
      }
      Explanation& explanation = found.emplace_back(place_of(id));
      explanation.rule = name;
      explanation.reason = std::move(match.obstacle);
      explanation.requirement = std::move(match.requirement);
      explanation.matched_operators = match.operators;
      const std::size_t size = model_.terms.nodes(pattern.source).size();
      explanation.missing_operators = size - std::min(size, match.operators);
      explanation.seconds_after = match.seconds_after;
      return;
    }
  }

  /// Returns the place of a node, without a rule.
  Explanation place_of(NodeId id) const {
    Explanation at;
    at.place = at.stands = model_.bank.instance(model_.bank.node(id)).name;
    const auto record = record_of_.find(id);
    if (record == record_of_.end()) return at;
    at.place = record->second->name;
    at.stands = record->second->op_type + ", read as " + at.stands;
    return at;
  }

  PartialMatch match_term(algebra::TermId id, ValueId value) {
    const algebra::Term& term = model_.terms.term(id);
    const Value& actual = model_.bank.value(value);
    if (const auto variable = positive_variable(id, model_.terms)) {
      if (positivity_.is_positive(value)) return match_term(*variable, value);
      return {0,
              describe_value(value) + " is not known to be positive, as the rule's " +
                  model_.terms.term(*variable).name + " must be",
              "it were known to be positive"};
    }
    if (term.is_variable) {
      if (!actual.type) return {0, "the type of " + describe_value(value) + " is not known", "it were known"};
      if (actual.type->size() == term.rank) return {};
      return {0,
              describe_value(value) + " has rank " + std::to_string(actual.type->size()) + ", the rule's " + term.name +
                  " has rank " + std::to_string(term.rank),
              "the ranks were the same"};
    }
    const algebra::OperatorInstance& wanted = model_.terms.instance_of(id);
    const Node& node = model_.bank.node(actual.node);
    if (node.kind != Node::Kind::Algebra || model_.bank.instance(node).operator_name != wanted.operator_name) {
      return {0, "the rule has " + wanted.operator_name + " where the model has " + describe_value(value),
              "the model had " + wanted.operator_name + " there"};
    }
    if (node.instance != wanted.id) {
      const std::string& actual_name = model_.bank.instance(node).name;
      if (actual_name == wanted.name)
        return {0, "the rule has " + wanted.name + " on tensors of other ranks", "the ranks were the same"};
      return {0, "the rule has " + wanted.name + " where the model has " + actual_name,
              "the model had " + wanted.name + " there"};
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
      if (all.obstacle.empty()) all.obstacle = match.obstacle, all.requirement = match.requirement;
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

  /// Sets what a complete match would lead to, or why it leads to no rewrite.
  void find_effect(std::uint32_t number, NodeId id, PartialMatch& match) {
    const Pattern& pattern = model_.matcher.patterns()[number];
    const NodeId near[] = {id};
    for (const Rewrite& rewrite : model_.matcher.rewrites(outputs_, near)) {
      if (rewrite.pattern != number) continue;
      std::unordered_map<ValueId, ValueId> replacements;
      for (const auto& [before, after] : rewrite.replacements) replacements.emplace(before, after);
      const double before = model_.cost.graph_seconds(outputs_);
      match.seconds_after = model_.cost.graph_seconds(model_.bank.replace(outputs_, replacements));
      match.obstacle = fmt::format("by the cost model the graph would take {:.4g} ms instead of {:.4g} ms",
                                   match.seconds_after * 1e3, before * 1e3);
      match.requirement = match.seconds_after < before ? "no cheaper graph is found and a measurement agrees"
                                                       : "its result were cheaper (--cost onnxruntime measures nodes)";
      return;
    }
    const auto& conditions = model_.rules[pattern.rule].rule.condition;
    match.obstacle = "all its operators match, but sizes or uses do not";
    match.requirement = runtime::join_text(conditions, [&](const algebra::SizeCondition& condition) {
      return algebra::to_string(condition, model_.bank.symbols());
    });
    if (conditions.empty()) match.requirement = "sizes and uses were those of the rule";
  }

  const ExplainedModel& model_;
  PositivityAnalysis positivity_;
  std::vector<ValueId> outputs_;  // of the graph that is searched, in which constants that rules name are operators
  std::map<NodeId, const ImportedModel::NodeRecord*> record_of_;
  std::map<const ImportedModel::NodeRecord*, std::vector<NodeId>> nodes_of_;
};

}  // namespace

std::vector<Explanation> explain(const ExplainedModel& model, const std::string& target) {
  return NodeExplainer(model).run(target);
}

std::string to_text(const std::vector<Explanation>& explanations) {
  if (explanations.empty()) return "no operator of the model is the root of a side of the rule\n";
  const Explanation& nearest = explanations[0];
  if (nearest.place.empty()) return fmt::format("{} has no instance for the model: {}\n", nearest.rule, nearest.reason);
  std::string text = fmt::format("At {} stands {}.\n", nearest.place, nearest.stands);
  if (nearest.rule.empty()) return text + "No rule of the databases has this operator at its root.\n";
  const bool applies = nearest.seconds_after > 0;
  text += fmt::format("Rule {} {}", nearest.rule, applies ? "applies" : "comes nearest");
  if (explanations.size() > 1) text += fmt::format(" (first of {}; --json FILE has all)", explanations.size());
  if (nearest.times > 1) text += fmt::format(", as at {} more places", nearest.times - 1);
  return text +
         fmt::format(": {}.\nIt would {} if {}.\n", nearest.reason, applies ? "be used" : "apply", nearest.requirement);
}

runtime::Json to_json(const std::vector<Explanation>& explanations) {
  runtime::Json list = runtime::Json::array();
  for (const Explanation& each : explanations) {
    list.push_back({{"rule", each.rule},
                    {"place", each.place},
                    {"stands", each.stands},
                    {"reason", each.reason},
                    {"requirement", each.requirement},
                    {"places", each.times}});
  }
  return list;
}

}  // namespace rulemill::optimize
