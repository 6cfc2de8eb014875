#include "optimize/model/numbers.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "optimize/model/evaluate.h"
#include "optimize/model/rounding.h"

namespace rulemill::optimize {

namespace {

bool is_number(const algebra::OperatorInstance& instance) {
  return instance.outputs[0].dims.empty() && instance.size_parameter_count() == 0;
}

/// Returns the values whose names are used outside of algebra nodes.
std::set<ValueId> named_values(const GraphBank& bank, std::span<const ValueId> outputs) {
  std::set<ValueId> found(outputs.begin(), outputs.end());
  for (const NodeId id : bank.live_nodes(outputs)) {
    const Node& node = bank.node(id);
    if (node.kind == Node::Kind::Opaque) found.insert(node.arguments.begin(), node.arguments.end());
  }
  return found;
}

double value_of(const GraphBank& bank, ValueId id) {
  GraphEvaluator evaluator(bank, {}, [](ValueId) { return GraphEvaluator::TensorPtr(); });
  return evaluator.value(id)->values.at(0);
}

std::optional<double> scalar_value(const GraphBank& bank, ValueId id) {
  const Node& node = bank.node_of(id);
  const ValueType& type = bank.value(id).type;
  if (!node.constant || is_number(node) || !type || !type->empty() || !is_float(type.data_type)) return std::nullopt;
  return rounded(value_of(bank, id), type.data_type);
}

}  // namespace

std::set<algebra::InstanceId> instances_without_inputs(const algebra::Library& library, const algebra::TermBank& terms,
                                                       const std::vector<algebra::RuleRecord>& rules) {
  std::set<algebra::InstanceId> found;
  std::set<algebra::TermId> visited;
  const auto collect = [&](const auto& self, algebra::TermId id) -> void {
    if (terms.term(id).is_variable || !visited.insert(id).second) return;
    const algebra::Node& node = terms.node_of(id);
    for (const algebra::TermId argument : node.arguments) self(self, argument);
    if (node.arguments.empty() && library.instance(node.instance).outputs.size() == 1) found.insert(node.instance);
  };
  for (const algebra::RuleRecord& record : rules) {
    for (const algebra::TermId id : record.rule.source) collect(collect, id);
    for (const algebra::TermId id : record.rule.target) collect(collect, id);
  }
  return found;
}

bool is_number(const Node& node) {
  return node.kind == Node::Kind::Algebra && node.constant && node.arguments.empty() && node.sizes.empty();
}

std::optional<double> value_of_number(GraphBank& bank, const std::string& operator_name) {
  const algebra::OperatorInstance* found = bank.library().find_instance(operator_name, {}, {});
  if (found == nullptr || !is_number(*found)) return std::nullopt;
  const auto number = bank.apply(found->id, {}, {}, DataType::Float64);
  return number ? std::optional(value_of(bank, bank.node(*number).outputs[0])) : std::nullopt;
}

bool is_constant_of(const GraphBank& bank, ValueId id, double number) {
  const std::optional<double> value = scalar_value(bank, id);
  return value && *value == rounded(number, bank.value(id).type.data_type);
}

std::vector<ValueId> name_numbers(GraphBank& bank, std::span<const ValueId> outputs, const algebra::TermBank& terms,
                                  const std::vector<algebra::RuleRecord>& rules, const std::set<std::string>& names) {
  std::set<algebra::InstanceId> operators = instances_without_inputs(bank.library(), terms, rules);
  for (const std::string& name : names) {
    if (const algebra::OperatorInstance* found = bank.library().find_instance(name, {}, {}))
      operators.insert(found->id);
  }
  std::erase_if(operators, [&](algebra::InstanceId id) { return !is_number(bank.library().instance(id)); });
  const std::set<ValueId> kept = named_values(bank, outputs);
  std::unordered_map<ValueId, ValueId> named;
  for (const NodeId id : bank.live_nodes(outputs)) {
    const ValueId constant = bank.node(id).outputs[0];
    const std::optional<double> value = scalar_value(bank, constant);
    if (!value || kept.contains(constant)) continue;
    const DataType type = bank.value(constant).type.data_type;
    for (const algebra::InstanceId instance : operators) {
      const auto number = bank.apply(instance, {}, {}, type);
      if (!number) continue;
      const ValueId result = bank.node(*number).outputs[0];
      if (rounded(value_of(bank, result), type) != *value) continue;
      named.emplace(constant, result);
      if (bank.node(id).kind == Node::Kind::Constant) bank.folded_constants().emplace(result, constant);
      break;
    }
  }
  return named.empty() ? std::vector<ValueId>(outputs.begin(), outputs.end()) : bank.replace(outputs, named);
}

}  // namespace rulemill::optimize
