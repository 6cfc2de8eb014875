// Types of a model's values, while its nodes are imported in order: from definitions, else from declarations in the
// model, else from the ONNX library, node by node.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "optimize/model/graph.h"
#include "optimize/onnx/format/model.h"
#include "optimize/onnx/operators/known_tensor.h"
#include "optimize/onnx/shapes/inference.h"

namespace rulemill::optimize {

/// Bounds of dynamic dimensions, by name: below a tensor would be empty, above two would be incompatible.
struct SizeBounds {
  std::map<std::string, std::int64_t> lower = {}, upper = {};
  std::int64_t smallest = 1;  // of dimensions without a lower bound; definitions do not apply at 0
  bool operator==(const SizeBounds&) const = default;
};

/// A dynamic dimension. The model's dimension `name` equals `atom` + `offset`.
struct DynamicDim {
  std::string name;
  algebra::Atom atom;
  std::int64_t offset = 0;
  std::optional<std::int64_t> upper_bound;  // of atom + offset
};

/// Returns the size as the model names it.
std::string size_text(const algebra::Poly& size, const algebra::Symbols& symbols);
std::string shape_text(const algebra::Shape& shape, const algebra::Symbols& symbols);  // "[batch, 64]"

/// Dimension names become sizes "$NAME"; unknown dimensions become sizes of their own.
class OnnxTypes {
 public:
  OnnxTypes(const OnnxModel& model, algebra::Symbols& symbols, NodeInference* inference, const SizeBounds& bounds);

  /// Returns nullopt if the value is unknown, of an unsupported element type, or of unknown rank.
  ValueType type(const std::string& name);
  /// Returns the shape of a value of any element type.
  ValueType shape(const std::string& name);
  bool is_non_float(const std::string& name) const;
  bool is_output(const std::string& name) const { return outputs_.contains(name); }
  /// Sets the type that a definition computes. Throws InputError if the model declares another one.
  void set_type(const std::string& name, const ValueType& type);
  /// Sets the shape of a value of any element type; `onnx_type` is ONNX's number. Unknown dimensions become sizes.
  void set_derived_shape(const std::string& name, int onnx_type, const Dimensions& shape);
  /// Returns ONNX's number of the value's element type; 0 if unknown.
  int onnx_type(const std::string& name) const;
  /// Infers the unknown output types with the ONNX library; returns how that failed, or an empty string.
  /// `known_tensors`: inputs with known values, such as sizes and scales.
  std::string infer(const onnx::NodeProto& node, const std::vector<std::string>& captured,
                    const std::unordered_map<std::string, const onnx::TensorProto*>& known_tensors);
  /// The first node that the ONNX library finds invalid, and why. Declared types may be the cause.
  const std::string& invalid_node() const { return invalid_node_; }
  /// In order of appearance.
  const std::vector<DynamicDim>& dynamic_dims() const { return dynamic_dims_; }

 private:
  void declare(const onnx::ValueInfoProto& info);
  ValueType to_value_type(const onnx::TypeProto& type, const std::string& name);
  ValueType dims_of(const onnx::TypeProto& type, const std::string& name);
  algebra::Poly dynamic_dim(const std::string& name, const std::string& escaped_name);
  void check_data_type(const std::string& name, DataType data_type) const;
  onnx::TypeProto to_type_proto(const Dimensions& shape, int onnx_type);

  const OnnxModel::Proto& proto_;
  algebra::Symbols& symbols_;
  NodeInference* inference_;                                   // may be null
  std::unordered_map<std::string, onnx::TypeProto> declared_;  // by value, of any element type
  std::unordered_map<std::string, ValueType> computed_;
  std::unordered_map<std::string, const onnx::ValueInfoProto*> outputs_;
  std::unordered_map<std::string, algebra::Poly> dims_by_name_;  // by dimension name in queries to the ONNX library
  const SizeBounds& bounds_;
  std::vector<DynamicDim> dynamic_dims_;
  std::string invalid_node_;
};

}  // namespace rulemill::optimize
