#include "runtime/cache_folder.h"

#include <cstdlib>

namespace rulemill::runtime {

std::filesystem::path cache_folder() {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
  };
  if (const char* own = set("RULEMILL_CACHE")) return own;
  if (const char* users = set("XDG_CACHE_HOME")) return std::filesystem::path(users) / "rulemill";
  if (const char* home = set("HOME")) return std::filesystem::path(home) / ".cache" / "rulemill";
  return {};
}

}  // namespace rulemill::runtime
