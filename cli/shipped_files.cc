#include "cli/shipped_files.h"

#include <cstdlib>

#include "runtime/process/subprocess.h"
#include "runtime/text/error.h"

namespace rulemill::cli {
namespace {

/// The folder of data files near the program; empty if there is none.
std::filesystem::path data_near_program() {
  auto folder = runtime::current_executable().parent_path();
  for (int up = 0; up < 4 && folder.has_relative_path(); ++up, folder = folder.parent_path()) {
    for (const char* place : {"data", "share/rulemill"}) {
      if (std::filesystem::is_directory(folder / place / "operators")) return folder / place;
    }
  }
  return {};
}

}  // namespace

std::filesystem::path data_folder() {
  if (const char* given = std::getenv("RULEMILL_DATA")) return given;
  if (const auto found = data_near_program(); !found.empty()) return found;
  throw runtime::UsageError("--definitions", "no operator definitions near " + runtime::current_executable().string() +
                                                 "; give --definitions DIR or set RULEMILL_DATA");
}

std::filesystem::path shipped_folder(const std::string& name) {
  for (const std::filesystem::path& data : {data_folder(), data_near_program()}) {
    for (const std::filesystem::path& place : {data / name, data.parent_path() / name}) {
      if (!data.empty() && std::filesystem::is_directory(place)) return place;
    }
  }
  return data_folder().parent_path() / name;
}

}  // namespace rulemill::cli
