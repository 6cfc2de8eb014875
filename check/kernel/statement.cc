#include "check/kernel/statement.h"

#include <algorithm>

#include "runtime/text/error.h"

namespace rulemill::check {

using algebra::IndexExpr;
using algebra::NodeId;
using algebra::Relation;
using algebra::TermId;

Poly value(const IndexExpr& e, const std::vector<Poly>& sizes, const std::vector<Poly>& indices, Atoms& atoms) {
  const auto of = [&](const algebra::IndexExprPtr& part) { return value(*part, sizes, indices, atoms); };
  switch (e.kind) {
    case IndexExpr::Kind::Constant:
      return e.value;
    case IndexExpr::Kind::Size:
      return sizes.at(e.slot);
    case IndexExpr::Kind::Index:
      return indices.at(e.slot);
    case IndexExpr::Kind::Add:
      return of(e.a) + of(e.b);
    case IndexExpr::Kind::Sub:
      return of(e.a) - of(e.b);
    case IndexExpr::Kind::Mul:
      return of(e.a) * of(e.b);
    case IndexExpr::Kind::Div:
      return atoms.quotient(of(e.a), of(e.b));
    case IndexExpr::Kind::Mod: {
      const Poly n = of(e.a), d = of(e.b);
      return n - d * atoms.quotient(n, d);
    }
    case IndexExpr::Kind::Min:
      return atoms.minimum(of(e.a), of(e.b));
    case IndexExpr::Kind::Max:
      return atoms.maximum(of(e.a), of(e.b));
  }
  throw CheckError{"an index expression of unknown kind"};
}

namespace {

/// The names of the rule's sizes, sorted.
std::set<std::string> size_names(const algebra::Rule& rule, const algebra::TermBank& bank,
                                 const algebra::Symbols& symbols) {
  std::set<std::string> names;
  const auto add_names = [&](const Poly& poly) {
    for (const Atom atom : symbols.atoms(poly)) names.insert(symbols.name(atom));
  };
  for (const auto& shape : rule.shapes) std::ranges::for_each(shape, add_names);
  for (const algebra::SizeCondition& c : rule.condition) add_names(c.left), add_names(c.right);
  for (const auto* side : {&rule.source, &rule.target}) {
    for (const NodeId node : bank.nodes(*side)) std::ranges::for_each(bank.node(node).sizes, add_names);
  }
  return names;
}

}  // namespace

Statement::Statement(const algebra::Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols,
                     Atoms& atoms)
    : rule_(rule), bank_(bank), atoms_(atoms) {
  // Atoms are created in the order of names, so that texts do not depend on earlier uses of the symbols.
  for (const std::string& name : size_names(rule, bank, symbols)) atoms.size(name);
  if (rule.shapes.size() != rule.variables.size()) throw CheckError{"the variables have no shapes"};
  for (std::size_t v = 0; v < rule.variables.size(); ++v) {
    Shape& dims = variables_[rule.variables[v]];
    for (const Poly& dim : rule.shapes[v]) {
      dims.push_back(atoms.import(dim, symbols));
      facts_.push_back({false, dims.back() - 1});
    }
  }
  for (const algebra::SizeCondition& c : rule.condition) {
    facts_ = conjunction(facts_, to_guards(c.relation, atoms.import(c.left, symbols), atoms.import(c.right, symbols)));
  }
  for (const NodeId node : bank.nodes(rule.source)) type(node, symbols, facts_);
  for (const NodeId node : bank.nodes(rule.target)) type(node, symbols, target_obligations_);
  if (rule.source.size() != rule.target.size()) throw CheckError{"the sides have different numbers of outputs"};
  for (std::size_t o = 0; o < rule.source.size(); ++o) {
    const Shape &a = shape(rule.source[o]), &b = shape(rule.target[o]);
    if (a.size() != b.size()) throw CheckError{"the sides have different ranks"};
    for (std::size_t d = 0; d < a.size(); ++d) target_obligations_.push_back({true, a[d] - b[d]});
  }
  const auto distinct = [&](const Guards& guards, const Guards& known) {
    Guards kept;
    for (const Guard& guard : guards) {
      const bool seen = std::ranges::find(known, guard) != known.end() || std::ranges::find(kept, guard) != kept.end();
      if (!seen && !always_holds(guard) && (guard.equality || !atoms.is_nonnegative(guard.poly))) kept.push_back(guard);
    }
    return kept;
  };
  facts_ = distinct(facts_, {});
  target_obligations_ = distinct(target_obligations_, facts_);
  for (std::size_t o = 0; o < rule.source.size(); ++o) differences_.push_back(lower(o));
  definedness_conditions_ = {collect_conditions(rule.source, rule.target),
                             collect_conditions(rule.target, rule.source)};
}

TypedNode type_node(const algebra::OperatorInstance& instance, const std::vector<Shape>& arguments,
                    const std::vector<Poly>& given, Atoms& atoms, Guards& obligations) {
  std::vector<std::optional<Poly>> bound(instance.size_names.size());
  if (arguments.size() != instance.inputs.size()) throw CheckError{instance.name + " has a wrong number of arguments"};
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    const Shape& actual = arguments[i];
    if (actual.size() != instance.inputs[i].size()) throw CheckError{instance.name + " has an argument of wrong rank"};
    for (std::size_t d = 0; d < instance.inputs[i].size(); ++d) {
      const IndexExpr& formal = *instance.inputs[i][d];
      const Poly& dim = actual[d];
      if (formal.kind == IndexExpr::Kind::Constant)
        obligations.push_back({true, dim - formal.value});
      else if (bound[formal.slot])
        obligations.push_back({true, dim - *bound[formal.slot]});
      else
        bound[formal.slot] = dim;
    }
  }
  if (given.size() != instance.size_parameter_count()) throw CheckError{instance.name + " has a wrong number of sizes"};
  for (std::size_t p = 0; p < given.size(); ++p) {
    std::optional<Poly>& slot = bound[instance.first_size_parameter + p];
    if (slot)
      obligations.push_back({true, given[p] - *slot});
    else
      slot = given[p];
  }
  TypedNode result;
  for (const auto& slot : bound) {
    if (!slot) throw CheckError{instance.name + " has an undetermined size"};
    result.sizes.push_back(*slot);
    obligations.push_back({false, *slot - 1});
  }
  for (const algebra::Comparison& c : instance.conditions) {
    if (c.relation == Relation::Ne) throw CheckError{instance.name + " has a condition with !="};
    obligations = conjunction(
        obligations, to_guards(c.relation, value(*c.a, result.sizes, {}, atoms), value(*c.b, result.sizes, {}, atoms)));
  }
  for (const algebra::TensorDefinition& output : instance.outputs) {
    Shape& dims = result.outputs.emplace_back();
    for (const algebra::IndexExprPtr& dim : output.dims) {
      dims.push_back(value(*dim, result.sizes, {}, atoms));
      obligations.push_back({false, dims.back() - 1});
    }
  }
  return result;
}

void Statement::type(NodeId id, const algebra::Symbols& symbols, Guards& obligations) {
  if (sizes_.contains(id)) return;
  const algebra::Node& node = bank_.node(id);
  std::vector<Shape> arguments;
  for (const TermId argument : node.arguments) arguments.push_back(shape(argument));
  std::vector<Poly> given;
  for (const Poly& size : node.sizes) given.push_back(atoms_.import(size, symbols));
  TypedNode found = type_node(bank_.library().instance(node.instance), arguments, given, atoms_, obligations);
  sizes_[id] = std::move(found.sizes);
  outputs_[id] = std::move(found.outputs);
}

const Shape& Statement::shape(TermId id) const {
  const algebra::Term& term = bank_.term(id);
  if (!term.is_variable) return outputs_.at(term.node).at(term.output);
  const auto found = variables_.find(id);
  if (found == variables_.end()) throw CheckError{"a variable is not declared"};
  return found->second;
}

Guards Statement::index_ranges(std::size_t output) {
  Guards guards;
  const Shape& dims = shape(rule_.source.at(output));
  for (std::size_t d = 0; d < dims.size(); ++d) append_range(guards, atoms_.output(d), dims[d]);
  return guards;
}

}  // namespace rulemill::check
