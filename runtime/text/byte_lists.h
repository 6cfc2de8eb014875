// Serialization of values, texts and lists: each is preceded by its length. Reading beyond the end throws Error.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/bytes.h"
#include "runtime/text/error.h"

namespace rulemill::runtime {

inline void append_bytes(Bytes& bytes, ByteView more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

inline void append_text(Bytes& bytes, std::string_view text) {
  append_value(bytes, static_cast<std::uint32_t>(text.size()));
  append_bytes(bytes, bytes_of(text));
}

/// Takes any range of texts.
template <class Texts>
void append_texts(Bytes& bytes, const Texts& texts) {
  append_value(bytes, std::uint64_t{std::size(texts)});
  for (const auto& text : texts) append_text(bytes, text);
}

template <class T>
void append_list(Bytes& bytes, const std::vector<T>& values) {
  append_value(bytes, std::uint64_t{values.size()});
  append_bytes(bytes, bytes_of(values));
}

/// The take functions remove what they return from the front of `bytes`.
inline ByteView take_bytes(ByteView& bytes, std::size_t size) {
  RM_CHECK(bytes.size() >= size, "bytes end early");
  const ByteView taken = bytes.first(size);
  bytes = bytes.subspan(size);
  return taken;
}

template <class T>
T take_value(ByteView& bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, take_bytes(bytes, sizeof value).data(), sizeof value);
  return value;
}

/// The result refers to the bytes.
inline std::string_view take_text(ByteView& bytes) {
  const auto size = take_value<std::uint32_t>(bytes);
  return text_of(take_bytes(bytes, size));
}

inline std::vector<std::string> take_texts(ByteView& bytes) {
  std::vector<std::string> texts;
  for (auto left = take_value<std::uint64_t>(bytes); left > 0; --left) texts.emplace_back(take_text(bytes));
  return texts;
}

template <class T>
std::vector<T> take_list(ByteView& bytes) {
  const auto count = take_value<std::uint64_t>(bytes);
  RM_CHECK(count <= bytes.size() / sizeof(T), "bytes end early");
  return values_of<T>(take_bytes(bytes, count * sizeof(T)));
}

inline void append_field(Bytes& bytes, const std::string& text) { append_text(bytes, text); }
inline void append_field(Bytes& bytes, const std::vector<std::string>& texts) { append_texts(bytes, texts); }
template <class T>
void append_field(Bytes& bytes, const T& value) {
  static_assert(!std::is_convertible_v<T, std::string_view>, "a text is a std::string");
  append_value(bytes, value);
}

inline void take_field(ByteView& bytes, std::string& text) { text = take_text(bytes); }
inline void take_field(ByteView& bytes, std::vector<std::string>& texts) { texts = take_texts(bytes); }
template <class T>
void take_field(ByteView& bytes, T& value) {
  value = take_value<T>(bytes);
}

/// Serializes texts, lists of texts and values, one after another.
template <class... Fields>
std::string pack_fields(const Fields&... fields) {
  Bytes bytes;
  (append_field(bytes, fields), ...);
  return std::string(text_of(bytes));
}

/// Reads what pack_fields() wrote.
template <class... Fields>
void unpack_fields(std::string_view packed, Fields&... fields) {
  ByteView rest = bytes_of(packed);
  (take_field(rest, fields), ...);
}

}  // namespace rulemill::runtime
