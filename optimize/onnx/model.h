// An ONNX model as it is in its file, of any IR version and opset: what is not known here is kept byte for byte.
// Reading checks its structure; large weights stay mapped; writing is atomic.
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

  /// External data are looked for beside the file. Throws InputError: unreadable, not ONNX, or wrong by its structure.
  static OnnxModel read(const std::filesystem::path& path);
  /// `origin` names the bytes in messages; `folder` is where external data would be.
  static OnnxModel parse(std::string_view bytes, const std::string& origin, const std::filesystem::path& folder = {});

  /// Of the default operator set.
  int opset() const;
  /// Bytes of all initializers.
  std::uint64_t weight_bytes() const;
  const std::string& origin() const;

  /// Throws InputError if the structure is wrong.
  void check() const;
  /// Serialized, all data inside.
  std::string serialize() const;
  /// Initializers go into one file beside the model, "NAME.data", if they were in one before or together exceed
  /// `inline_limit` bytes, since a protobuf cannot exceed 2 GB. Throws IoError, and UsageError if that file is the
  /// model's own; leaves no part of a model under the final name.
  void write(const std::filesystem::path& path, std::uint64_t inline_limit = default_inline_limit) const;
  /// The bytes that were read; external data go into one file as above.
  void write_as_read(const std::filesystem::path& path) const;
  static constexpr std::uint64_t default_inline_limit = 1'900'000'000;

  Proto& proto() { return *proto_; }
  const Proto& proto() const { return *proto_; }

 private:
  std::unique_ptr<Proto> proto_;
};

}  // namespace rulemill::optimize
