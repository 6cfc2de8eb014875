// The protobuf of an OnnxModel, and conversions of tensors and attributes. Included by optimize/onnx only.
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "algebra/execution/reference.h"
#include "optimize/model/graph.h"
#include "optimize/onnx/format/literal.h"
#include "optimize/onnx/format/mapped_file.h"

namespace rulemill::optimize {

/// Raw data outside a message, with a digest that is computed on first use and shared by copies.
struct DetachedData {
  std::string_view bytes;

  explicit DetachedData(std::string_view data) : bytes(data) {}
  const std::string& digest() const;

 private:
  std::shared_ptr<std::string> digest_ = std::make_shared<std::string>();
};

struct OnnxModelProto {
  onnx::ModelProto model;  // without the data of large initializers
  std::string origin;
  int opset = 0;
  std::string_view bytes;                                       // of the file that was read
  std::unordered_map<std::string, DetachedData> detached_data;  // of initializers, by name
  std::vector<std::shared_ptr<const void>> owners;              // of the memory behind the views
  std::vector<std::filesystem::path> external_files;            // that contain external data
  std::set<std::string> outer_names;                            // names in the outer graphs

  /// Returns the raw data of an initializer of the graph; nullopt if it has typed data.
  std::optional<std::string_view> raw(const onnx::TensorProto& initializer) const;
};

/// Returns the raw data inside the message.
std::optional<std::string_view> inline_raw_data(const onnx::TensorProto& proto);

/// Returns the elements of the typed fields as raw bytes: of all types but strings and elements smaller than a byte.
std::string encode_typed_fields(const onnx::TensorProto& proto);

/// Collects the names of values and nodes, including those in subgraphs.
void collect_names(const onnx::GraphProto& graph, std::set<std::string>& names);

/// Visits every tensor except the graph's initializers: those in attributes and subgraphs.
void for_each_nested_tensor(onnx::GraphProto& graph, const std::function<void(onnx::TensorProto&)>& visit);

/// Returns the number of elements; nullopt if a dimension is negative or the number of bytes overflows.
std::optional<std::uint64_t> element_count(const onnx::TensorProto& proto);
/// Returns the size in bytes as raw data; nullopt for strings and unknown element types.
std::optional<std::uint64_t> raw_bytes(int onnx_type, std::uint64_t elements);

/// Converts ONNX element types to data types and back. An int32 becomes an integer, which is written as int64.
std::optional<DataType> to_data_type(int onnx_type);
int to_onnx_type(DataType data_type);
/// Decodes raw bytes.
std::vector<double> decode_elements(int onnx_type, std::string_view raw);
/// Converts a tensor; nullopt if its type or data do not fit, or an integer is not exact in float32.
std::optional<algebra::Tensor> to_tensor(const onnx::TensorProto& proto, std::optional<std::string_view> raw);
/// Rounds each number once. Throws Error if a finite number overflows.
onnx::TensorProto make_tensor_proto(const std::string& name, const algebra::Tensor& tensor,
                                    DataType data_type = DataType::Float32);
/// Converts an int64 or int32 tensor of rank 0 or 1, a float scalar, or a short list of integral float32 numbers.
std::optional<OnnxLiteral> to_literal(const onnx::TensorProto& proto);
onnx::TensorProto make_integer_proto(const std::string& name, const OnnxLiteral& literal);

OnnxLiteral attribute_to_literal(const onnx::AttributeProto& proto);
onnx::AttributeProto make_attribute_proto(const std::string& name, const OnnxLiteral& literal);

/// Returns the stored size of an initializer's elements.
std::uint64_t stored_bytes(const OnnxModelProto& model, const onnx::TensorProto& initializer);

/// Returns a name from a file in printable form: one line of bounded length.
std::string printable(const std::string& name);

}  // namespace rulemill::optimize
