#include "check/kernel/statement.h"

#include <algorithm>

#include "algebra/operators/function_domain.h"
#include "algebra/operators/index_value.h"

namespace rulemill::check {

using algebra::IndexExpr;

Statement::Statement(CoreRule rule, Atoms& atoms, Lower when) : rule_(std::move(rule)), atoms_(atoms) {
  for (const CoreRule::Variable& variable : rule_.variables) {
    for (const Poly& dim : variable.shape) facts_.push_back({false, dim - 1});
  }
  facts_ = conjunction(facts_, rule_.condition);
  const std::set<std::uint32_t> source = nodes_of(rule_.source), target = nodes_of(rule_.target);
  types_.resize(rule_.nodes.size());
  for (const bool of_source : {true, false}) {  // what both sides have is typed by assumption
    for (const std::uint32_t node : of_source ? source : target) {
      if (!of_source && source.contains(node)) continue;
      const auto& [instance, arguments, sizes] = rule_.nodes[node];
      std::vector<Shape> shapes;
      for (const CoreTerm& argument : arguments) shapes.push_back(shape(argument));
      types_[node] = type_node(*instance, shapes, sizes, atoms, of_source ? facts_ : target_obligations_);
    }
  }
  expect(rule_.source.size() == rule_.target.size(), "the sides have different numbers of outputs");
  for (std::size_t o = 0; o < outputs(); ++o) {
    const Shape &a = shape(rule_.source[o]), &b = shape(rule_.target[o]);
    expect(a.size() == b.size(), "the sides have different ranks");
    for (std::size_t d = 0; d < a.size(); ++d) target_obligations_.push_back({true, a[d] - b[d]});
  }
  remove_redundant(facts_);
  std::erase_if(facts_, [&](const Guard& guard) { return !guard.equality && atoms.is_nonnegative(guard.poly); });
  if (when == Lower::IfPartial && has_only_total_functions()) return;
  for (std::size_t o = 0; o < outputs(); ++o) differences_.push_back(lower(o));
  definedness_conditions_ = {collect_conditions(source, target), collect_conditions(target, source)};
}

std::set<std::uint32_t> Statement::nodes_of(const std::vector<CoreTerm>& side) const {
  std::set<std::uint32_t> nodes;
  const std::function<void(const CoreTerm&)> visit = [&](const CoreTerm& term) {
    if (term.is_variable || !nodes.insert(term.number).second) return;
    for (const CoreTerm& argument : rule_.nodes.at(term.number).arguments) {
      expect(argument.is_variable || argument.number < term.number, "a node has a later node as an argument");
      visit(argument);
    }
  };
  std::ranges::for_each(side, visit);
  return nodes;
}

TypedNode type_node(const algebra::OperatorInstance& instance, const std::vector<Shape>& arguments,
                    const std::vector<Poly>& given, Atoms& atoms, Guards& obligations) {
  std::vector<std::optional<Poly>> slots(instance.size_names.size());
  const auto bind = [&](std::size_t slot, const Poly& value) {
    if (slots[slot]) return obligations.push_back({true, value - *slots[slot]});
    slots[slot] = value;
  };
  expect(arguments.size() == instance.inputs.size(), "an operator has a wrong number of arguments");
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    expect(arguments[i].size() == instance.inputs[i].size(), "an operator has an argument of wrong rank");
    for (std::size_t d = 0; d < instance.inputs[i].size(); ++d) {
      const IndexExpr& formal = *instance.inputs[i][d];
      if (formal.kind == IndexExpr::Kind::Constant)
        obligations.push_back({true, arguments[i][d] - formal.value});
      else
        bind(formal.slot, arguments[i][d]);
    }
  }
  expect(given.size() == instance.size_parameter_count(), "an operator has a wrong number of sizes");
  for (std::size_t p = 0; p < given.size(); ++p) bind(instance.first_size_parameter + p, given[p]);
  TypedNode result;
  for (const auto& slot : slots) {
    expect(slot.has_value(), "an operator has an undetermined size");
    result.sizes.push_back(*slot);
    obligations.push_back({false, *slot - 1});
  }
  const auto value = [&](const algebra::IndexExprPtr& e) { return algebra::index_value(*e, result.sizes, {}, atoms); };
  for (const algebra::Comparison& c : instance.conditions)
    obligations.push_back(to_guard(c.relation, value(c.a), value(c.b)));
  for (const algebra::TensorDefinition& output : instance.outputs) {
    Shape& dims = result.outputs.emplace_back();
    for (const algebra::IndexExprPtr& dim : output.dims) {
      dims.push_back(value(dim));
      obligations.push_back({false, dims.back() - 1});
    }
  }
  return result;
}

bool Statement::has_only_total_functions() const {
  const std::function<bool(const algebra::ScalarExpr&)> is_total = [&](const algebra::ScalarExpr& expression) {
    const bool applies = expression.kind == algebra::ScalarExpr::Kind::Apply;
    return (!applies || algebra::is_total(function(expression.function))) &&
           std::ranges::all_of(expression.operands, [&](const auto& operand) { return is_total(*operand); });
  };
  const auto total = [&](const algebra::TensorDefinition& tensor) { return is_total(*tensor.body); };
  return std::ranges::all_of(rule_.nodes, [&](const CoreNode& node) {
    return std::ranges::all_of(node.instance->intermediates, total) &&
           std::ranges::all_of(node.instance->outputs, total);
  });
}

Guards Statement::index_ranges(std::size_t output) const {
  Guards guards;
  const Shape& dims = shape(rule_.source.at(output));
  for (std::size_t d = 0; d < dims.size(); ++d) append_range(guards, atoms_.output(d), dims[d]);
  return guards;
}

}  // namespace rulemill::check
