#include "check/kernel/statement.h"

#include <algorithm>

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

Statement::Statement(const algebra::Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols,
                     Atoms& atoms, Lower when)
    : rule_(rule), bank_(bank), atoms_(atoms) {
  intern_sizes(rule, bank, symbols, atoms);
  expect(rule.shapes.size() == rule.variables.size(), "the variables have no shapes");
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
  expect(rule.source.size() == rule.target.size(), "the sides have different numbers of outputs");
  for (std::size_t o = 0; o < rule.source.size(); ++o) {
    const Shape &a = shape(rule.source[o]), &b = shape(rule.target[o]);
    expect(a.size() == b.size(), "the sides have different ranks");
    for (std::size_t d = 0; d < a.size(); ++d) target_obligations_.push_back({true, a[d] - b[d]});
  }
  const auto simplify = [&](Guards& guards, const Guards& known) {
    remove_redundant(guards, known);
    std::erase_if(guards, [&](const Guard& guard) { return !guard.equality && atoms.is_nonnegative(guard.poly); });
  };
  simplify(facts_, {});
  simplify(target_obligations_, facts_);
  if (when == Lower::IfPartial && has_only_total_functions()) return;
  for (std::size_t o = 0; o < rule.source.size(); ++o) differences_.push_back(lower(o));
  definedness_conditions_ = {collect_conditions(rule.source, rule.target),
                             collect_conditions(rule.target, rule.source)};
}

TypedNode type_node(const algebra::OperatorInstance& instance, const std::vector<Shape>& arguments,
                    const std::vector<Poly>& given, Atoms& atoms, Guards& obligations) {
  const auto check = [&](bool condition, const char* what) {
    if (!condition) throw CheckError{instance.name + " has " + what};
  };
  std::vector<std::optional<Poly>> slots(instance.size_names.size());
  const auto bind = [&](std::size_t slot, const Poly& value) {
    if (slots[slot]) return obligations.push_back({true, value - *slots[slot]});
    slots[slot] = value;
  };
  check(arguments.size() == instance.inputs.size(), "a wrong number of arguments");
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    check(arguments[i].size() == instance.inputs[i].size(), "an argument of wrong rank");
    for (std::size_t d = 0; d < instance.inputs[i].size(); ++d) {
      const IndexExpr& formal = *instance.inputs[i][d];
      if (formal.kind == IndexExpr::Kind::Constant)
        obligations.push_back({true, arguments[i][d] - formal.value});
      else
        bind(formal.slot, arguments[i][d]);
    }
  }
  check(given.size() == instance.size_parameter_count(), "a wrong number of sizes");
  for (std::size_t p = 0; p < given.size(); ++p) bind(instance.first_size_parameter + p, given[p]);
  TypedNode result;
  for (const auto& slot : slots) {
    check(slot.has_value(), "an undetermined size");
    result.sizes.push_back(*slot);
    obligations.push_back({false, *slot - 1});
  }
  for (const algebra::Comparison& c : instance.conditions) {
    check(c.relation != Relation::Ne, "a condition with !=");
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
  if (nodes_.contains(id)) return;
  const algebra::Node& node = bank_.node(id);
  std::vector<Shape> arguments;
  for (const TermId argument : node.arguments) arguments.push_back(shape(argument));
  std::vector<Poly> given;
  for (const Poly& size : node.sizes) given.push_back(atoms_.import(size, symbols));
  nodes_[id] = type_node(bank_.library().instance(node.instance), arguments, given, atoms_, obligations);
}

bool Statement::is_total(const algebra::ScalarExpr& expression) const {
  const bool applies = expression.kind == algebra::ScalarExpr::Kind::Apply;
  return (!applies || algebra::is_total(function(expression.function))) &&
         std::ranges::all_of(expression.operands, [&](const auto& operand) { return is_total(*operand); });
}

bool Statement::has_only_total_functions() const {
  const auto total = [&](const algebra::TensorDefinition& tensor) { return is_total(*tensor.body); };
  return std::ranges::all_of(nodes_, [&](const auto& node) {
    const algebra::OperatorInstance& instance = bank_.library().instance(bank_.node(node.first).instance);
    return std::ranges::all_of(instance.intermediates, total) && std::ranges::all_of(instance.outputs, total);
  });
}

const Shape& Statement::shape(TermId id) const {
  const algebra::Term& term = bank_.term(id);
  if (!term.is_variable) return nodes_.at(term.node).outputs.at(term.output);
  expect(variables_.contains(id), "a variable is not declared");
  return variables_.at(id);
}

Guards Statement::index_ranges(std::size_t output) {
  Guards guards;
  const Shape& dims = shape(rule_.source.at(output));
  for (std::size_t d = 0; d < dims.size(); ++d) append_range(guards, atoms_.output(d), dims[d]);
  return guards;
}

}  // namespace rulemill::check
