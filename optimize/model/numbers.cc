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

GraphEvaluator::TensorPtr elements_of(const GraphBank& bank, ValueId id) {
  return GraphEvaluator(bank, {}, [](ValueId) { return GraphEvaluator::TensorPtr(); }).value(id);
}

/// Returns the elements of a constant, stored or, of a number, computed; nothing if it has many, as weights do, or more
/// than two different ones.
GraphEvaluator::TensorPtr stored_elements(const GraphBank& bank, ValueId id) {
  constexpr double max_elements = 1 << 16;
  const Node& node = bank.node_of(id);
  const ValueType& type = bank.value(id).type;
  if (!node.constant || is_named_constant(node) || !type || !is_float(type.data_type)) return nullptr;
  if (node.kind != Node::Kind::Constant) return type->empty() ? elements_of(bank, id) : nullptr;
  if (known_elements(type) == 0 || known_elements(type) > max_elements) return nullptr;
  GraphEvaluator::TensorPtr tensor = bank.tensor(node.source);
  const auto& values = tensor->values;
  const auto other = std::ranges::find_if(values, [&](double value) { return value != values[0]; });
  const auto is_third = [&](double value) { return value != values[0] && value != *other; };
  return std::any_of(other, values.end(), is_third) ? nullptr : tensor;
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

double known_elements(const ValueType& type) {
  double count = type ? 1 : 0;
  for (const algebra::Poly& dim : type.value_or({})) count *= static_cast<double>(dim.constant().value_or(0));
  return count;
}

bool is_named_constant(const Node& node) {
  return node.kind == Node::Kind::Algebra && node.constant && node.arguments.empty();
}

std::optional<NodeId> named_constant(GraphBank& bank, algebra::InstanceId instance, const ValueType& type) {
  const algebra::OperatorInstance& description = bank.library().instance(instance);
  const std::vector<algebra::IndexExprPtr>& dims = description.outputs[0].dims;
  if (dims.size() != type->size()) return std::nullopt;
  std::vector<algebra::Poly> sizes;
  for (std::uint32_t slot = 0; slot < description.size_names.size(); ++slot) {
    const auto dim = std::ranges::find_if(dims, [&](const algebra::IndexExprPtr& expression) {
      return expression->kind == algebra::IndexExpr::Kind::Size && expression->slot == slot;
    });
    if (dim == dims.end()) return std::nullopt;
    sizes.push_back((*type)[static_cast<std::size_t>(dim - dims.begin())]);
  }
  const auto node = bank.apply(instance, {}, sizes, type.data_type);
  return node && bank.value(bank.node(*node).outputs[0]).type == type ? node : std::nullopt;
}

std::optional<double> value_of_number(GraphBank& bank, const std::string& operator_name) {
  const algebra::OperatorInstance* found = bank.library().find_instance(operator_name, {}, {});
  if (found == nullptr || !is_number(*found)) return std::nullopt;
  const auto number = bank.apply(found->id, {}, {}, DataType::Float64);
  return number ? std::optional(elements_of(bank, bank.node(*number).outputs[0])->values.at(0)) : std::nullopt;
}

bool is_constant_of(const GraphBank& bank, ValueId id, double number) {
  const GraphEvaluator::TensorPtr stored = stored_elements(bank, id);
  const ValueType& type = bank.value(id).type;
  return stored != nullptr && type->empty() &&
         rounded(stored->values[0], type.data_type) == rounded(number, type.data_type);
}

NamedConstants name_constants(GraphBank& bank, std::span<const ValueId> outputs, const algebra::TermBank& terms,
                              const std::vector<algebra::RuleRecord>& rules, const std::set<std::string>& names) {
  std::set<algebra::InstanceId> found = instances_without_inputs(bank.library(), terms, rules);
  for (const std::string& name : names) {
    const algebra::OperatorInstance* number = bank.library().find_instance(name, {}, {});
    if (number != nullptr && is_number(*number)) found.insert(number->id);
  }
  // Rules state 1 as ones of no dimensions.
  std::vector<algebra::InstanceId> operators(found.begin(), found.end());
  std::stable_partition(operators.begin(), operators.end(), [&](algebra::InstanceId id) {
    const algebra::Library& library = bank.library();
    return !library.size_parameter_names(library.instance(id).operator_name).empty();
  });
  const std::set<ValueId> kept = named_values(bank, outputs);
  std::unordered_map<ValueId, ValueId> named;
  for (const NodeId id : bank.live_nodes(outputs)) {
    const ValueId constant = bank.node(id).outputs[0];
    const GraphEvaluator::TensorPtr stored = kept.contains(constant) ? nullptr : stored_elements(bank, constant);
    if (stored == nullptr) continue;
    const ValueType type = bank.value(constant).type;  // a copy, because the bank grows
    const auto is_rounded = [&](double stored_element, double element) {
      return rounded(stored_element, type.data_type) == rounded(element, type.data_type);
    };
    for (const algebra::InstanceId instance : operators) {
      const auto node = named_constant(bank, instance, type);
      if (!node) continue;
      const ValueId result = bank.node(*node).outputs[0];
      if (!std::ranges::equal(stored->values, elements_of(bank, result)->values, is_rounded)) continue;
      named.emplace(constant, result);
      if (bank.node(id).kind == Node::Kind::Constant) bank.folded_constants().emplace(result, constant);
      break;
    }
  }
  std::unordered_map<NodeId, NodeId> rebuilt;
  NamedConstants result{bank.replace(outputs, named, &rebuilt), {}};
  for (const auto& [constant, name] : named) result.origins.emplace(name, constant);
  for (const auto& [earlier, created] : rebuilt) {
    for (std::size_t i = 0; i < bank.node(earlier).outputs.size(); ++i)
      result.origins.emplace(bank.node(created).outputs[i], bank.node(earlier).outputs[i]);
  }
  return result;
}

}  // namespace rulemill::optimize
