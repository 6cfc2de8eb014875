#include "runtime/files/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "runtime/files/destination.h"
#include "runtime/process/descriptor.h"
#include "runtime/process/input_file.h"
#include "runtime/process/interrupt.h"

namespace rulemill::runtime {
namespace {

std::atomic<bool> syncs_files = true;

bool write_all(int descriptor, std::span<const ByteView> chunks) {
  for (ByteView bytes : chunks) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }
  return true;
}

/// Makes a rename durable. Some file systems cannot sync a folder; that is not an error.
void sync_folder(const std::filesystem::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.is_valid()) sync_file(descriptor.get());
}

/// Writes to a device or pipe. Opening a pipe waits for a reader.
void write_stream(const std::filesystem::path& path, std::span<const ByteView> chunks) {
  int opened = -1;
  while ((opened = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY)) < 0 && errno == EINTR)
    throw_if_interrupted(path.string());
  Descriptor stream(opened);
  if (!stream.is_valid() || !write_all(stream.get(), chunks) || !stream.close()) throw_write_error(path, errno);
}

/// Replaces a file atomically.
void replace_file(const std::filesystem::path& path, std::span<const ByteView> chunks) {
  std::filesystem::path partial = path;
  partial += ".partial";
  const auto fail = [&](int error) {
    ::unlink(partial.c_str());
    throw_write_error(path, error);
  };
  Descriptor file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file.is_valid()) throw_write_error(path, errno);
  if (!write_all(file.get(), chunks)) fail(errno);
  if (const int error = sync_file(file.get()); error != 0) fail(error);
  if (!file.close()) fail(errno);
  if (::rename(partial.c_str(), path.c_str()) != 0) fail(errno);
  sync_folder(path.has_parent_path() ? path.parent_path() : ".");
}

}  // namespace

void set_file_sync(bool on) { syncs_files = on; }

int sync_file(int descriptor) {
  if (!syncs_files) return 0;
  return ::fsync(descriptor) == 0 ? 0 : errno;
}

void throw_write_error(const std::filesystem::path& path, int error) {
  throw_io_error(path, "cannot be written", error);
}

void write_file(const std::filesystem::path& path, ByteView bytes) { write_file(path, std::span(&bytes, 1)); }

void write_file(const std::filesystem::path& path, std::span<const ByteView> chunks) {
  const Destination to = destination_of(path);
  switch (to.kind) {
    case Destination::Kind::File:
      return replace_file(to.path, chunks);
    case Destination::Kind::Stream:
      return write_stream(to.path, chunks);
    case Destination::Kind::Descriptor:
      std::fflush(stdout);  // earlier output comes first
      if (!write_all(to.descriptor, chunks)) throw_write_error(path == "-" ? "standard output" : path, errno);
      return;
  }
}

void write_file(const std::filesystem::path& path, std::string_view text) { write_file(path, bytes_of(text)); }

std::string read_file(const std::filesystem::path& path) {
  const InputFile file(path);
  // One byte more than the file's size, so that the read that meets the end does not resize the buffer.
  std::string text(file.size() + 1, '\0');
  for (std::size_t used = 0;;) {
    used += file.read(used, std::span(text).subspan(used));
    if (used < text.size()) {
      text.resize(used);
      return text;
    }
    text.resize(2 * used);
  }
}

void require_writable_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw IoError(folder.string(), "cannot create the folder: " + error.message());
  if (!std::filesystem::is_directory(folder, error)) throw IoError(folder.string(), "is not a folder");
  std::string name = (folder / ".probe-XXXXXX").string();
  const Descriptor probe(::mkstemp(name.data()));
  if (!probe.is_valid()) throw_io_error(folder, "cannot write to the folder", errno);
  ::unlink(name.c_str());
}

FolderLock::FolderLock(const std::filesystem::path& folder) {
  require_writable_folder(folder);
  const auto path = folder / ".lock";
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw_write_error(path, errno);
  // On a file system without locks (ENOLCK, ENOTSUP), the folder is used without a lock.
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(descriptor_);
    throw Error(folder.string(), "another run is writing to this folder; wait for it, or choose another --out");
  }
}

FolderLock::~FolderLock() { ::close(descriptor_); }

}  // namespace rulemill::runtime
