#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "optimize/onnx/clean/node_arguments.h"
#include "optimize/onnx/clean/passes.h"

namespace rulemill::optimize {

namespace {

/// Recognizes indices that list all positions of a tensor in their order, as exporters write `x[:, :] = y`.
class PositionList {
 public:
  /// `size`: the dimensions that the indices run over.
  PositionList(const CleanGraph& graph, Dims size) : graph_(graph), size_(std::move(size)) {}

  /// Whether element [p..., j] of the value is p[j].
  bool matches(const std::string& indices) const {
    if (const auto constant = graph_.constant(indices)) return is_list(*constant);
    const onnx::NodeProto* node = producer(indices, "Concat");
    if (node == nullptr || node->input_size() != static_cast<int>(size_.size())) return false;
    const std::int64_t axis = resolve_axis(int_attribute(*node, "axis", 0), size_.size() + 1);
    if (axis != static_cast<std::int64_t>(size_.size())) return false;
    for (std::size_t j = 0; j < size_.size(); ++j) {
      if (!is_coordinate(node->input(static_cast<int>(j)), j)) return false;
    }
    return true;
  }

 private:
  const onnx::NodeProto* producer(const std::string& value, const char* op_type) const {
    const onnx::NodeProto* node = graph_.producer(value);
    return node != nullptr && is_standard(*node) && node->op_type() == op_type ? node : nullptr;
  }

  /// Returns the dimensions and a last one.
  Dims with_last(std::int64_t dim) const {
    Dims result = size_;
    result.push_back(dim);
    return result;
  }

  bool is_list(const RawTensor& constant) const {
    const auto numbers = constant.integers();
    if (!numbers || constant.dims != with_last(static_cast<std::int64_t>(size_.size()))) return false;
    for (std::size_t i = 0; i < numbers->size(); ++i) {
      if ((*numbers)[i] != coordinate(i / size_.size(), size_, i % size_.size())) return false;
    }
    return true;
  }

  /// Whether element [p..., 0] of the value is p[j].
  bool is_coordinate(const std::string& value, std::size_t j) const {
    if (const auto constant = graph_.constant(value)) return repeats_coordinate(*constant, with_last(1), j);
    const onnx::NodeProto* node = producer(value, "Unsqueeze");
    const auto axes = node == nullptr ? std::nullopt : graph_.integers(*node, 1, "axes");
    if (!axes || axes->size() != 1) return false;
    if (resolve_axis(axes->front(), size_.size() + 1) != static_cast<std::int64_t>(size_.size())) return false;
    if (const auto constant = graph_.constant(node->input(0))) return repeats_coordinate(*constant, size_, j);
    const onnx::NodeProto* expansion = producer(node->input(0), "Expand");
    const auto expanded = expansion == nullptr ? std::nullopt : graph_.integers(*expansion, 1, "");
    const auto constant = expanded ? graph_.constant(expansion->input(0)) : std::nullopt;
    return constant && is_repetition(constant->dims, *expanded) && repeats_coordinate(*constant, size_, j);
  }

  /// Whether an expansion of these dimensions has the dimensions `size_`.
  bool is_repetition(const Dims& from, const Dims& argument) const {
    if (from.size() > size_.size() || argument.size() > size_.size()) return false;
    const Dims before = with_rank(size_.size(), from), after = with_rank(size_.size(), argument);
    for (std::size_t i = 0; i < size_.size(); ++i) {
      if (std::max(before[i], after[i]) != size_[i]) return false;
    }
    return true;
  }

  /// Returns the dimensions with dimensions of one element in front.
  static Dims with_rank(std::size_t rank, const Dims& dims) {
    Dims result(rank - dims.size(), 1);
    result.insert(result.end(), dims.begin(), dims.end());
    return result;
  }

  /// Whether the constant, broadcast to `result`, has the coordinate `j` of each position.
  static bool repeats_coordinate(const RawTensor& constant, const Dims& result, std::size_t j) {
    const auto numbers = constant.integers();
    if (!numbers || constant.dims.size() > result.size()) return false;
    const Dims dims = with_rank(result.size(), constant.dims);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] != result[i] && (dims[i] != 1 || i == j)) return false;
    }
    for (std::size_t i = 0; i < numbers->size(); ++i) {
      if ((*numbers)[i] != coordinate(i, dims, j)) return false;
    }
    return true;
  }

  /// Returns coordinate `j` of the element at a row-major position.
  static std::int64_t coordinate(std::size_t position, const Dims& dims, std::size_t j) {
    auto rest = static_cast<std::int64_t>(position);
    for (std::size_t i = dims.size(); --i > j;) rest /= dims[i];
    return rest % dims[j];
  }

  const CleanGraph& graph_;
  Dims size_;
};

/// Whether a ScatterND writes every position, so that its result is its updates.
bool is_full_update(const CleanGraph& graph, const onnx::NodeProto& node) {
  if (!is_standard(node) || node.op_type() != "ScatterND" || node.input_size() != 3) return false;
  const onnx::AttributeProto* reduction = find_attribute(node, "reduction");
  if (reduction != nullptr && reduction->s() != "none") return false;
  const auto data = graph.shape(node.input(0)), indices = graph.shape(node.input(1));
  if (!data || !indices || indices->empty() || indices->size() > data->size() + 1) return false;
  Dims size;
  for (std::size_t i = 0; i + 1 < indices->size(); ++i) {
    const auto dim = (*data)[i].constant();
    if (!dim || *dim < 1) return false;
    size.push_back(*dim);
  }
  return !size.empty() && PositionList(graph, size).matches(node.input(1));
}

}  // namespace

bool remove_full_updates(CleanGraph& graph) {
  return graph.remove_nodes(
      [&](const auto& node) { return is_full_update(graph, node) ? std::optional(2) : std::nullopt; });
}

}  // namespace rulemill::optimize
