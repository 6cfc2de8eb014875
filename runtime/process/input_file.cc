#include "runtime/process/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

class StorageError : public IoError {
 public:
  using IoError::IoError;
  int exit_code() const override { return 1; }
};

constexpr const char* unreadable = "cannot be read";

}  // namespace

void throw_io_error(const std::filesystem::path& path, const std::string& what, int error) {
  const std::string message = what + ": " + std::generic_category().message(error);
  for (const int of_machine : {ENOSPC, EDQUOT, EFBIG, EIO, ESTALE, EMFILE, ENFILE, ENOMEM})
    if (error == of_machine) throw StorageError(path.string(), message);
  throw IoError(path.string(), message);
}

// Without O_NONBLOCK, opening a pipe waits for a writer.
InputFile::InputFile(std::filesystem::path path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  struct stat status {};
  if (!file_.is_valid() || ::fstat(file_.get(), &status) != 0) throw_io_error(path_, unreadable, errno);
  if (S_ISDIR(status.st_mode)) throw_io_error(path_, unreadable, EISDIR);
  if (!S_ISREG(status.st_mode)) throw IoError(path_.string(), "cannot be read: it is not a regular file");
  size_ = static_cast<std::size_t>(status.st_size);
}

std::size_t InputFile::read(std::size_t offset, std::span<char> into) const {
  std::size_t used = 0;
  while (used < into.size()) {
    const ssize_t got = ::pread(file_.get(), into.data() + used, into.size() - used, static_cast<off_t>(offset + used));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_io_error(path_, unreadable, errno);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  return used;
}

std::string InputFile::read(std::size_t offset, std::size_t size) const {
  std::string bytes(size, '\0');
  bytes.resize(read(offset, std::span(bytes)));
  return bytes;
}

}  // namespace rulemill::runtime
