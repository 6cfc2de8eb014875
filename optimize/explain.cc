#include "optimize/explain.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>
#include <set>

#include "algebra/terms/rule_text.h"
#include "optimize/cost.h"
#include "runtime/error.h"

namespace rulemill::optimize {

namespace {

/// How far the source of a rule was found, and what stood in the way.
struct Fit {
  std::size_t operators = 0;
  std::string obstacle;  // empty: all of it is there
};

class Explainer {
 public:
  explicit Explainer(const ExplainedModel& model) : model_(model), positives_(model.bank) {
    for (const Import::NodeRecord& record : model.import.nodes) {
      if (record.recipe.opaque()) continue;
      for (const ValueId output : record.outputs) record_of_[model.bank.value(output).node] = &record;
    }
  }

  std::vector<Explanation> run(const std::string& target) {
    // A rule in general form has the same id, and what it was made for behind it.
    const auto is_target = [&](const algebra::RuleRecord& record) {
      const std::string& id = record.rule.id;
      return id.starts_with(target) &&
             (id.size() == target.size() || std::isdigit(static_cast<unsigned char>(id[target.size()])) == 0);
    };
    const bool is_rule = std::ranges::any_of(model_.rules, is_target);
    const std::set<NodeId> at = is_rule ? std::set<NodeId>() : nodes_named(target);
    std::vector<Explanation> found;
    for (std::uint32_t number = 0; number < model_.matcher.patterns().size(); ++number) {
      const Pattern& pattern = model_.matcher.patterns()[number];
      if (is_rule && !is_target(model_.rules[pattern.rule])) continue;
      for (const NodeId id : model_.bank.live(model_.import.outputs)) {
        if (is_rule || at.contains(id)) judge(number, id, found);
      }
    }
    std::ranges::stable_sort(found, std::ranges::greater(), &Explanation::fits);
    return found;
  }

 private:
  std::set<NodeId> nodes_named(const std::string& name) const {
    const auto& nodes = model_.import.nodes;
    const auto record = std::ranges::find(nodes, name, &Import::NodeRecord::name);
    if (record == nodes.end()) {
      throw runtime::UsageError("--explain", "no rule and no node of the model is named '" + name + "'");
    }
    if (record->recipe.opaque()) {
      throw runtime::UsageError("--explain", "'" + name + "' is kept as it is: " + record->reason);
    }
    // All steps that the node says, from its last ones down.
    std::set<NodeId> found;
    std::vector<NodeId> open;
    for (const ValueId output : record->outputs) open.push_back(model_.bank.value(output).node);
    while (!open.empty() && found.size() < record->recipe.steps.size()) {
      const NodeId id = open.back();
      open.pop_back();
      if (model_.bank.node(id).kind != Node::Kind::Algebra || !found.insert(id).second) continue;
      for (const ValueId argument : model_.bank.node(id).arguments) open.push_back(model_.bank.value(argument).node);
    }
    return found;
  }

  /// Adds why the pattern does not fire where `id` stands for one of its outputs.
  void judge(std::uint32_t number, NodeId id, std::vector<Explanation>& found) {
    const Pattern& pattern = model_.matcher.patterns()[number];
    const Node& node = model_.bank.node(id);
    if (node.kind != Node::Kind::Algebra || node.constant) return;
    for (const algebra::TermId root : pattern.source) {
      const algebra::Term& term = model_.terms.term(root);
      const auto& wanted = model_.terms.instance_of(root);
      if (wanted.operator_name != model_.bank.instance(node).operator_name) continue;
      if (term.output >= node.outputs.size()) continue;
      const Fit fit = fits(root, node.outputs[term.output]);
      add(number, id, fit.operators, fit.obstacle.empty() ? whole_reason(number, id) : fit.obstacle, found);
      return;
    }
  }

