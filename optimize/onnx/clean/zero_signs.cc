#include "optimize/onnx/clean/zero_signs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "optimize/onnx/operators/element_function.h"
#include "optimize/onnx/operators/node_arguments.h"

namespace rulemill::optimize {
namespace {

using Proto = onnx::TensorProto;

/// Operators that add the input at this position last.
const std::map<std::string, int> biased_operators = {{"BatchNormalization", 2}, {"Gemm", 2}, {"LayerNormalization", 2}};

/// Types whose zero has one sign.
const std::set<int> unsigned_zero_types = {Proto::BOOL,  Proto::INT8,   Proto::INT16,  Proto::INT32, Proto::INT64,
                                           Proto::UINT8, Proto::UINT16, Proto::UINT32, Proto::UINT64};

/// Larger constants are not searched for -0.
constexpr std::int64_t max_searched_elements = 1 << 16;

bool may_have_negative_zero(const RawTensor& tensor) {
  const bool is_searched = tensor.type == Proto::FLOAT || tensor.type == Proto::DOUBLE;
  bool found = tensor.count() > max_searched_elements || !is_searched;
  for (std::size_t i = 0; !found && i < static_cast<std::size_t>(tensor.count()); ++i)
    found = real_at(tensor, i) == 0 && std::signbit(real_at(tensor, i));
  return found;
}

}  // namespace

ZeroSigns::ZeroSigns(const CleanGraph& graph, const onnx::NodeProto& removable) : graph_(graph) {
  for (const auto& node : graph.proto().node()) {
    if (&node != &removable && !CleanGraph::is_erased(node) && computes_no_negative_zero(node))
      never_negative_.insert(node.output().begin(), node.output().end());
  }
  for (const auto& output : graph.proto().output()) observed_.insert(output.name());
  for (int i = graph.proto().node_size(); i-- > 0;) {
    if (const auto& node = graph.proto().node(i); !CleanGraph::is_erased(node)) observe_inputs(node);
  }
}

bool ZeroSigns::is_never_negative_zero(const std::string& name) const {
  if (never_negative_.contains(name)) return true;
  if (unsigned_zero_types.contains(graph_.element_type(name))) return true;
  const auto value = graph_.constant(name);
  return value && !may_have_negative_zero(*value);
}

bool ZeroSigns::computes_no_negative_zero(const onnx::NodeProto& node) const {
  if (!is_standard(node) || !has_input(node, 0)) return false;
  const std::string& op = node.op_type();
  const auto is_never = [&](int i) { return has_input(node, i) && is_never_negative_zero(input(node, i)); };
  if (has_trait(node, never_negative)) return true;
  if (has_trait(node, moves_first) || op == "Sub") return is_never(0);
  if (op == "Add") return is_never(0) || is_never(1);
  if (op == "Mul") return input(node, 0) == input(node, 1);
  if (op == "Concat") {
    return std::ranges::all_of(node.input(),
                               [&](const auto& name) { return is_never_negative_zero(graph_.current_name(name)); });
  }
  const auto bias = biased_operators.find(op);
  if (bias == biased_operators.end()) return false;
  const auto is_one = [&](const char* factor) {
    const onnx::AttributeProto* attribute = find_attribute(node, factor);
    return attribute == nullptr || attribute->f() == 1;
  };
  return is_never(bias->second) && is_one("alpha") && is_one("beta");
}

/// An operator whose result is never -0 hides the signs of its operands.
void ZeroSigns::observe_inputs(const onnx::NodeProto& node) {
  const bool hides = std::ranges::all_of(
      node.output(), [&](const auto& name) { return !observed_.contains(name) || is_never_negative_zero(name); });
  for (int i = 0; i < node.input_size(); ++i) {
    if (!hides || !passes_on_signs_only(node, i)) observed_.insert(input(node, i));
  }
  if (!has_subgraph(node)) return;
  for (const auto& name : read_names(node)) observed_.insert(graph_.current_name(name));
}

/// Whether zeros of the other sign in an input change at most the signs of zeros in the results.
bool ZeroSigns::passes_on_signs_only(const onnx::NodeProto& node, int position) const {
  if (has_trait(node, passes_zeros)) return true;
  if (!is_standard(node)) return false;
  const std::string& op = node.op_type();
  if (op == "Where") return position > 0;
  if (position != 0 || (op == "Cast" && int_attribute(node, "to", 0) == Proto::STRING)) return false;
  if (op != "Pow") return has_trait(node, passes_zero);
  const auto exponent = graph_.constant(input(node, 1));
  return exponent && exponent->type == Proto::FLOAT && exponent->count() == 1 && exponent->element<float>(0) > 0;
}

}  // namespace rulemill::optimize
