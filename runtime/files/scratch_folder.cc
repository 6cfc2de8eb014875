#include "runtime/files/scratch_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

namespace fs = std::filesystem;

constexpr const char* name_prefix = ".rulemill-";
constexpr std::time_t min_age = 60;  // seconds; a newer folder may not be locked yet

std::unique_ptr<const Descriptor> lock(const fs::path& folder) {
  auto opened =
      std::make_unique<const Descriptor>(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return opened->is_valid() && ::flock(opened->get(), LOCK_EX | LOCK_NB) == 0 ? std::move(opened) : nullptr;
}

/// Whether the folder is this user's, old enough, and locked by no program.
bool is_abandoned(const fs::path& folder) {
  const auto locked = lock(folder);
  struct stat found {};
  return locked != nullptr && ::fstat(locked->get(), &found) == 0 && found.st_uid == ::geteuid() &&
         std::time(nullptr) - found.st_mtime >= min_age;
}

void remove_abandoned_folders(const fs::path& parent) {
  std::error_code ignored;
  for (fs::directory_iterator at(parent, ignored), end; at != end; at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(name_prefix) && is_abandoned(at->path())) fs::remove_all(at->path(), ignored);
  }
}

}  // namespace

ScratchFolder::ScratchFolder(const fs::path& parent) {
  remove_abandoned_folders(parent);
  std::string name = (parent / name_prefix).string() + "XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw IoError(parent.string(), "cannot create a folder in it");
  path_ = name;
  lock_ = lock(path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace rulemill::runtime