  void add(std::uint32_t number, NodeId id, std::size_t operators, std::string reason,
           std::vector<Explanation>& found) const {
    const Pattern& pattern = model_.matcher.patterns()[number];
    std::string rule = model_.rules[pattern.rule].rule.id + (pattern.reversed ? ", from right to left" : "");
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

  Fit fits(algebra::TermId id, ValueId value) {
    const algebra::Term& term = model_.terms.term(id);
    const Value& actual = model_.bank.value(value);
    if (const auto variable = positive_variable(id, model_.terms)) {
      if (positives_.contains(value)) return fits(*variable, value);
      return {0, described(value) + " is not known to be positive, the rule's " + model_.terms.term(*variable).name +
                     " is of positives"};
    }
    if (term.is_variable) {
      if (!actual.type) return {0, "the type of " + described(value) + " is not known"};
      if (actual.type->size() == term.rank) return {};
      return {0, described(value) + " has rank " + std::to_string(actual.type->size()) + ", the rule's " + term.name +
                     " has rank " + std::to_string(term.rank)};
    }
    const algebra::Instance& wanted = model_.terms.instance_of(id);
    const Node& node = model_.bank.node(actual.node);
    if (node.kind != Node::Kind::Algebra || model_.bank.instance(node).operator_name != wanted.operator_name) {
      return {0, "the rule has " + wanted.operator_name + " where the model has " + described(value)};
    }
    if (node.instance != wanted.id) {
      const std::string& actual_name = model_.bank.instance(node).name;
      if (actual_name == wanted.name) return {0, "the rule has " + wanted.name + " on tensors of other ranks"};
      return {0, "the rule has " + wanted.name + " where the model has " + actual_name};
    }
    const auto& arguments = model_.terms.node(term.node).arguments;
    Fit fit = arguments_fit(arguments, node.arguments);
    if (!fit.obstacle.empty() && wanted.commutative && node.arguments.size() == 2) {
      Fit other = arguments_fit(arguments, {node.arguments[1], node.arguments[0]});
      if (other.obstacle.empty() || other.operators > fit.operators) fit = std::move(other);
    }
    ++fit.operators;
    return fit;
  }

  Fit arguments_fit(const std::vector<algebra::TermId>& wanted, const std::vector<ValueId>& values) {
    Fit all;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Fit fit = fits(wanted[i], values[i]);
      all.operators += fit.operators;
      if (all.obstacle.empty()) all.obstacle = fit.obstacle;
    }
    return all;
  }

  std::string described(ValueId id) const {
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
        return record.op_type + " '" + record.name + "', kept as it is: " + record.reason;
      }
      case Node::Kind::Algebra:
        return (node.constant ? "a constant, " : "") + model_.bank.instance(node).operator_name + name;
    }
    return name;
  }

  /// Why what is all there did not come to anything.
  std::string whole_reason(std::uint32_t number, NodeId id) {
    const Pattern& pattern = model_.matcher.patterns()[number];
    const NodeId near[] = {id};
    for (const Rewrite& rewrite : model_.matcher.rewrites(model_.import.outputs, near)) {
      if (rewrite.pattern != number) continue;
      std::unordered_map<ValueId, ValueId> now;
      for (const auto& [before, after] : rewrite.replacements) now.emplace(before, after);
      const double before = model_.cost.graph_seconds(model_.import.outputs);
      const double after = model_.cost.graph_seconds(model_.bank.replace(model_.import.outputs, now));
      char text[120];
      std::snprintf(text, sizeof text,
                    "it applies; by the cost model alone the whole would take %.4g ms instead of %.4g ms", after * 1e3,
                    before * 1e3);
      return text;
    }
    const algebra::Rule& rule = model_.rules[pattern.rule].rule;
    std::string reason = "all its operators are there, but sizes or uses do not fit";
    for (const algebra::SizeCondition& condition : rule.condition) {
      reason += (&condition == rule.condition.data() ? "; it holds where " : ", ") +
                algebra::to_string(condition, model_.bank.symbols());
    }
    return reason;
  }

  const ExplainedModel& model_;
  Positives positives_;
  std::map<NodeId, const Import::NodeRecord*> record_of_;
};

}  // namespace

std::vector<Explanation> explain(const ExplainedModel& model, const std::string& target) {
  return Explainer(model).run(target);
}

std::string to_text(const std::vector<Explanation>& explanations) {
  constexpr std::size_t most = 40;
  std::string text;
  for (std::size_t i = 0; i < explanations.size() && i < most; ++i) {
    const Explanation& each = explanations[i];
    text += each.rule + " at " + each.place;
    if (each.times > 1) text += " and " + std::to_string(each.times - 1) + " more";
    text += ": " + each.reason + "\n";
  }
  if (explanations.empty()) text = "no operator of the model is one that begins a side of the rule\n";
  if (explanations.size() > most) text += "and " + std::to_string(explanations.size() - most) + " reasons more\n";
  return text;
}

}  // namespace rulemill::optimize
