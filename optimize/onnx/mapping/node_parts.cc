#include "optimize/onnx/mapping/node_parts.h"

#include <memory>

namespace rulemill::optimize {

using Source = LoweredNode::Reference::Source;

NodeDescription node(std::string op_type) {
  NodeDescription description;
  description.op_type = std::move(op_type);
  return description;
}

OnnxLiteral attribute(double value) {
  OnnxLiteral literal;
  literal.float_value = value;
  return literal;
}

OnnxLiteral attribute(std::int64_t value) {
  OnnxLiteral literal;
  literal.integers = {algebra::Poly(value)};
  return literal;
}

OnnxLiteral attribute(std::vector<algebra::Poly> values) {
  OnnxLiteral literal;
  literal.is_list = true;
  literal.integers = std::move(values);
  return literal;
}

std::optional<std::int64_t> integer_of(const NodeDescription& description, const std::string& attribute) {
  const auto found = description.attributes.find(attribute);
  if (found == description.attributes.end() || found->second.is_list || found->second.integers.size() != 1)
    return std::nullopt;
  return found->second.integers[0].constant();
}

NodeParts::Operand NodeParts::input(std::uint32_t number) const {
  const auto& constants = whole_.description.constant_inputs;
  return {
      whole_.inputs[number], {Source::Input, number, 0}, number < constants.size() ? constants[number] : std::nullopt};
}

NodeParts::Operand NodeParts::number(double value) {
  const LoweredNode::Reference from = add_literal(value);
  return {literal_value(from), from, attribute(value)};
}

std::vector<NodeParts::Operand> NodeParts::add(NodeDescription description, const std::vector<Operand>& operands,
                                               std::size_t outputs) {
  NodeQuery query;
  query.description = std::move(description);
  query.description.onnx_type = whole_.description.onnx_type;
  query.description.absent_inputs.assign(operands.size(), false);
  query.description.constant_inputs.clear();
  query.opset = whole_.opset;
  for (const Operand& operand : operands) {
    query.inputs.push_back(operand.value);
    query.description.constant_inputs.push_back(operand.literal);
  }
  query.outputs.assign(outputs, std::nullopt);
  const auto resolved = resolve_node(query, bank_);
  if (const auto* reason = std::get_if<std::string>(&resolved)) {
    reason_ = *reason;
    return {};
  }
  return append(std::get<LoweredNode>(resolved), operands);
}

std::optional<NodeParts::Operand> NodeParts::add(NodeDescription description, const std::vector<Operand>& operands) {
  std::vector<Operand> results = add(std::move(description), operands, 1);
  return results.empty() ? std::nullopt : std::optional(std::move(results[0]));
}

std::optional<NodeParts::Operand> NodeParts::typed_input(std::uint32_t number) const {
  const bool is_typed = number < whole_.inputs.size() && !whole_.description.absent_inputs[number] &&
                        whole_.inputs[number] && bank_.value(*whole_.inputs[number]).type;
  return is_typed ? std::optional(input(number)) : std::nullopt;
}

std::optional<NodeParts::Operand> NodeParts::add(const char* op_type,
                                                 const std::vector<std::optional<Operand>>& operands,
                                                 std::map<std::string, OnnxLiteral> attributes) {
  std::vector<Operand> present;
  for (const auto& operand : operands) {
    if (!operand) return std::nullopt;
    present.push_back(*operand);
  }
  NodeDescription description = node(op_type);
  description.attributes = std::move(attributes);
  return add(std::move(description), present);
}

std::optional<double> NodeParts::number_of(const std::string& attribute) const {
  const NodeDescription& node = whole_.description;
  const auto given = node.attributes.find(attribute);
  if (given != node.attributes.end()) return given->second.float_value;
  for (const auto& mapping : bank_.library().onnx_mappings(node.op_type, node.domain)) {
    if (const auto found = mapping.defaults.find(attribute); found != mapping.defaults.end()) return found->second;
  }
  return std::nullopt;
}

LoweredNode NodeParts::finish(const std::vector<Operand>& results) {
  for (const Operand& result : results) lowered_.outputs.push_back(result.from);
  return std::move(lowered_);
}

std::vector<NodeParts::Operand> NodeParts::append(const LoweredNode& part, const std::vector<Operand>& operands) {
  const auto first = static_cast<std::uint32_t>(lowered_.steps.size());
  std::vector<LoweredNode::Reference> literals;
  for (const double literal : part.literals) literals.push_back(add_literal(literal));
  std::vector<NodeId> nodes;
  const auto value_of = [&](const LoweredNode::Reference& from) {
    if (from.source == Source::Input) return *operands[from.number].value;
    if (from.source == Source::Literal) return literal_value(literals[from.number]);
    return bank_.node(nodes[from.number]).outputs[from.output];
  };
  const auto moved = [&](const LoweredNode::Reference& from) {
    if (from.source == Source::Input) return operands[from.number].from;
    if (from.source == Source::Literal) return literals[from.number];
    return LoweredNode::Reference{Source::Step, first + from.number, from.output};
  };
  for (const LoweredNode::Step& given : part.steps) {
    LoweredNode::Step step = given;
    std::vector<ValueId> arguments;
    for (LoweredNode::Reference& from : step.arguments) {
      arguments.push_back(value_of(from));
      from = moved(from);
    }
    const auto node = bank_.apply(step.instance, arguments, step.sizes);
    if (!node) return {};
    nodes.push_back(*node);
    lowered_.steps.push_back(std::move(step));
  }
  std::vector<Operand> results;
  for (const LoweredNode::Reference& output : part.outputs)
    results.push_back({value_of(output), moved(output), std::nullopt});
  return results;
}

LoweredNode::Reference NodeParts::add_literal(double value) {
  lowered_.literal_type = literal_type();
  lowered_.literals.push_back(value);
  return {Source::Literal, static_cast<std::uint32_t>(lowered_.literals.size() - 1), 0};
}

ValueId NodeParts::literal_value(const LoweredNode::Reference& literal) {
  algebra::Tensor scalar{{}, {lowered_.literals[literal.number]}};
  return bank_.constant("", std::make_shared<const algebra::Tensor>(std::move(scalar)), literal_type());
}

DataType NodeParts::literal_type() const {
  return whole_.inputs.empty() || !whole_.inputs[0] ? DataType::Float32 : bank_.value(*whole_.inputs[0]).type.data_type;
}

}  // namespace rulemill::optimize
