// A temporary folder that is removed with its content when destroyed. If its program is killed, the next scratch folder
// in the same place removes it: a scratch folder is locked while it is used.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "runtime/process/descriptor.h"

namespace rulemill::runtime {

class ScratchFolder {
 public:
  /// Throws IoError.
  explicit ScratchFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
  std::unique_ptr<const Descriptor> lock_;
};

}  // namespace rulemill::runtime
