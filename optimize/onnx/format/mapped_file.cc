#include "optimize/onnx/format/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "runtime/text/error.h"

namespace rulemill::optimize {

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path, const std::string& place) {
  const std::string name = path.string() == place ? "" : path.string() + " ";
  auto fail = [&](int error) {
    throw runtime::InputError(place, name + "cannot be read: " + std::generic_category().message(error));
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) fail(errno);
  struct stat status {};
  const bool known = ::fstat(descriptor, &status) == 0;
  const int error = errno;
  const bool regular = known && S_ISREG(status.st_mode);
  const auto size = static_cast<std::size_t>(regular ? status.st_size : 0);
  void* data = size > 0 ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0) : nullptr;
  const int map_error = errno;
  ::close(descriptor);
  if (!known) fail(error);
  if (!regular) throw runtime::InputError(place, name + "is not a regular file");
  if (data == MAP_FAILED) fail(map_error);
  return std::shared_ptr<const MappedFile>(new MappedFile(path, data, size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace rulemill::optimize
