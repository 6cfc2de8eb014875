// Atomic writing: a reader sees the old content or the new. Writes a temporary file in the same folder, then sync,
// rename, sync of the folder; removes it on failure. Follows links, and writes to devices and pipes (destination.h).
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "runtime/text/bytes.h"
#include "runtime/text/error.h"

namespace rulemill::runtime {

/// Throws IoError.
void write_file(const std::filesystem::path& path, ByteView bytes);
void write_file(const std::filesystem::path& path, std::string_view text);
/// Writes the concatenation of the chunks.
void write_file(const std::filesystem::path& path, std::span<const ByteView> chunks);

/// Whether this process waits until files are on storage, which some file systems take many milliseconds for (default:
/// true). Otherwise a crash of the machine may lose what was written; the end of the process does not.
void set_file_sync(bool on);
/// Waits until what was written to the file is on storage. Returns 0, or errno.
int sync_file(int descriptor);

/// Throws the error for a write to `path` that failed with this errno.
[[noreturn]] void throw_write_error(const std::filesystem::path& path, int error);

/// Throws IoError if the file cannot be read or is not a regular file: a pipe or a device may never end.
std::string read_file(const std::filesystem::path& path);

/// Creates the folder and its parents. Throws IoError if no file can be written in it.
void require_writable_folder(const std::filesystem::path& folder);

/// A lock on an output folder. The constructor throws Error if another run holds the lock.
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
