// A temporary folder that is removed with its content when destroyed.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "runtime/text/error.h"

namespace rulemill::runtime {

class ScratchFolder {
 public:
  /// Throws IoError.
  explicit ScratchFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / ".rulemill-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw IoError(parent.string(), "cannot create a folder in it");
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace rulemill::runtime
