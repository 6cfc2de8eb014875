// Whole files, written so that a reader sees either the old content or the new, never a part: temporary name beside the
// final one, fsync, rename, fsync of the folder. A failure says which file and why, and leaves no temporary behind.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "runtime/bytes.h"
#include "runtime/error.h"

namespace rulemill::runtime {

/// There is no room: a full disk, a quota, a limit on the size of files. Nothing that the user gave is wrong, and what
/// is done stays.
class NoSpaceError : public IoError {
 public:
  using IoError::IoError;
  int exit_code() const override { return 1; }
};

/// Throws IoError (permissions, a target that is no regular file), NoSpaceError.
void write_file(const std::filesystem::path& path, ByteView bytes);
void write_file(const std::filesystem::path& path, std::string_view text);
/// The pieces, one after the other.
void write_file(const std::filesystem::path& path, std::span<const ByteView> pieces);

/// Throws what writing to `path` means when it failed with this errno.
[[noreturn]] void throw_write_error(const std::filesystem::path& path, int error);

/// Throws IoError if the file cannot be read or is not a regular one: a pipe or a device may never end.
std::string read_file(const std::filesystem::path& path);

/// Makes the folder and its parents and shows that a file can be written in it. Throws IoError.
void require_writable_folder(const std::filesystem::path& folder);

/// Holds an output folder for one run: a second run in the same folder is refused with an Error. Released when
/// destroyed.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace rulemill::runtime
