#include "egraph/goal.h"

#include <algorithm>

#include "runtime/text/error.h"

namespace rulemill::egraph {

using algebra::Atom;
using algebra::NodeId;
using algebra::Poly;
using algebra::Relation;
using algebra::Shape;
using algebra::SizeCondition;
using algebra::TermId;

Atom CanonicalSizes::operator[](std::size_t index) {
  while (atoms_.size() <= index) atoms_.push_back(symbols_->fresh_size("goal"));
  return atoms_[index];
}

Goal::Goal(const algebra::TypedRule& rule, algebra::TermBank& bank, CanonicalSizes& canonical_sizes, EGraph& egraph)
    : rule_(rule), bank_(bank), egraph_(egraph), symbols_(egraph.size_table().symbols()) {
  canonicalize_sizes(canonical_sizes);
  solve_condition();
  assume_facts();
  add_nodes();
  operator_count_ =
      static_cast<std::uint32_t>(std::max(bank.nodes(rule.rule.source).size(), bank.nodes(rule.rule.target).size()));
}

void Goal::canonicalize_sizes(CanonicalSizes& canonical_sizes) {
  std::size_t next = 0;
  const auto add_atom = [&](Atom atom) {
    if (!to_canonical_.try_emplace(atom, Poly()).second) return;
    const Atom canonical = canonical_sizes[next++];
    to_canonical_[atom] = Poly(canonical);
    from_canonical_.emplace(canonical, Poly(atom));
  };
  const auto add_atoms = [&](const Poly& poly) {
    if (poly.constant()) return;
    if (const auto atom = poly.atom(); atom && symbols_.kind(*atom) == algebra::Symbols::Kind::Size) {
      add_atom(*atom);
    } else {
      for (const Atom each : symbols_.atoms(poly)) add_atom(each);
    }
  };
  for (const Shape& shape : rule_.rule.shapes) {
    for (const Poly& dim : shape) add_atoms(dim);
  }
  for (const NodeId node : nodes_of(rule_.rule, bank_)) {
    for (const Poly& size : bank_.node(node).sizes) add_atoms(size);
  }
  for (const SizeCondition& condition : rule_.rule.condition) {
    add_atoms(condition.left);
    add_atoms(condition.right);
  }
}

/// Solves each equation for a size that occurs once in it, alone in its term and with coefficient ±1, and replaces that
/// size everywhere.
void Goal::solve_condition() {
  for (const SizeCondition& condition : rule_.rule.condition) {
    if (condition.relation != Relation::Eq) continue;
    const Poly difference =
        symbols_.substitute(condition.left, to_canonical_) - symbols_.substitute(condition.right, to_canonical_);
    for (const Atom atom : symbols_.atoms(difference)) {
      const std::int64_t coefficient = difference.coefficient(atom);
      if (coefficient != 1 && coefficient != -1) continue;
      const Poly rest = difference - Poly(coefficient) * Poly(atom);
      if (symbols_.contains(rest, atom)) continue;
      const algebra::Substitution replacement{{atom, coefficient == 1 ? -rest : rest}};
      for (auto& [name, value] : to_canonical_) value = symbols_.substitute(value, replacement);
      break;
    }
  }
}

void Goal::assume_facts() {
  std::vector<Poly> facts;
  const auto add = [&](Poly fact) {
    if (fact.is_zero() || symbols_.is_nonnegative(fact) || std::ranges::find(facts, fact) != facts.end()) return;
    facts.push_back(std::move(fact));
  };
  const auto add_condition = [&](const SizeCondition& condition) {
    const Poly difference = canonical(condition.right) - canonical(condition.left);
    if (condition.relation == Relation::Lt) add(difference - 1);
    if (condition.relation == Relation::Le) add(difference);
    if (condition.relation == Relation::Eq) {
      add(difference);
      add(-difference);
    }
  };
  for (const SizeCondition& fact : rule_.facts) add_condition(fact);
  for (const SizeCondition& condition : rule_.rule.condition) add_condition(condition);
  // Sizes and dimensions are at least 1, also those replaced by compound polynomials.
  for (const auto& [atom, value] : to_canonical_) {
    if (!value.atom()) add(value - 1);
  }
  for (const auto& [term, shape] : rule_.types) {
    for (const Poly& dim : shape) {
      if (dim.constant() || dim.atom()) continue;
      const SizeId id = canonical_id(dim);
      if (!egraph_.size_table().is_always_positive(id)) add(egraph_.size_table().poly(id) - 1);
    }
  }
  std::ranges::sort(facts);
  egraph_.size_table().assume(std::move(facts));
}

void Goal::add_nodes() {
  for (std::size_t i = 0; i < rule_.rule.variables.size(); ++i) {
    const TermId variable = rule_.rule.variables[i];
    const EClassId id = egraph_.add_variable(static_cast<std::uint32_t>(variable), canonical(rule_.rule.shapes[i]));
    ids_.emplace(variable, id);
  }
  std::vector<EClassId> arguments;
  std::vector<SizeId> sizes;
  for (const NodeId id : nodes_of(rule_.rule, bank_)) {
    const algebra::Node node = bank_.node(id);
    arguments.clear();
    sizes.clear();
    for (const TermId argument : node.arguments) arguments.push_back(ids_.at(argument));
    for (const Poly& size : node.sizes) sizes.push_back(canonical_id(size));
    const auto outputs = static_cast<std::uint32_t>(bank_.library().instance(node.instance).outputs.size());
    ENodeId added = egraph_.add_node(node.instance, arguments, sizes);
    if (added == no_id) {  // the goal's typing knows more than inspection shows
      std::vector<ShapeId> types;
      for (std::uint32_t o = 0; o < outputs; ++o) types.push_back(canonical(rule_.types.at(bank_.output(id, o))));
      added = egraph_.add_node(node.instance, arguments, sizes, types);
    }
    for (std::uint32_t o = 0; o < outputs; ++o) ids_.emplace(bank_.output(id, o), egraph_.output(added, o));
  }
  for (std::size_t i = 0; i < rule_.rule.source.size(); ++i)
    outputs_.emplace_back(ids_.at(rule_.rule.source[i]), ids_.at(rule_.rule.target[i]));
}

SizeId Goal::canonical_id(const Poly& poly) {
  if (poly.constant()) return egraph_.size_table().intern(poly);
  if (const auto atom = poly.atom()) {
    if (const auto found = to_canonical_.find(*atom); found != to_canonical_.end())
      return egraph_.size_table().intern(found->second);
  }
  const auto [known, is_new] = canonical_ids_.try_emplace(poly);
  if (is_new) known->second = egraph_.size_table().intern(symbols_.substitute(poly, to_canonical_));
  return known->second;
}

ShapeId Goal::canonical(const Shape& shape) {
  std::vector<SizeId> dims;
  for (const Poly& dim : shape) dims.push_back(canonical_id(dim));
  return egraph_.size_table().shape(dims);
}

const Poly& Goal::size(SizeId id) {
  const auto [known, is_new] = goal_sizes_.try_emplace(id);
  if (is_new) known->second = symbols_.substitute(egraph_.size_table().poly(id), from_canonical_);
  return known->second;
}

TermId Goal::term(EClassId id) {
  if (const auto known = terms_.find(id); known != terms_.end()) return known->second;
  const ENodeId node = egraph_.node_of(id);
  TermId result{};
  if (node == no_id) {
    result = TermId{egraph_.tag_of(id)};
  } else {
    std::vector<TermId> arguments;
    for (const EClassId argument : egraph_.arguments(node)) arguments.push_back(term(argument));
    std::vector<Poly> sizes;
    for (const SizeId each : egraph_.sizes(node)) sizes.push_back(size(each));
    result = bank_.output(bank_.apply(egraph_.instance(node), arguments, sizes), egraph_.output_of(id));
  }
  terms_.emplace(id, result);
  return result;
}

}  // namespace rulemill::egraph
