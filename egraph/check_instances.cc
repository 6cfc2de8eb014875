#include "egraph/check_instances.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "algebra/terms/rule_text.h"

namespace rulemill::egraph {
namespace {

using algebra::Atom;
using algebra::InstanceId;
using algebra::NodeId;
using algebra::Poly;
using algebra::Relation;
using algebra::Rule;
using algebra::Shape;
using algebra::SizeCondition;
using algebra::Substitution;
using algebra::Symbols;
using algebra::TermBank;
using algebra::TermId;
using algebra::TypedRule;

/// What the goal lets one assume of its sizes: equations, as replacements, and polynomials that are at least 0.
class Assumptions {
 public:
  Assumptions(const TypedRule& goal, Symbols& symbols) : symbols_(symbols) {
    for (const SizeCondition& condition : goal.rule.condition) {
      if (condition.relation == Relation::Eq) add_equation(normal(condition.left - condition.right));
    }
    for (const SizeCondition& condition : goal.rule.condition) add_fact(condition);
    for (const SizeCondition& fact : goal.facts) add_fact(fact);
    for (const auto& [atom, value] : replaced_) facts_.push_back(value - 1);
    for (const auto& [term, shape] : goal.types) {
      for (const Poly& dim : shape) facts_.push_back(normal(dim) - 1);
    }
  }

  Poly normal(const Poly& poly) const { return symbols_.substitute(poly, replaced_); }
  Shape normal(Shape shape) const {
    for (Poly& dim : shape) dim = normal(dim);
    return shape;
  }
  bool nonnegative(const Poly& poly) const {
    if (symbols_.nonnegative(poly)) return true;
    return std::ranges::any_of(facts_, [&](const Poly& fact) { return symbols_.nonnegative(poly - fact); });
  }
  bool holds(const SizeCondition& condition) const {
    const Poly difference = normal(condition.right) - normal(condition.left);
    switch (condition.relation) {
      case Relation::Eq:
        return difference.is_zero();
      case Relation::Ne:
        return nonnegative(difference - 1) || nonnegative(-difference - 1);
      case Relation::Lt:
        return nonnegative(difference - 1);
      default:
        return nonnegative(difference);
    }
  }
  std::span<const Poly> facts() const { return facts_; }

 private:
  void add_equation(const Poly& zero) {
    for (const Atom atom : symbols_.atoms(zero)) {
      const std::int64_t coefficient = zero.coefficient(atom);
      const Poly rest = zero - Poly(coefficient) * Poly(atom);
      if ((coefficient != 1 && coefficient != -1) || symbols_.contains(rest, atom)) continue;
      const Poly value = coefficient == 1 ? -rest : rest;
      for (auto& [known, replacement] : replaced_) {
        replacement = symbols_.substitute(replacement, Substitution{{atom, value}});
      }
      replaced_.emplace(atom, value);
      return;
    }
  }
  void add_fact(const SizeCondition& condition) {
    const Poly difference = normal(condition.right) - normal(condition.left);
    if (condition.relation == Relation::Lt) facts_.push_back(difference - 1);
    if (condition.relation == Relation::Le) facts_.push_back(difference);
  }

  Symbols& symbols_;
  Substitution replaced_;
  std::vector<Poly> facts_;
};

class Checker {
 public:
  Checker(const TypedRule& goal, std::span<const TypedRule> rules, TermBank& bank, Symbols& symbols)
      : goal_(goal), rules_(rules), bank_(bank), symbols_(symbols), assumptions_(goal, symbols) {
    for (std::size_t i = 0; i < goal.rule.variables.size(); ++i) {
      types_[goal.rule.variables[i]] = assumptions_.normal(goal.rule.shapes[i]);
    }
    std::vector<TermId> roots = goal.rule.source;
    roots.insert(roots.end(), goal.rule.target.begin(), goal.rule.target.end());
    for (const TermId variable : bank.variables(roots)) add_term(variable);
    for (const NodeId node : bank.nodes(roots)) {
      if (!add_node(node)) assume_types(node);
    }
  }

  std::optional<std::string> check(std::span<const RuleInstance> instances) {
    for (std::size_t i = 0; i < instances.size(); ++i) {
      if (auto wrong = check_instance(instances[i])) return "rule instance " + std::to_string(i + 1) + ": " + *wrong;
    }
    close();
    for (std::size_t i = 0; i < goal_.rule.source.size(); ++i) {
      if (find(goal_.rule.source[i]) != find(goal_.rule.target[i])) {
        return "the instances do not imply that output " + std::to_string(i + 1) + " is equal on both sides";
      }
    }
    return std::nullopt;
  }

