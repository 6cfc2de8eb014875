// The protobuf behind OnnxModel, and tensors in and out of it. Included by this folder alone.
#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "algebra/execution/reference.h"
#include "optimize/graph.h"
#include "optimize/onnx/mapped_file.h"
#include "optimize/onnx/mapping.h"
#include "optimize/onnx/model.h"

namespace rulemill::optimize {

struct OnnxModel::Proto {
  onnx::ModelProto model;  // without the data of large initializers
  std::string origin;
  int opset = 0;
  std::string_view bytes;                                       // of the file that it was read from
  std::unordered_map<std::string, std::string_view> elsewhere;  // raw data of initializers by name
  std::vector<std::shared_ptr<const void>> owners;              // of what the views above look at
  std::vector<std::filesystem::path> side_files;                // that hold its external data
  std::set<std::string> taken_names;                            // of graphs around this one

  /// The raw data of one of the graph's initializers, wherever they are; nothing if it has typed data.
  std::optional<std::string_view> raw(const onnx::TensorProto& initializer) const;
};

/// The raw data that the message itself holds.
std::optional<std::string_view> raw_inside(const onnx::TensorProto& proto);

/// Of values and nodes, in the graph and inside its nodes.
void collect_names(const onnx::GraphProto& graph, std::set<std::string>& names);

/// Every tensor below the graph's initializers: of attributes and of subgraphs.
void for_each_inner_tensor(onnx::GraphProto& graph, const std::function<void(onnx::TensorProto&)>& visit);

/// How many elements the dimensions say; nothing if one is negative or their bytes are beyond counting.
std::optional<std::uint64_t> element_count(const onnx::TensorProto& proto);
/// Bytes of that many elements as raw data; nothing for strings and element types that are not known here.
std::optional<std::uint64_t> raw_bytes(int data_type, std::uint64_t elements);

/// What the algebra has for ONNX's element types, both ways. An int32 is an integer, which is written as int64.
std::optional<Element> element_of(int data_type);
int data_type_of(Element element);
/// Elements from raw bytes of this type.
std::vector<double> numbers_of(int data_type, std::string_view raw);
/// A tensor of an element type that the algebra has; nothing for another one, for integers that a float32 does not
/// hold, or where the data do not match the shape.
std::optional<algebra::Tensor> number_tensor(const onnx::TensorProto& proto, std::optional<std::string_view> raw);
/// Each number is rounded once. Throws Error where a finite one would become infinite.
onnx::TensorProto number_proto(const std::string& name, const algebra::Tensor& tensor,
                               Element element = Element::Float32);
/// An int64 or int32 tensor of rank 0 or 1, a float tensor of one element, or a short list of whole float32 numbers.
std::optional<OnnxLiteral> literal_tensor(const onnx::TensorProto& proto);
onnx::TensorProto integer_proto(const std::string& name, const OnnxLiteral& literal);

OnnxLiteral attribute_literal(const onnx::AttributeProto& proto);
onnx::AttributeProto attribute_proto(const std::string& name, const OnnxLiteral& literal);

/// Bytes of an initializer's elements, as stored.
std::uint64_t data_bytes(const OnnxModel::Proto& model, const onnx::TensorProto& initializer);

/// A name from a file as a message may show it: one line, of bounded length.
std::string shown(const std::string& name);

}  // namespace rulemill::optimize
