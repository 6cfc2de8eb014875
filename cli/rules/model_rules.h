// The rules that `optimize --discover` finds for a model: those of profiles of its costliest places, proved together.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "optimize/search/window_profiles.h"

namespace rulemill::cli {

struct ModelRules {
  std::filesystem::path database;  // empty: no rule was found
  std::size_t profiles = 0;        // with rules
  std::size_t tried = 0, given = 0;
  double seconds = 0;
};

/// Discovers the rules of one profile after the other, as long as the time allows, and proves them together. Files are
/// made in `folder`. `on_step` receives each step as it begins.
ModelRules discover_model_rules(const std::vector<optimize::WindowProfile>& profiles,
                                const std::filesystem::path& definitions, std::chrono::duration<double> time,
                                const std::filesystem::path& folder,
                                const std::function<void(const std::string& step)>& on_step);

}  // namespace rulemill::cli
