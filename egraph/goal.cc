#include "egraph/goal.h"

#include <algorithm>

#include "runtime/error.h"

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

Goal::Goal(const algebra::TypedRule& rule, algebra::TermBank& bank, CanonicalSizes& names, EGraph& egraph)
    : rule_(rule), bank_(bank), egraph_(egraph), symbols_(egraph.size_table().symbols()) {
  name_sizes(names);
  solve_condition();
  assume_facts();
  add_nodes();
  operators_ =
      static_cast<std::uint32_t>(std::max(bank.nodes(rule.rule.source).size(), bank.nodes(rule.rule.target).size()));
}

void Goal::name_sizes(CanonicalSizes& names) {
  std::size_t next = 0;
  const auto name_atom = [&](Atom atom) {
    if (!inward_.try_emplace(atom, Poly()).second) return;
    const Atom name = names[next++];
    inward_[atom] = Poly(name);
    outward_.emplace(name, Poly(atom));
  };
  const auto name_atoms = [&](const Poly& poly) {
    if (poly.constant()) return;
    if (const auto atom = poly.atom(); atom && symbols_.kind(*atom) == algebra::Symbols::Kind::Size) {
      name_atom(*atom);
    } else {
      for (const Atom each : symbols_.atoms(poly)) name_atom(each);
    }
  };
  for (const Shape& shape : rule_.rule.shapes) {
    for (const Poly& dim : shape) name_atoms(dim);
  }
  std::vector<TermId> roots = rule_.rule.source;
  roots.insert(roots.end(), rule_.rule.target.begin(), rule_.rule.target.end());
  for (const NodeId node : bank_.nodes(roots)) {
    for (const Poly& size : bank_.node(node).sizes) name_atoms(size);
  }
  for (const SizeCondition& condition : rule_.rule.condition) {
    name_atoms(condition.left);
    name_atoms(condition.right);
  }
}

/// a = b with a size that stands in it once, alone and with coefficient ±1: that size is replaced everywhere.
void Goal::solve_condition() {
  for (const SizeCondition& condition : rule_.rule.condition) {
    if (condition.relation != Relation::Eq) continue;
    const Poly difference =
        symbols_.substitute(condition.left, inward_) - symbols_.substitute(condition.right, inward_);
    for (const Atom atom : symbols_.atoms(difference)) {
      const std::int64_t coefficient = difference.coefficient(atom);
      if (coefficient != 1 && coefficient != -1) continue;
      const Poly rest = difference - Poly(coefficient) * Poly(atom);
      if (symbols_.contains(rest, atom)) continue;
      const algebra::Substitution replacement{{atom, coefficient == 1 ? -rest : rest}};
      for (auto& [name, value] : inward_) value = symbols_.substitute(value, replacement);
      break;
    }
  }
}

void Goal::assume_facts() {
  std::vector<Poly> facts;
  const auto add = [&](Poly fact) {
    if (fact.is_zero() || symbols_.nonnegative(fact) || std::ranges::find(facts, fact) != facts.end()) return;
    facts.push_back(std::move(fact));
  };
  const auto add_condition = [&](const SizeCondition& condition) {
    const Poly difference = inward(condition.right) - inward(condition.left);
    if (condition.relation == Relation::Lt) add(difference - 1);
    if (condition.relation == Relation::Le) add(difference);
    if (condition.relation == Relation::Eq) {
      add(difference);
      add(-difference);
    }
  };
  for (const SizeCondition& fact : rule_.facts) add_condition(fact);
  for (const SizeCondition& condition : rule_.rule.condition) add_condition(condition);
  // Sizes and dimensions are at least 1, also where they are replaced by or written as something compound.
  for (const auto& [atom, value] : inward_) {
    if (!value.atom()) add(value - 1);
  }
  for (const auto& [term, shape] : rule_.types) {
    for (const Poly& dim : shape) {
      if (dim.constant() || dim.atom()) continue;
      const SizeId id = inward_id(dim);
      if (!egraph_.size_table().surely_positive(id)) add(egraph_.size_table().poly(id) - 1);
    }
  }
  std::ranges::sort(facts);
  egraph_.size_table().assume(std::move(facts));
}

void Goal::add_nodes() {
  for (std::size_t i = 0; i < rule_.rule.variables.size(); ++i) {
    const TermId variable = rule_.rule.variables[i];
    const Value value = egraph_.add_variable(static_cast<std::uint32_t>(variable), inward(rule_.rule.shapes[i]));
    values_.emplace(variable, value);
  }
  std::vector<TermId> roots = rule_.rule.source;
  roots.insert(roots.end(), rule_.rule.target.begin(), rule_.rule.target.end());
  std::vector<Value> arguments;
  std::vector<SizeId> sizes;
  for (const NodeId id : bank_.nodes(roots)) {
    const algebra::Node node = bank_.node(id);
    arguments.clear();
    sizes.clear();
    for (const TermId argument : node.arguments) arguments.push_back(values_.at(argument));
    for (const Poly& size : node.sizes) sizes.push_back(inward_id(size));
    const auto outputs = static_cast<std::uint32_t>(bank_.library().instance(node.instance).outputs.size());
    ENode added = egraph_.add_node(node.instance, arguments, sizes);
    if (added == nothing) {  // more is known of the goal's types than inspection shows
      std::vector<ShapeId> types;
      for (std::uint32_t o = 0; o < outputs; ++o) types.push_back(inward(rule_.types.at(bank_.output(id, o))));
      added = egraph_.add_node(node.instance, arguments, sizes, types);
    }
    for (std::uint32_t o = 0; o < outputs; ++o) values_.emplace(bank_.output(id, o), egraph_.output(added, o));
  }
  for (std::size_t i = 0; i < rule_.rule.source.size(); ++i) {
    outputs_.emplace_back(values_.at(rule_.rule.source[i]), values_.at(rule_.rule.target[i]));
  }
}

SizeId Goal::inward_id(const Poly& poly) {
  if (poly.constant()) return egraph_.size_table().intern(poly);
  if (const auto atom = poly.atom()) {
    if (const auto found = inward_.find(*atom); found != inward_.end())
      return egraph_.size_table().intern(found->second);
  }
  const auto [known, is_new] = inward_ids_.try_emplace(poly);
  if (is_new) known->second = egraph_.size_table().intern(symbols_.substitute(poly, inward_));
  return known->second;
}

ShapeId Goal::inward(const Shape& shape) {
  std::vector<SizeId> dims;
  for (const Poly& dim : shape) dims.push_back(inward_id(dim));
  return egraph_.size_table().shape(dims);
}

const Poly& Goal::size(SizeId id) {
  const auto [known, is_new] = outward_sizes_.try_emplace(id);
  if (is_new) known->second = symbols_.substitute(egraph_.size_table().poly(id), outward_);
  return known->second;
}

TermId Goal::term(Value value) {
  if (const auto known = terms_.find(value); known != terms_.end()) return known->second;
  const ENode node = egraph_.node_of(value);
  TermId result{};
  if (node == nothing) {
    result = TermId{egraph_.tag_of(value)};
  } else {
    std::vector<TermId> arguments;
    for (const Value argument : egraph_.arguments(node)) arguments.push_back(term(argument));
    std::vector<Poly> sizes;
    for (const SizeId each : egraph_.sizes(node)) sizes.push_back(size(each));
    result = bank_.output(bank_.apply(egraph_.instance(node), arguments, sizes), egraph_.output_of(value));
  }
  terms_.emplace(value, result);
  return result;
}

}  // namespace rulemill::egraph
