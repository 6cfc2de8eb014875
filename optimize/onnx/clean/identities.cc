#include <map>

#include "optimize/onnx/clean/passes.h"
#include "optimize/onnx/clean/zero_signs.h"
#include "optimize/onnx/operators/element_function.h"
#include "optimize/onnx/operators/node_arguments.h"

namespace rulemill::optimize {
namespace {

/// Whether all elements are `number`, of which a zero has the same sign.
bool consists_of(const RawTensor& tensor, double number) {
  const std::string bytes(reinterpret_cast<const char*>(&number), sizeof number);
  const auto expected = convert_elements(make_raw_tensor(onnx::TensorProto::DOUBLE, {}, bytes), tensor.type);
  if (!expected || tensor.count() == 0) return false;
  for (std::size_t i = 0; i < tensor.bytes.size(); i += expected->bytes.size()) {
    if (tensor.bytes.substr(i, expected->bytes.size()) != expected->bytes) return false;
  }
  return true;
}

/// The operand with which an operator returns the bits of the other one, the first one of Sub and Div. x + 0 is 0 for
/// x = -0; of integers, x + 0 is x.
const std::map<std::string, double> neutral_numbers = {{"Add", -0.0}, {"And", 1}, {"Div", 1},
                                                       {"Mul", 1},    {"Or", 0},  {"Sub", 0}};

/// Finds nodes whose output has the bits of an input.
class IdentityFinder {
 public:
  explicit IdentityFinder(const CleanGraph& graph) : graph_(graph), readers_(graph.count_readers()) {}

  /// Returns the position of the input that the node returns; nullopt if it computes something.
  std::optional<int> returned_input(const onnx::NodeProto& node) const {
    if (!is_standard(node) || node.input_size() == 0 || !has_input(node, 0) || node.output_size() == 0)
      return std::nullopt;
    const std::string& op = node.op_type();
    if (graph_.opset() < first_clean_opset) return op == "Identity" ? std::optional(0) : std::nullopt;
    if (op == "Dropout") return is_inference_dropout(node) ? std::optional(0) : std::nullopt;
    if (node.output_size() != 1) return std::nullopt;
    if (const auto neutral = neutral_numbers.find(op); neutral != neutral_numbers.end())
      return neutral_operand(node, neutral->second);
    return is_identity_of_first_input(node) ? std::optional(0) : std::nullopt;
  }

  /// Returns the position of the operand to which the node adds +0; nullopt if it does not.
  std::optional<int> augend_of_zero(const onnx::NodeProto& node) const {
    const bool is_sum = is_standard(node) && node.op_type() == "Add" && graph_.opset() >= first_clean_opset;
    return is_sum ? neutral_operand(node, 0.0) : std::nullopt;
  }

 private:
  /// Whether the output has the shape of the input.
  bool keeps_shape(const onnx::NodeProto& node, int input) const {
    const auto before = graph_.shape(node.input(input)), after = graph_.shape(node.output(0));
    return before && after && *before == *after;
  }

  /// Whether the elements stay where they are.
  bool is_identity_of_first_input(const onnx::NodeProto& node) const {
    const auto movement = graph_.movement(node);
    if (!movement) return false;
    return movement->kind == Movement::Kind::Identity ||
           (keeps_shape(node, 0) && movement->keeps_order(graph_.known(node.input(0)).dims));
  }

  std::optional<int> neutral_operand(const onnx::NodeProto& node, double neutral) const {
    const bool commutes = node.op_type() != "Sub" && node.op_type() != "Div";
    for (const int other : {1, 0}) {
      if (other == 0 && !commutes) break;
      const int kept = 1 - other;
      const auto constant = graph_.constant(node.input(other));
      if (constant && consists_of(*constant, neutral) && (constant->dims.empty() || keeps_shape(node, kept)))
        return kept;
    }
    return std::nullopt;
  }

  /// Without a mask, and without a training mode other than false.
  bool is_inference_dropout(const onnx::NodeProto& node) const {
    const auto mask_readers = node.output_size() > 1 ? readers_.find(node.output(1)) : readers_.end();
    if (node.output_size() > 1 && !node.output(1).empty() && mask_readers != readers_.end()) return false;
    if (!has_input(node, 2)) return true;
    const auto training = graph_.constant(node.input(2));
    return training && training->type == onnx::TensorProto::BOOL && training->count() == 1 && training->bytes[0] == 0;
  }

  const CleanGraph& graph_;
  std::unordered_map<std::string, int> readers_;
};

}  // namespace

bool remove_identities(CleanGraph& graph) {
  const IdentityFinder finder(graph);
  return graph.remove_nodes([&](const auto& node) { return finder.returned_input(node); });
}

bool remove_zero_addends(CleanGraph& graph) {
  const IdentityFinder finder(graph);
  return graph.remove_nodes([&](const auto& node) {
    const auto kept = finder.augend_of_zero(node);
    if (!kept) return kept;
    const ZeroSigns signs(graph, node);
    const bool is_safe = !signs.is_observed(node.output(0)) || signs.is_never_negative_zero(node.input(*kept));
    return is_safe ? kept : std::nullopt;
  });
}

}  // namespace rulemill::optimize
