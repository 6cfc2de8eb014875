#include "runtime/process/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw IoError(path.string(), "cannot be read: " + std::generic_category().message(error));
}

}  // namespace

// Without O_NONBLOCK, opening a pipe waits for a writer.
InputFile::InputFile(std::filesystem::path path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  struct stat status {};
  if (!file_.is_valid() || ::fstat(file_.get(), &status) != 0) fail(path_, errno);
  if (S_ISDIR(status.st_mode)) fail(path_, EISDIR);
  if (!S_ISREG(status.st_mode)) throw IoError(path_.string(), "cannot be read: it is not a regular file");
  size_ = static_cast<std::size_t>(status.st_size);
}

std::size_t InputFile::read(std::size_t offset, std::span<char> into) const {
  std::size_t used = 0;
  while (used < into.size()) {
    const ssize_t got = ::pread(file_.get(), into.data() + used, into.size() - used, static_cast<off_t>(offset + used));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, errno);
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
