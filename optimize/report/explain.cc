#include "optimize/report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "algebra/rules/rule_set.h"
#include "algebra/rules/specialization.h"
#include "algebra/terms/rule_renaming.h"
#include "algebra/terms/rule_text.h"
#include "optimize/model/graph.h"
#include "optimize/model/numbers.h"
#include "optimize/search/search_graph.h"
#include "runtime/text/error.h"
#include "runtime/text/join_text.h"

namespace rulemill::optimize {
namespace {

/// A rule of the database with the specialized rules that stand for it: those named after it, and, if it is general,
/// its special cases, which have ids of their own in the database.
class ExplainedRule {
 public:
  /// `id` may lack the suffix of general rules. `all` are the rules of the database, `specialized` those of the model.
  ExplainedRule(const std::string& id, const std::vector<algebra::RuleRecord>& all,
                const std::vector<algebra::RuleRecord>& specialized, const GraphBank& bank, algebra::TermBank& terms);

  /// Returns whether the database has such a rule.
  bool exists() const { return !ids_.empty(); }
  /// Returns whether the specialized rule stands for it.
  bool includes(std::uint32_t number) const { return numbers_.contains(number); }
  /// Returns the id of the specialized rule, after the general rule's id if it does not begin with that.
  std::string name_of(std::uint32_t number) const;
  /// Returns why no specialized rule stands for it; empty if one does.
  const std::string& absence_reason() const { return absence_reason_; }
  const std::string& first_id() const { return ids_.front(); }

 private:
  void add_specializations(const algebra::RuleRecord& general, const GraphBank& bank, algebra::TermBank& terms);

  const std::vector<algebra::RuleRecord>& specialized_;
  std::vector<std::string> ids_;
  std::set<std::uint32_t> numbers_;
  std::string absence_reason_;
};

using algebra::RuleRecord;

/// True for the rule's id, and for one that goes on with anything but a digit: r48 names r48g and r48@d=2.
bool is_named(const std::string& id, const std::string& name) {
  return id.starts_with(name) &&
         (id.size() == name.size() || std::isdigit(static_cast<unsigned char>(id[name.size()])) == 0);
}

/// Returns why a rule has no instance: the operators that one of its sides has and the model lacks, whichever are
/// fewer.
std::string reason_of_absence(const algebra::Rule& rule, const GraphBank& bank, const algebra::TermBank& terms) {
  std::set<std::string> present;
  for (const algebra::InstanceId id : used_operators(bank).instances)
    present.insert(bank.library().instance(id).operator_name);
  std::array<std::set<std::string>, 2> missing;
  for (std::size_t side = 0; side < 2; ++side) {
    for (const auto node : terms.nodes(side == 0 ? rule.source : rule.target)) {
      const std::string& name = terms.library().instance(terms.node(node).instance).operator_name;
      if (!present.contains(name)) missing[side].insert(name);
    }
  }
  const std::set<std::string>& fewer = missing[missing[1].size() < missing[0].size() ? 1 : 0];
  if (fewer.empty()) return "the model has its operators with other ranks or parameters";
  return "the model has no " + runtime::join_text(fewer);
}

ExplainedRule::ExplainedRule(const std::string& id, const std::vector<RuleRecord>& all,
                             const std::vector<RuleRecord>& specialized, const GraphBank& bank,
                             algebra::TermBank& terms)
    : specialized_(specialized) {
  for (std::uint32_t number = 0; number < specialized.size(); ++number) {
    if (is_named(specialized[number].rule.id, id)) numbers_.insert(number);
  }
  for (const RuleRecord& record : all) {
    const bool is_specialization_named = algebra::is_named_after(id, record.rule.id);
    if (!is_specialization_named && !is_named(record.rule.id, id)) continue;
    ids_.push_back(record.rule.id);
    if (is_specialization_named && algebra::is_general(record.rule, terms)) add_specializations(record, bank, terms);
    if (numbers_.empty() && absence_reason_.empty()) absence_reason_ = reason_of_absence(record.rule, bank, terms);
  }
  if (!numbers_.empty()) absence_reason_.clear();
}

void ExplainedRule::add_specializations(const RuleRecord& general, const GraphBank& bank, algebra::TermBank& terms) {
  // Rules apply to what other rules create, too.
  algebra::UsedOperators used = used_operators(bank);
  std::multimap<std::string, std::uint32_t> by_key;
  for (std::uint32_t number = 0; number < specialized_.size(); ++number) {
    const algebra::Rule& rule = specialized_[number].rule;
    by_key.emplace(algebra::renaming_key(rule, terms), number);
    for (const auto& side : {rule.source, rule.target}) {
      for (const auto node : terms.nodes(side)) used.instances.insert(terms.node(node).instance);
    }
  }
  for (const RuleRecord& special : algebra::specialize({general}, used, bank.library(), terms, bank.symbols())) {
    const auto [begin, end] = by_key.equal_range(algebra::renaming_key(special.rule, terms));
    for (auto known = begin; known != end; ++known) {
      if (algebra::is_renaming_of(specialized_[known->second].rule, special.rule, terms, bank.symbols()))
        numbers_.insert(known->second);
    }
  }
}

std::string ExplainedRule::name_of(std::uint32_t number) const {
  const std::string& id = specialized_[number].rule.id;
  const auto is_prefix = [&](const std::string& each) { return id.starts_with(each); };
  return std::ranges::any_of(ids_, is_prefix) ? id : ids_.front() + " as " + id;
}

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
    const std::vector<ValueId> named = name_constants(model.bank, values, model.terms, model.rules).outputs;
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
    if (record == nodes.end())
      throw runtime::UsageError("--explain", "no rule and no node of the model is named '" + name + "'");
    if (record->lowered.is_opaque())
      throw runtime::UsageError("--explain", "'" + name + "' is opaque: " + record->reason);
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
    if (node.kind != Node::Kind::Algebra || model_.bank.instance(node).operator_name != wanted.operator_name)
      return {0, "the rule has " + wanted.operator_name + " where the model has " + describe_value(value),
              "the model had " + wanted.operator_name + " there"};
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
    for (const Rewrite& rewrite : model_.matcher.rewrites(outputs_, near, model_.rules[pattern.rule].rule.widens)) {
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
  for (const Explanation& each : explanations)
    list.push_back({{"rule", each.rule},
                    {"place", each.place},
                    {"stands", each.stands},
                    {"reason", each.reason},
                    {"requirement", each.requirement},
                    {"places", each.times}});
  return list;
}

}  // namespace rulemill::optimize
