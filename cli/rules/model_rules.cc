#include "cli/rules/model_rules.h"

#include <fmt/format.h>

#include "cli/rules/default_rules.h"
#include "prove/generalize_rules.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/json_file.h"

namespace rulemill::cli {
namespace {

namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;

/// Of the time: for the profiles, the rest being for the rules of all; and for one of them.
constexpr double share_of_profiles = 0.6, share_of_profile = 0.25;

std::chrono::milliseconds to_timeout(Seconds time) {
  return std::max(std::chrono::milliseconds(1), std::chrono::duration_cast<std::chrono::milliseconds>(time));
}

bool has_rules(const fs::path& run) {
  return runtime::read_json(run / "funnel.json").at("funnel").value("valid rules", std::uint64_t{0}) > 0;
}

}  // namespace

ModelRules discover_model_rules(const std::vector<optimize::WindowProfile>& profiles, const fs::path& definitions,
                                Seconds time, const fs::path& folder,
                                const std::function<void(const std::string& step)>& on_step) {
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return Seconds(std::chrono::steady_clock::now() - begin); };
  ModelRules found;
  found.given = profiles.size();
  const fs::path chosen = folder / "found", run = folder / "run";
  fs::create_directories(chosen);
  for (const optimize::WindowProfile& profile : profiles) {
    const Seconds left = time * share_of_profiles - passed();
    if (left <= Seconds(0)) break;
    on_step(fmt::format("discovering rules of place {} of {}", ++found.tried, profiles.size()));
    const std::string name = fmt::format("place{}", found.tried);
    const fs::path file = folder / (name + ".toml"), own = run / "profiles" / name;
    runtime::write_file(file, fmt::format("name = \"{}\"\n{}", name, profile.text));
    const std::string failure =
        run_discovery(file, definitions, own, "none", to_timeout(std::min(left, time * share_of_profile)));
    if (failure.empty() && has_rules(own)) {
      fs::rename(file, chosen / file.filename());
      ++found.profiles;
    } else {
      fs::remove_all(own);
    }
  }
  if (found.profiles > 0) {
    on_step("proving the rules of all places");
    if (run_discovery(chosen, definitions, run, "all", to_timeout(time - passed())).empty())
      found.database = run / prove::rules_file;
  }
  found.seconds = passed().count();
  return found;
}

}  // namespace rulemill::cli
