// Splitting of a serialized model into a small message and the raw data of its large initializers. The data are not
// copied, as protobuf would.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rulemill::optimize {

struct SplitModel {
  std::string message;  // the ModelProto without `data`
  struct Data {
    std::size_t initializer = 0;  // index in the graph
    std::string_view bytes;
  };
  std::vector<Data> data;
};

/// Returns nullopt if the bytes are malformed or contain more than one graph.
std::optional<SplitModel> split_model(std::string_view bytes);

/// Returns the header of a length-delimited protobuf field.
std::string field_header(std::uint32_t number, std::uint64_t length);

/// Field numbers of ONNX messages, which never change.
inline constexpr std::uint32_t graph_field = 7, initializer_field = 5, raw_data_field = 9;

}  // namespace rulemill::optimize
