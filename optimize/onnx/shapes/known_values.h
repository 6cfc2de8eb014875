// Known parts of a model's values while nodes are imported in order: by constants, types and the operator table.
#pragma once

#include <onnx/onnx_pb.h>

#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>

#include "optimize/onnx/format/literal.h"
#include "optimize/onnx/mapping/resolve_node.h"
#include "optimize/onnx/operators/known_tensor.h"
#include "optimize/onnx/shapes/types.h"

namespace rulemill::optimize {

/// Bounds of dynamic dimensions. A model rarely runs at every size: a window, for example, needs as many elements as
/// its length. Sizes for which a tensor would be empty, so that no definition applies, are excluded.
struct LowerBound {
  std::string size;
  std::int64_t value = 1;  // no definition applies to the node at a smaller size
};

struct UpperBound {
  std::string size;
  std::int64_t value = 1;  // a node's inputs are incompatible at a larger size
};

/// Returns a lower bound from a node that no definition covers at all sizes; nullopt if none covers it at any size that
/// was tried, or it holds for all sizes.
std::optional<LowerBound> find_lower_bound(const NodeQuery& query, std::span<const DynamicDim> dynamic_dims,
                                           GraphBank& bank);

class KnownValues {
 public:
  KnownValues(const OnnxModel::Proto& model, OnnxTypes& types, algebra::Symbols& symbols, const SizeBounds& bounds)
      : model_(model), types_(types), symbols_(symbols), bounds_(bounds) {}

  /// Records a constant: an initializer, or the value of a Constant node. `raw`: its data outside of typed fields.
  void add_constant(const std::string& name, const onnx::TensorProto& tensor, std::optional<std::string_view> raw);
  /// Records the outputs of a node, and their types where all dimensions are known. Returns a bound of a dimension
  /// above which the node's inputs are incompatible, if there is one.
  std::optional<UpperBound> add_node(const onnx::NodeProto& node);
  /// Infers the types of the outputs of a node without a definition that are still unknown. Returns how the ONNX
  /// library failed, or an empty string.
  std::string add_types(const onnx::NodeProto& node, const std::vector<std::string>& captured);

  KnownTensor find(const std::string& name);
  /// Returns the dimensions of a node's output if the operator table gives all of them.
  std::optional<algebra::Shape> computed_shape(const std::string& name) const;
  /// Returns what mappings can read: integers, which may depend on sizes, or one number.
  std::optional<OnnxLiteral> literal(const std::string& name) const;

 private:
  void record(const std::string& name, KnownTensor known);

  const OnnxModel::Proto& model_;
  OnnxTypes& types_;
  algebra::Symbols& symbols_;
  const SizeBounds& bounds_;
  std::unordered_map<std::string, KnownTensor> known_;  // besides the dimensions that `types_` has
  std::unordered_map<std::string, OnnxLiteral> literals_;
  std::unordered_map<std::string, const onnx::TensorProto*> tensors_;  // from which the ONNX library infers types
  std::deque<onnx::TensorProto> computed_tensors_;
  std::set<algebra::Poly> dimensions_;  // of all values
};

}  // namespace rulemill::optimize
