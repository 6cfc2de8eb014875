// A serialized model split into a small message and the raw data of its large initializers, which stay where they are:
// protobuf copies whatever it parses.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rulemill::optimize {

struct SplitModel {
  std::string message;  // the ModelProto without what is in `data`
  struct Data {
    std::size_t initializer = 0;  // its number in the graph
    std::string_view bytes;
  };
  std::vector<Data> data;
};

/// Nothing if the bytes are no well-formed message, or have more than one graph.
std::optional<SplitModel> split_model(std::string_view bytes);

/// A protobuf field's head, for a field that holds `length` bytes.
std::string field_head(std::uint32_t number, std::uint64_t length);

/// Field numbers of ONNX's messages, which never change.
inline constexpr std::uint32_t graph_field = 7, initializer_field = 5, raw_data_field = 9;

}  // namespace rulemill::optimize