 private:
  std::optional<std::string> check_instance(const RuleInstance& instance) {
    if (instance.rule >= rules_.size()) return "there is no rule number " + std::to_string(instance.rule);
    const TypedRule& typed = rules_[instance.rule];
    const Rule& rule = typed.rule;
    if (instance.variables.size() != rule.variables.size()) {
      return "rule " + rule.id + " has " + std::to_string(rule.variables.size()) + " variables, the instance gives " +
             std::to_string(instance.variables.size());
    }
    const Substitution sizes(instance.sizes.begin(), instance.sizes.end());
    for (const auto& [atom, value] : instance.sizes) {
      if (!assumptions_.nonnegative(assumptions_.normal(value) - 1)) {
        return "size " + symbols_.name(atom) + " = " + symbols_.to_string(value) + " is not shown to be at least 1";
      }
    }
    std::unordered_map<TermId, TermId> terms;
    for (std::size_t v = 0; v < rule.variables.size(); ++v) {
      const TermId term = instance.variables[v];
      if (auto wrong = add_terms({&term, 1})) return wrong;
      const Shape& actual = types_.at(term);
      Shape expected;
      for (const Poly& dim : rule.shapes[v]) {
        if (auto missing = missing_size(dim, sizes)) return missing;
        expected.push_back(assumptions_.normal(symbols_.substitute(dim, sizes)));
      }
      if (actual != expected) {
        return text(term) + " has shape " + symbols_.to_string(actual) + ", rule " + rule.id + " wants " +
               symbols_.to_string(expected);
      }
      terms.emplace(rule.variables[v], term);
    }
    for (const SizeCondition& condition : rule.condition) {
      const SizeCondition here{condition.relation, symbols_.substitute(condition.left, sizes),
                               symbols_.substitute(condition.right, sizes)};
      if (!assumptions_.holds(here)) return "the condition " + algebra::to_string(here, symbols_) + " is not shown";
    }
    const std::vector<TermId> source = bank_.substitute(rule.source, terms, sizes, symbols_);
    const std::vector<TermId> target = bank_.substitute(rule.target, terms, sizes, symbols_);
    if (auto wrong = add_terms(source)) return wrong;
    if (auto wrong = add_terms(target)) return wrong;
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (types_.at(source[i]) != types_.at(target[i])) return "the sides have different types";
      unite(source[i], target[i]);
    }
    return std::nullopt;
  }

  std::optional<std::string> missing_size(const Poly& poly, const Substitution& sizes) const {
    for (const Atom atom : symbols_.atoms(poly)) {
      if (!sizes.contains(atom)) return "no value for size " + symbols_.name(atom);
    }
    return std::nullopt;
  }

  std::string text(TermId term) const { return algebra::to_string(term, bank_, symbols_); }

  /// Types all nodes under the roots.
  std::optional<std::string> add_terms(std::span<const TermId> roots) {
    for (const TermId variable : bank_.variables(roots)) {
      if (!types_.contains(variable)) return bank_.term(variable).name + " is not a variable of the goal";
    }
    for (const NodeId node : bank_.nodes(roots)) {
      if (!add_node(node)) return text(bank_.output(node, 0)) + " does not type";
    }
    return std::nullopt;
  }

  bool add_node(NodeId id) {
    if (node_index_.contains(id)) return true;
    const algebra::Node node = bank_.node(id);
    std::vector<Shape> inputs;
    for (const TermId argument : node.arguments) inputs.push_back(types_.at(argument));
    std::vector<Poly> sizes;
    for (const Poly& size : node.sizes) sizes.push_back(assumptions_.normal(size));
    const auto outputs =
        algebra::infer(bank_.library().instance(node.instance), inputs, sizes, symbols_, assumptions_.facts());
    if (!outputs) return false;
    keep(id, *outputs);
    return true;
  }

  /// A node of the goal, whose types hold by the goal's own statement.
  void assume_types(NodeId id) {
    std::vector<Shape> outputs;
    for (std::uint32_t o = 0; o < bank_.library().instance(bank_.node(id).instance).outputs.size(); ++o) {
      outputs.push_back(goal_.types.at(bank_.output(id, o)));
    }
    keep(id, outputs);
  }

  void keep(NodeId id, const std::vector<Shape>& outputs) {
    node_index_.emplace(id, nodes_.size());
    nodes_.push_back(id);
    for (std::uint32_t o = 0; o < outputs.size(); ++o) {
      const TermId term = bank_.output(id, o);
      types_[term] = assumptions_.normal(outputs[o]);
      add_term(term);
    }
  }

  void add_term(TermId term) { parent_.try_emplace(term, term); }
  TermId find(TermId term) {
    while (parent_.at(term) != term) term = parent_.at(term);
    return term;
  }
  bool unite(TermId a, TermId b) {
    a = find(a);
    b = find(b);
    if (a == b) return false;
    parent_[std::max(a, b)] = std::min(a, b);
    return true;
  }

  /// Ground congruence closure: nodes of one instance and size on equal arguments have equal outputs.
  void close() {
    using Signature = std::tuple<InstanceId, std::vector<TermId>, std::vector<Poly>>;
    for (bool changed = true; changed;) {
      changed = false;
      std::map<Signature, NodeId> seen;
      for (const NodeId id : nodes_) {
        const algebra::Node& node = bank_.node(id);
        const algebra::Instance& instance = bank_.library().instance(node.instance);
        Signature signature{node.instance, {}, {}};
        for (const TermId argument : node.arguments) std::get<1>(signature).push_back(find(argument));
        if (instance.commutative) std::ranges::sort(std::get<1>(signature));
        for (const Poly& size : node.sizes) std::get<2>(signature).push_back(assumptions_.normal(size));
        const auto [same, is_new] = seen.try_emplace(std::move(signature), id);
        if (is_new) continue;
        for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) {
          changed |= unite(bank_.output(id, o), bank_.output(same->second, o));
        }
      }
    }
  }

  const TypedRule& goal_;
  std::span<const TypedRule> rules_;
  TermBank& bank_;
  Symbols& symbols_;
  Assumptions assumptions_;
  std::unordered_map<TermId, Shape> types_;
  std::unordered_map<NodeId, std::size_t> node_index_;
  std::vector<NodeId> nodes_;
  std::unordered_map<TermId, TermId> parent_;
};

}  // namespace

std::optional<std::string> check_instances(const TypedRule& goal, std::span<const RuleInstance> instances,
                                           std::span<const TypedRule> rules, TermBank& bank, Symbols& symbols) {
  return Checker(goal, rules, bank, symbols).check(instances);
}

}  // namespace rulemill::egraph
