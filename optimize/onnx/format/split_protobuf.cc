#include "optimize/onnx/format/split_protobuf.h"

#include <cstdint>

namespace rulemill::optimize {
namespace {

/// Smaller data stay in the message.
constexpr std::size_t min_split_bytes = 4096;

/// A field of a message: number, content if length-delimited, and all bytes including the header.
struct Field {
  std::uint64_t number = 0;
  bool delimited = false;
  std::string_view content, whole;
};

std::optional<std::uint64_t> read_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(rest.front());
    rest.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80U) == 0) return value;
  }
  return std::nullopt;
}

std::optional<Field> read_field(std::string_view& rest) {
  const std::string_view begin = rest;
  const auto tag = read_varint(rest);
  if (!tag) return std::nullopt;
  Field field;
  field.number = *tag >> 3;
  std::uint64_t length = 0;
  switch (*tag & 7) {
    case 0:
      if (!read_varint(rest)) return std::nullopt;
      break;
    case 1:
      length = 8;
      break;
    case 2: {
      const auto prefix = read_varint(rest);
      if (!prefix) return std::nullopt;
      length = *prefix;
      field.delimited = true;
      break;
    }
    case 5:
      length = 4;
      break;
    default:
      return std::nullopt;  // groups, which ONNX does not use
  }
  if (length > rest.size()) return std::nullopt;
  field.content = rest.substr(0, length);
  rest.remove_prefix(length);
  field.whole = begin.substr(0, begin.size() - rest.size());
  return field;
}

/// Copies a message. `visit` returns the replacement of a length-delimited field, or nullopt to keep it.
template <typename Visit>
bool rewrite(std::string_view message, std::string& out, Visit visit) {
  while (!message.empty()) {
    const auto field = read_field(message);
    if (!field) return false;
    bool failed = false;
    std::optional<std::string> replacement = field->delimited ? visit(*field, failed) : std::nullopt;
    if (failed) return false;
    if (replacement) {
      out += *replacement;
    } else {
      out += field->whole;
    }
  }
  return true;
}

class Splitter {
 public:
  std::optional<SplitModel> run(std::string_view bytes) {
    bool whole = rewrite(bytes, result_.message, [&](const Field& field, bool& failed) -> std::optional<std::string> {
      if (field.number != graph_field) return std::nullopt;
      failed = graphs_++ > 0;
      return failed ? std::nullopt : graph(field.content, failed);
    });
    if (!whole) return std::nullopt;
    return std::move(result_);
  }

 private:
  std::optional<std::string> graph(std::string_view content, bool& failed) {
    std::string message;
    failed = !rewrite(content, message, [&](const Field& field, bool& inner_failed) -> std::optional<std::string> {
      if (field.number != initializer_field) return std::nullopt;
      return initializer(field.content, inner_failed);
    });
    return field_header(graph_field, message.size()) + message;
  }

  std::optional<std::string> initializer(std::string_view content, bool& failed) {
    const std::size_t number = initializers_++;
    std::string message;
    std::string_view data;
    failed = !rewrite(content, message, [&](const Field& field, bool&) -> std::optional<std::string> {
      if (field.number != raw_data_field || field.content.size() < min_split_bytes) return std::nullopt;
      data = field.content;
      return "";
    });
    if (!data.empty()) result_.data.push_back({number, data});
    return field_header(initializer_field, message.size()) + message;
  }

  SplitModel result_;
  std::size_t graphs_ = 0, initializers_ = 0;
};

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80U));
  out.push_back(static_cast<char>(value));
}

}  // namespace

std::string field_header(std::uint32_t number, std::uint64_t length) {
  std::string header;
  append_varint(header, number << 3 | 2U);
  append_varint(header, length);
  return header;
}

std::optional<SplitModel> split_model(std::string_view bytes) { return Splitter().run(bytes); }

}  // namespace rulemill::optimize
