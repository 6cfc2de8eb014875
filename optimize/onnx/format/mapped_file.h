// A memory-mapped regular file; a model's weights are read from it without copying.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace rulemill::optimize {

class MappedFile {
 public:
  /// Throws InputError(place, …) if the file does not exist, cannot be read, or is not a regular file, such as a pipe.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path, const std::string& place);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile(std::filesystem::path path, void* data, std::size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}
  std::filesystem::path path_;
  void* data_ = nullptr;  // null for an empty file, which cannot be mapped
  std::size_t size_ = 0;
};

}  // namespace rulemill::optimize
