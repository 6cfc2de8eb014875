#include "optimize/onnx/mapping/resolve_normalization.h"

#include <map>

#include "optimize/onnx/mapping/node_parts.h"

namespace rulemill::optimize {
namespace {

using Operand = NodeParts::Operand;

/// A normalization of ONNX, or of onnxruntime. Its inputs: rows, a second summand of them if `skips`, weights, and
/// biases if it is `centered`; a third summand comes last. Its outputs: the rows, their mean, the inverse of the root,
/// and the sum if `skips`. If it is `of_channels`, a row is all of a channel, and weights and biases are of channels.
struct Normalization {
  std::string domain;
  bool skips = false, centered = false, of_channels = false;
};

const std::map<std::string, Normalization> normalizations = {
    {"LayerNormalization", {"", false, true}},
    {"InstanceNormalization", {"", false, true, true}},
    {"RMSNormalization", {"", false, false}},
    {"SimplifiedLayerNormalization", {"", false, false}},
    {"SkipLayerNormalization", {"com.microsoft", true, true}},
    {"SkipSimplifiedLayerNormalization", {"com.microsoft", true, false}}};

/// Adds the nodes of one normalization. An operand is absent if a node before it could not be added.
class NormalizationParts {
 public:
  NormalizationParts(const NodeQuery& query, GraphBank& bank)
      : query_(query),
        bank_(bank),
        kind_(normalizations.at(query.description.op_type)),
        parts_(query, bank, "its inputs do not fit a normalization of rows") {}

  std::variant<LoweredNode, std::string> run() {
    if (!normalizes_rows()) return "it normalizes several dimensions";
    const auto epsilon = parts_.number_of("epsilon");
    if (!epsilon) return "its epsilon is not a number";
    const auto rows = sum_of_inputs();
    const auto mean = kind_.centered ? mean_of(rows) : std::nullopt;
    const auto centered = kind_.centered ? parts_.add("Sub", {rows, mean}) : rows;
    const auto variance = mean_of(parts_.add("Pow", {centered, parts_.number(2)}));
    const auto root = parts_.add("Sqrt", {parts_.add("Add", {variance, parts_.number(*epsilon)})});
    auto result = parts_.add("Mul", {parts_.add("Div", {centered, root}), of_rows(weights())});
    if (kind_.centered && input(weights() + 1)) result = parts_.add("Add", {result, of_rows(weights() + 1)});
    if (!result) return parts_.reason();
    std::vector<std::optional<Operand>> outputs = {result};
    const std::size_t wanted = query_.outputs.size();
    if (wanted > 1) outputs.push_back(kind_.centered ? mean : parts_.add("Sub", {variance, variance}));  // 0
    if (wanted > 2) outputs.push_back(parts_.add("Reciprocal", {root}));
    if (wanted > 3) outputs.push_back(rows);
    return finish(outputs);
  }

 private:
  std::uint32_t weights() const { return kind_.skips ? 2 : 1; }

  bool normalizes_rows() const {
    const auto axis = query_.description.attributes.find("axis");
    if (kind_.of_channels) return input(0) && rank() > 2;
    if (kind_.skips || axis == query_.description.attributes.end()) return true;
    const std::vector<algebra::Poly>& given = axis->second.integers;
    if (given.size() != 1 || !input(0)) return false;
    return given[0] == algebra::Poly(-1) || given[0] == algebra::Poly(static_cast<std::int64_t>(rank()) - 1);
  }

  std::optional<Operand> input(std::uint32_t number) const { return parts_.typed_input(number); }

  std::size_t rank() const { return bank_.value(*query_.inputs[0]).type->size(); }

  /// The weights or biases, in a shape that broadcasts to the rows.
  std::optional<Operand> of_rows(std::uint32_t number) {
    if (!kind_.of_channels || !input(number) || !input(0)) return input(number);
    std::vector<algebra::Poly> shape(rank() - 1, algebra::Poly(1));
    shape[0] = (*bank_.value(*query_.inputs[0]).type)[1];
    return parts_.add("Reshape", {input(number), NodeParts::integers(std::move(shape))});
  }

  std::optional<Operand> sum_of_inputs() {
    if (!kind_.skips) return input(0);
    const auto sum = parts_.add("Add", {input(0), input(1)});
    const std::uint32_t last = weights() + (kind_.centered ? 2 : 1);
    return input(last) ? parts_.add("Add", {sum, input(last)}) : sum;
  }

  std::optional<Operand> mean_of(const std::optional<Operand>& rows) {
    if (!rows) return std::nullopt;
    constexpr int axes_input_opset = 18;
    std::vector<algebra::Poly> axes = {algebra::Poly(-1)};
    for (std::size_t above = 2; kind_.of_channels && above < rank() - 1; ++above)
      axes.emplace_back(-static_cast<std::int64_t>(above));
    if (query_.opset >= axes_input_opset) return parts_.add("ReduceMean", {rows, NodeParts::integers(std::move(axes))});
    return parts_.add("ReduceMean", {rows}, {{"axes", attribute(std::move(axes))}});
  }

  std::variant<LoweredNode, std::string> finish(const std::vector<std::optional<Operand>>& outputs) {
    std::vector<Operand> present;
    for (const auto& output : outputs) {
      if (!output) return parts_.reason();
      present.push_back(*output);
    }
    return parts_.finish(present);
  }

  const NodeQuery& query_;
  GraphBank& bank_;
  const Normalization& kind_;
  NodeParts parts_;
};

}  // namespace

bool is_normalization(const NodeDescription& node) {
  const auto found = normalizations.find(node.op_type);
  return found != normalizations.end() && found->second.domain == node.domain;
}

std::variant<LoweredNode, std::string> resolve_normalization(const NodeQuery& query, GraphBank& bank) {
  return NormalizationParts(query, bank).run();
}

}  // namespace rulemill::optimize
