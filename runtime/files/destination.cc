#include "runtime/files/destination.h"

#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <string>
#include <system_error>

#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

namespace fs = std::filesystem;

constexpr int max_links = 40;

/// Returns N for an entry N of this process's folder of file descriptors, such as /proc/self/fd/N; otherwise -1.
int own_descriptor(const fs::path& link) {
  std::error_code error;
  const fs::path folder = fs::canonical(link.parent_path(), error);
  if (error || folder != "/proc/" + std::to_string(::getpid()) + "/fd") return -1;
  const std::string name = link.filename().string();
  int descriptor = -1;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), descriptor);
  return read.ec == std::errc() && read.ptr == name.data() + name.size() ? descriptor : -1;
}

}  // namespace

bool Destination::is_standard_output() const { return kind == Kind::Descriptor && descriptor == STDOUT_FILENO; }

Destination destination_of(const fs::path& given) {
  using Kind = Destination::Kind;
  if (given == "-") return {Kind::Descriptor, given, STDOUT_FILENO};
  fs::path path = given;
  for (int links = 0; links < max_links; ++links) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return {Kind::File, path};
    if (!S_ISLNK(status.st_mode)) {
      const bool replaceable = S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
      return {replaceable ? Kind::File : Kind::Stream, path};
    }
    if (const int descriptor = own_descriptor(path); descriptor >= 0) return {Kind::Descriptor, given, descriptor};
    std::error_code error;
    const fs::path next = fs::read_symlink(path, error);
    if (error) throw IoError(given.string(), "cannot be written: " + error.message());
    path = path.parent_path() / next;
  }
  throw IoError(given.string(), "cannot be written: " + std::generic_category().message(ELOOP));
}

fs::path canonical_place(const fs::path& path) {
  std::error_code error;
  fs::path place = fs::weakly_canonical(fs::absolute(path), error);
  return error ? fs::absolute(path) : place;
}

bool is_same_file(const Destination& a, const Destination& b) {
  if (a.kind != Destination::Kind::File || b.kind != Destination::Kind::File) return false;
  struct stat first {
  }, second{};
  const bool first_exists = ::stat(a.path.c_str(), &first) == 0, second_exists = ::stat(b.path.c_str(), &second) == 0;
  if (first_exists != second_exists) return false;
  if (first_exists) return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  return canonical_place(a.path) == canonical_place(b.path);
}

}  // namespace rulemill::runtime
