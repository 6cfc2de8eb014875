#include "runtime/files/cache_folder.h"

#include <spdlog/spdlog.h>

#include <cstdlib>

#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"

namespace rulemill::runtime {

std::filesystem::path cache_folder() {
  const auto non_empty = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
  };
  if (const char* cache = non_empty("RULEMILL_CACHE")) return cache;
  if (const char* user_cache = non_empty("XDG_CACHE_HOME")) return std::filesystem::path(user_cache) / "rulemill";
  if (const char* home = non_empty("HOME")) return std::filesystem::path(home) / ".cache" / "rulemill";
  return {};
}

std::filesystem::path writable_cache_folder() {
  std::filesystem::path folder = cache_folder();
  try {
    if (!folder.empty()) require_writable_folder(folder);
  } catch (const IoError& error) {
    spdlog::warn("{}; nothing is cached, see RULEMILL_CACHE", error.what());
    folder.clear();
  }
  return folder;
}

}  // namespace rulemill::runtime
