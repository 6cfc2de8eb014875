// An ONNX model of any IR version and opset. Unknown content is preserved byte for byte. Reading validates the
// structure and maps large weights; writing is atomic.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rulemill::optimize {

/// Returns the version, such as "1.12.0".
std::string onnx_library_version();

struct OnnxModelProto;  // the protobuf, in model_proto.h; for optimize/onnx only

class OnnxModel {
 public:
  using Proto = OnnxModelProto;

  OnnxModel();
  OnnxModel(const OnnxModel& other);
  OnnxModel(OnnxModel&&) noexcept;
  OnnxModel& operator=(OnnxModel&&) noexcept;
  ~OnnxModel();

  /// Reads a model and its external data from the same folder. Throws InputError if it is no well-formed ONNX model.
  static OnnxModel read(const std::filesystem::path& path);
  /// Parses a model. `origin` is its name in messages; `folder` contains its external data.
  static OnnxModel parse(std::string_view bytes, const std::string& origin, const std::filesystem::path& folder = {});

  /// Returns the version of the default operator set.
  int opset() const;
  /// Returns the domains of operators that the model declares, except ONNX's own.
  std::set<std::string> domains() const;
  std::vector<std::string> input_names() const;
  /// Declares a domain in its first version, unless it is declared or ONNX's own.
  void require_domain(const std::string& domain);
  /// Returns the total size of all initializers.
  std::uint64_t weight_bytes() const;
  const std::string& origin() const;
  /// Returns the files that contain external data of the model that was read.
  const std::vector<std::filesystem::path>& external_files() const;
  /// Returns a hash of the file that was read, without external data.
  std::string digest() const;
  /// Sets an entry of the model's metadata.
  void set_metadata(const std::string& key, const std::string& value);

  /// Throws InputError if the model is malformed.
  void check() const;
  /// Serializes the model, including all data.
  std::string serialize() const;
  /// Writes the model. Initializers go to one external file, "NAME.data", if they were external or exceed
  /// `inline_limit` bytes in total, because a protobuf is limited to 2 GB; never of a
  /// stream (runtime/files/destination.h). Throws IoError, and UsageError if that file
  /// contains the model's own weights; leaves no partial model under the final name.
  void write(const std::filesystem::path& path, std::uint64_t inline_limit = default_inline_limit) const;
  /// Writes the bytes that were read; external data are written as above.
  void write_as_read(const std::filesystem::path& path) const;
  static constexpr std::uint64_t default_inline_limit = 1'900'000'000;

  Proto& proto() { return *proto_; }
  const Proto& proto() const { return *proto_; }

 private:
  std::unique_ptr<Proto> proto_;
};

}  // namespace rulemill::optimize
