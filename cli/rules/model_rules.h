// The rules that `optimize --discover` finds for a model: those of profiles of its costliest places, proved together.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "optimize/profiles/window_profiles.h"
#include "runtime/files/scratch_folder.h"

namespace rulemill::cli {

struct ModelRules {
  std::shared_ptr<const runtime::ScratchFolder> folder;
  std::filesystem::path database;  // in it; empty: no rule was found
  runtime::Json places;            // of the profiles, in their order: operators, cost and what was found
  std::size_t tried = 0, with_rules = 0;
  double seconds = 0;
};

/// Discovers the rules of one profile after the other, as long as the time allows, and proves those together that save
/// something at their examples. `on_step` receives each step as it begins.
ModelRules discover_model_rules(const std::vector<optimize::WindowProfile>& profiles, const Options& options,
                                double seconds, const std::function<void(const std::string& step)>& on_step);

}  // namespace rulemill::cli
