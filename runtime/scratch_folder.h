// A folder of a run's or a test's own, which goes away with what is in it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "runtime/error.h"

namespace rulemill::runtime {

class ScratchFolder {
 public:
  /// `beside`: where it is made. Throws IoError.
  explicit ScratchFolder(const std::filesystem::path& beside = std::filesystem::temp_directory_path()) {
    std::string name = (beside / ".rulemill-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw IoError(beside.string(), "no folder can be made there");
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
