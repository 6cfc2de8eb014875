// Types of a model's values, as far as they are known while its nodes are read in order: from the definitions first,
// then from what the model says of its values, then from the ONNX library, asked node by node.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "optimize/graph.h"
#include "optimize/onnx/inference.h"
#include "optimize/onnx/model.h"

namespace rulemill::optimize {

/// Sizes at which the model runs, by name: below the least some tensor would be empty, beyond the most two would not
/// fit.
struct SizeBounds {
  std::map<std::string, std::int64_t> least, most;
  bool operator==(const SizeBounds&) const = default;
};

/// A size that the model leaves open: what the model calls it is `atom` + `above`.
struct OpenSize {
  std::string name;
  algebra::Atom atom;
  std::int64_t above = 0;
  std::optional<std::int64_t> most;  // of what the model calls it
};

/// Dimension names become sizes "$NAME"; unknown dimensions sizes of their own.
class OnnxTypes {
 public:
  OnnxTypes(const OnnxModel& model, algebra::Symbols& symbols, NodeInference* inference, const SizeBounds& bounds);

  /// Nothing if the value is unknown, of elements that the algebra does not speak of, or of unknown rank.
  ValueType type(const std::string& name);
  /// Of any element type.
  ValueType shape(const std::string& name);
  bool is_no_float(const std::string& name) const;
  bool is_output(const std::string& name) const { return outputs_.contains(name); }
  /// A definition gives the value this type. Throws InputError if the model says that it has other elements, or
  /// declares an output of another shape.
  void computed(const std::string& name, const ValueType& type);
  /// The shape of a value of any element type, which follows from others; `element` is ONNX's number.
  void follows(const std::string& name, int element, const algebra::Shape& shape);
  /// ONNX's number of the value's element type; 0 if it is not known.
  int element_type(const std::string& name) const;
  /// Asks the ONNX library for those outputs of the node that have no type yet; how that failed, if it did.
  /// `integers`: inputs whose value is known.
  std::string infer(const onnx::NodeProto& node, const std::vector<std::string>& captured,
                    const std::unordered_map<std::string, const onnx::TensorProto*>& integers);
  /// In order of appearance.
  const std::vector<OpenSize>& sizes() const { return sizes_; }

 private:
  void declare(const onnx::ValueInfoProto& info);
  ValueType read(const onnx::TypeProto& type, const std::string& name);
  ValueType dims_of(const onnx::TypeProto& type, const std::string& name);
  algebra::Poly open_size(const std::string& name);
  onnx::TypeProto written(const algebra::Shape& shape, int element);

  const OnnxModel::Proto& proto_;
  algebra::Symbols& symbols_;
  NodeInference* inference_;                                   // may be absent
  std::unordered_map<std::string, onnx::TypeProto> declared_;  // of any element type, by value
  std::unordered_map<std::string, ValueType> computed_;
  std::unordered_map<std::string, const onnx::ValueInfoProto*> outputs_;
  std::unordered_map<std::string, algebra::Poly> by_name_;  // dimensions as they are named to the ONNX library
  const SizeBounds& bounds_;
  std::vector<OpenSize> sizes_;
};

}  // namespace rulemill::optimize
