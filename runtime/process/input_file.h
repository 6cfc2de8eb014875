// A regular file that is read in parts. Pipes and devices, which may never end, are refused.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "runtime/process/descriptor.h"

namespace rulemill::runtime {

/// Throws IoError for an operation that failed with this errno; `what` is "cannot be read" or the like. A full disk, a
/// failing device or a limit of the system is no invalid input: the exit code is 1.
[[noreturn]] void throw_io_error(const std::filesystem::path& path, const std::string& what, int error);

class InputFile {
 public:
  /// Throws IoError if the file cannot be read or is not a regular file.
  explicit InputFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  /// Returns the size in bytes when the file was opened.
  std::size_t size() const { return size_; }
  /// Reads from this byte on until `into` is full or the file ends; returns the number of bytes. Throws IoError.
  std::size_t read(std::size_t offset, std::span<char> into) const;
  /// Returns `size` bytes from this byte on, or fewer at the end of the file. Throws IoError.
  std::string read(std::size_t offset, std::size_t size) const;

 private:
  std::filesystem::path path_;
  Descriptor file_;
  std::size_t size_ = 0;
};

}  // namespace rulemill::runtime
