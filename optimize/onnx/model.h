// An ONNX model as it is in its file. Reading checks it (one InputError for a truncated, foreign or unsupported file);
// writing checks it again and is atomic.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace rulemill::optimize {

class OnnxModel {
 public:
  struct Proto;  // the protobuf: model_proto.h, for this folder alone

  OnnxModel();
  OnnxModel(const OnnxModel& other);
  OnnxModel(OnnxModel&&) noexcept;
  OnnxModel& operator=(OnnxModel&&) noexcept;
  ~OnnxModel();

  /// External data beside the file is read into memory. Throws InputError: unreadable, not ONNX, an IR version or opset
  /// newer than this build's ONNX library knows, or refused by the ONNX checker.
  static OnnxModel read(const std::filesystem::path& path);
  /// `origin` names the bytes in messages; `folder` is where external data would be.
  static OnnxModel parse(std::string_view bytes, const std::string& origin, const std::filesystem::path& folder = {});

  /// Of the default operator set.
  int opset() const;
  /// Bytes of all initializers.
  std::uint64_t weight_bytes() const;
  const std::string& origin() const;

  /// Runs the ONNX checker. Throws Error.
  void check() const;
  /// Serialized, all data inside.
  std::string serialize() const;
  /// Initializers go into one file beside the model, "NAME.data", if together they exceed `inline_limit` bytes, since a
  /// protobuf cannot exceed 2 GB. Throws IoError; leaves no part of a model under the final name.
  void write(const std::filesystem::path& path, std::uint64_t inline_limit = default_inline_limit) const;
  static constexpr std::uint64_t default_inline_limit = 1'900'000'000;

  Proto& proto() { return *proto_; }
  const Proto& proto() const { return *proto_; }

 private:
  std::unique_ptr<Proto> proto_;
};

}  // namespace rulemill::optimize
