#include "optimize/onnx/mapping/resolve_einsum.h"

#include "optimize/onnx/mapping/product_equation.h"

namespace rulemill::optimize {

namespace {

using Source = LoweredNode::Reference::Source;

/// Resolves nodes that read the inputs of another node or each other's results, and collects their steps.
class Parts {
 public:
  Parts(const NodeQuery& whole, GraphBank& bank) : whole_(whole), bank_(bank) {}

  struct Operand {
    ValueId value{};
    LoweredNode::Reference from;
  };

  Operand input(std::uint32_t number) const { return {*whole_.inputs[number], {Source::Input, number, 0}}; }

  /// Adds a node of one output. Returns nullopt, and keeps the reason, if no mapping fits it.
  std::optional<Operand> add(NodeDescription description, const std::vector<Operand>& operands) {
    NodeQuery query;
    query.description = std::move(description);
    query.description.onnx_type = whole_.description.onnx_type;
    query.description.absent_inputs.assign(operands.size(), false);
    query.description.constant_inputs.assign(operands.size(), std::nullopt);
    query.opset = whole_.opset;
    for (const Operand& operand : operands) query.inputs.push_back(operand.value);
    query.outputs.push_back(std::nullopt);
    const auto resolved = resolve_node(query, bank_);
    if (const auto* reason = std::get_if<std::string>(&resolved)) {
      reason_ = *reason;
      return std::nullopt;
    }
    return append(std::get<LoweredNode>(resolved), operands);
  }

  std::optional<Operand> add_transposition(const std::vector<std::int64_t>& order, const Operand& operand) {
    if (order.empty()) return operand;
    OnnxLiteral permutation;
    permutation.is_list = true;
    for (const std::int64_t axis : order) permutation.integers.emplace_back(axis);
    NodeDescription transpose;
    transpose.op_type = "Transpose";
    transpose.attributes.emplace("perm", std::move(permutation));
    return add(std::move(transpose), {operand});
  }

  const std::string& reason() const { return reason_; }

  LoweredNode finish(const Operand& result) {
    lowered_.outputs = {result.from};
    lowered_.replaces_node = true;
    return std::move(lowered_);
  }

 private:
  std::optional<Operand> append(const LoweredNode& part, const std::vector<Operand>& operands) {
    const auto first = static_cast<std::uint32_t>(lowered_.steps.size());
    std::vector<NodeId> nodes;
    for (const LoweredNode::Step& step : part.steps) {
      LoweredNode::Step moved = step;
      std::vector<ValueId> arguments;
      for (LoweredNode::Reference& from : moved.arguments) {
        if (from.source == Source::Literal) return std::nullopt;
        const bool is_input = from.source == Source::Input;
        arguments.push_back(is_input ? operands[from.number].value
                                     : bank_.node(nodes[from.number]).outputs[from.output]);
        if (is_input)
          from = operands[from.number].from;
        else
          from.number += first;
      }
      const auto node = bank_.apply(moved.instance, arguments, moved.sizes);
      if (!node) return std::nullopt;
      nodes.push_back(*node);
      lowered_.steps.push_back(std::move(moved));
    }
    const LoweredNode::Reference& output = part.outputs[0];
    return Operand{bank_.node(nodes[output.number]).outputs[output.output],
                   {Source::Step, first + output.number, output.output}};
  }

  const NodeQuery& whole_;
  GraphBank& bank_;
  LoweredNode lowered_;
  std::string reason_ = "its operands do not fit its equation";
};

std::variant<LoweredNode, std::string> resolve_einsum(const NodeQuery& query, GraphBank& bank) {
  const auto equation = query.description.attributes.find("equation");
  if (equation == query.description.attributes.end() || !equation->second.string_value) return "its equation is absent";
  if (query.inputs.size() != 2 || query.outputs.size() != 1) return "it does not have two operands";
  std::vector<bool> fixed;
  for (const auto& input : query.inputs) {
    if (!input || !bank.value(*input).type) return "the type of an operand is not known";
    fixed.push_back(bank.node_of(*input).constant);
  }
  const auto read = read_product_equation(*equation->second.string_value, fixed);
  if (const auto* reason = std::get_if<std::string>(&read)) return *reason;
  const auto& product = std::get<ProductEquation>(read);
  for (const std::uint32_t side : {0U, 1U}) {
    const std::size_t axes = (side == 0) == product.exchanged ? product.right_axes : product.left_axes;
    if (bank.value(*query.inputs[side]).type->size() != axes) return "an operand has another rank than in its equation";
  }
  Parts parts(query, bank);
  NodeDescription matmul;
  matmul.op_type = "MatMul";
  const auto left = parts.add_transposition(product.left, parts.input(product.exchanged ? 1 : 0));
  const auto right = parts.add_transposition(product.right, parts.input(product.exchanged ? 0 : 1));
  const auto both = left && right ? parts.add(std::move(matmul), {*left, *right}) : std::nullopt;
  const auto result = both ? parts.add_transposition(product.result, *both) : std::nullopt;
  if (!result) return parts.reason();
  return parts.finish(*result);
}

}  // namespace

std::variant<LoweredNode, std::string> resolve_node_or_einsum(const NodeQuery& query, GraphBank& bank) {
  auto resolved = resolve_node(query, bank);
  const NodeDescription& node = query.description;
  if (std::holds_alternative<LoweredNode>(resolved) || node.op_type != "Einsum" || !node.domain.empty())
    return resolved;
  return resolve_einsum(query, bank);
}

}  // namespace rulemill::optimize
