#include "check/core_rule.h"

#include <algorithm>

#include "check/kernel/normal_form.h"
#include "runtime/text/error.h"

namespace rulemill::check {

using algebra::NodeId;
using algebra::Relation;
using algebra::Symbols;
using algebra::TermId;
using runtime::InputError;

namespace {

void intern_sizes(const algebra::Rule& rule, std::span<const NodeId> nodes, const algebra::TermBank& bank,
                  const Symbols& symbols, Atoms& atoms) {
  std::set<std::string> names;
  const auto add_names = [&](const Poly& poly) {
    for (const Atom atom : symbols.atoms(poly)) names.insert(symbols.name(atom));
  };
  for (const auto& shape : rule.shapes) std::ranges::for_each(shape, add_names);
  for (const algebra::SizeCondition& c : rule.condition) add_names(c.left), add_names(c.right);
  for (const NodeId node : nodes) std::ranges::for_each(bank.node(node).sizes, add_names);
  for (const std::string& name : names) atoms.size(name);
}

}  // namespace

Poly to_core(const Poly& poly, const Symbols& symbols, Atoms& atoms, const PolysByName* values) {
  Poly result;
  for (const Poly::Term& term : poly.terms()) {
    Poly product(term.coefficient);
    for (const Atom atom : term.monomial) {
      static constexpr Atoms::Kind kinds[] = {Atoms::Kind::Size, Atoms::Kind::Bound, Atoms::Kind::Quotient,
                                              Atoms::Kind::Min, Atoms::Kind::Max};
      const Atoms::Kind kind = kinds[static_cast<int>(symbols.kind(atom))];
      if (kind == Atoms::Kind::Bound) throw InputError("statement", "expected sizes, found an index");
      if (kind != Atoms::Kind::Size) {
        product = product * atoms.compound(kind, to_core(symbols.left(atom), symbols, atoms, values),
                                           to_core(symbols.right(atom), symbols, atoms, values));
      } else if (!values) {
        product = product * atoms.size(symbols.name(atom));
      } else {
        const auto found = values->find(symbols.name(atom));
        if (found == values->end()) throw InputError("instance", "no value for size " + symbols.name(atom));
        product = product * found->second;
      }
    }
    result += product;
  }
  return result;
}

CoreRuleTerms to_core(const algebra::Rule& rule, std::span<const TermId> others, const algebra::TermBank& bank,
                      const Symbols& symbols, Atoms& atoms, const PolysByName* values) {
  std::vector<TermId> roots = rule.source;
  roots.insert(roots.end(), rule.target.begin(), rule.target.end());
  roots.insert(roots.end(), others.begin(), others.end());
  const std::vector<NodeId> nodes = bank.nodes(roots);
  if (!values) intern_sizes(rule, nodes, bank, symbols, atoms);
  const auto poly = [&](const Poly& each) { return to_core(each, symbols, atoms, values); };
  const auto term = [&](TermId id) -> CoreTerm {
    const algebra::Term& read = bank.term(id);
    if (!read.is_variable) {
      const auto node = std::ranges::find(nodes, read.node) - nodes.begin();
      return {false, static_cast<std::uint32_t>(node), read.output};
    }
    const auto variable = std::ranges::find(rule.variables, id) - rule.variables.begin();
    expect(static_cast<std::size_t>(variable) < rule.variables.size(), "a variable is not declared");
    return {true, static_cast<std::uint32_t>(variable), 0};
  };
  CoreRuleTerms result;
  CoreRule& core = result.rule;
  expect(rule.shapes.size() == rule.variables.size(), "the variables have no shapes");
  for (std::size_t v = 0; v < rule.variables.size(); ++v) {
    core.variables.push_back({bank.term(rule.variables[v]).name, {}});
    for (const Poly& dim : rule.shapes[v]) core.variables.back().shape.push_back(poly(dim));
  }
  for (const algebra::SizeCondition& c : rule.condition) {
    const Poly left = poly(c.left), right = poly(c.right);
    if (c.relation == Relation::Ne)
      core.nonzero.push_back(right - left);
    else
      core.condition.push_back(to_guard(c.relation, left, right));
  }
  for (const NodeId id : nodes) {
    const algebra::Node& node = bank.node(id);
    CoreNode& added = core.nodes.emplace_back();
    added.instance = &bank.library().instance(node.instance);
    for (const TermId argument : node.arguments) added.arguments.push_back(term(argument));
    for (const Poly& size : node.sizes) added.sizes.push_back(poly(size));
  }
  for (const TermId id : rule.source) core.source.push_back(term(id));
  for (const TermId id : rule.target) core.target.push_back(term(id));
  for (const TermId id : others) result.others.push_back(term(id));
  core.widens = rule.widens;
  core.functions = bank.library().functions();
  core.laws = bank.library().laws();
  return result;
}

}  // namespace rulemill::check
