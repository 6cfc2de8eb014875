#include "runtime/mpi/abandoned_segments.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace rulemill::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> name_prefixes{"vader_segment.", "sm_segment."};  // of Open MPI 4 and 5
constexpr std::time_t min_age = 600;                                                       // seconds

bool is_old_segment(const fs::path& file) {
  const std::string name = file.filename().string();
  struct stat found {};
  return std::ranges::any_of(name_prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); }) &&
         ::lstat(file.c_str(), &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == ::geteuid() &&
         std::time(nullptr) - found.st_mtime >= min_age;
}

/// The files that the processes of this user have mapped, as /proc lists them.
std::string mapped_files() {
  std::string result;
  std::error_code ignored;
  for (fs::directory_iterator at("/proc", ignored), end; at != end; at.increment(ignored)) {
    try {
      std::ifstream maps(at->path() / "maps");
      result.append(std::istreambuf_iterator<char>(maps), {});
    } catch (const std::ios_base::failure&) {  // the process has ended since it was listed
    }
  }
  return result;
}

}  // namespace

void remove_abandoned_segments(const fs::path& folder) {
  std::vector<fs::path> old;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; at != end; at.increment(ignored)) {
    if (is_old_segment(at->path())) old.push_back(at->path());
  }
  if (old.empty()) return;
  const std::string mapped = mapped_files();
  for (const fs::path& file : old) {
    if (mapped.find(file.string()) == std::string::npos) fs::remove(file, ignored);
  }
}

}  // namespace rulemill::runtime
