// Byte buffers for messages, files and pipes, and typed views of them.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rulemill::runtime {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

inline ByteView bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

/// Views the memory of a vector, array or span of trivially copyable values.
template <class Range>
requires(!std::is_convertible_v<Range, std::string_view>) ByteView bytes_of(const Range& values) {
  static_assert(std::is_trivially_copyable_v<std::remove_cvref_t<decltype(*std::data(values))>>);
  return std::as_bytes(std::span(std::data(values), std::size(values)));
}

inline std::vector<ByteView> views_of(const std::vector<std::string>& texts) {
  std::vector<ByteView> views;
  for (const std::string& text : texts) views.push_back(bytes_of(text));
  return views;
}

inline Bytes copy_bytes(ByteView view) { return Bytes(view.begin(), view.end()); }
inline std::string_view text_of(ByteView view) { return {reinterpret_cast<const char*>(view.data()), view.size()}; }

/// Appends the memory of one trivially copyable value.
template <class T>
void append_value(Bytes& bytes, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto view = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), view.begin(), view.end());
}

/// Copies as many values as the bytes hold; ignores an incomplete last one.
template <class T>
std::vector<T> values_of(ByteView bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace rulemill::runtime
