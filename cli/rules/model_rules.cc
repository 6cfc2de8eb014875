#include "cli/rules/model_rules.h"

#include <fmt/format.h>

#include "cli/rules/default_rules.h"
#include "prove/generalize_rules.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/json_file.h"
#include "runtime/process/stopwatch.h"

namespace rulemill::cli {
namespace {

/// Of the time: for the profiles, the rest being for the rules of all; and for one of them.
constexpr double share_of_profiles = 0.6, share_of_profile = 0.25;

bool has_rules(const std::filesystem::path& run) {
  return runtime::read_json(run / "funnel.json").at("funnel").value("valid rules", std::uint64_t{0}) > 0;
}

}  // namespace

ModelRules discover_model_rules(const std::vector<optimize::WindowProfile>& profiles,
                                const std::filesystem::path& definitions, double seconds,
                                const std::function<void(const std::string& step)>& on_step) {
  const runtime::Stopwatch watch;
  ModelRules found{std::make_shared<const runtime::ScratchFolder>(), {}, profiles.size(), 0, 0, 0};
  const std::filesystem::path folder = found.folder->path();
  const std::filesystem::path chosen = folder / "found", run = folder / "run";
  std::filesystem::create_directories(chosen);
  for (const optimize::WindowProfile& profile : profiles) {
    const double left = seconds * share_of_profiles - watch.seconds();
    if (left <= 0) break;
    on_step(fmt::format("discovering rules of place {} of {}", ++found.tried, profiles.size()));
    const std::string name = fmt::format("place{}", found.tried);
    const std::filesystem::path file = folder / (name + ".toml"), own = run / "profiles" / name;
    runtime::write_file(file, fmt::format("name = \"{}\"\n{}", name, profile.text));
    const bool is_done =
        run_discovery(file, definitions, own, "none", std::min(left, seconds * share_of_profile)).empty();
    if (is_done && has_rules(own)) {
      std::filesystem::rename(file, chosen / file.filename());
      ++found.with_rules;
    } else {
      std::filesystem::remove_all(own);
    }
  }
  if (found.with_rules > 0) {
    on_step("proving the rules of all places");
    if (run_discovery(chosen, definitions, run, "all", seconds - watch.seconds()).empty())
      found.database = run / prove::rules_file;
  }
  found.seconds = watch.seconds();
  return found;
}

}  // namespace rulemill::cli
