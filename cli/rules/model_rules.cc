#include "cli/rules/model_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/rules/default_rules.h"
#include "cli/rules/rule_database.h"
#include "cli/rules/rule_gain.h"
#include "prove/generalize_rules.h"
#include "runtime/files/atomic_file.h"
#include "runtime/process/stopwatch.h"

namespace rulemill::cli {
namespace {

/// Of the time: for the profiles, the rest being for the rules of all; and for one of them.
constexpr double share_of_profiles = 0.6, share_of_profile = 0.25;

/// Returns whether a rule of the run saves a part of the cost. All others only lead to larger searches.
bool has_gain(const std::filesystem::path& run, Terms& terms) {
  constexpr double min_gain = 0.02;
  const algebra::RuleSet found =
      algebra::load_rule_set(run / prove::rules_file, terms.library, terms.bank, terms.symbols);
  return std::ranges::any_of(found.rules, [&](const algebra::RuleRecord& record) {
    const auto cost = cost_at_example(record, terms.bank, terms.symbols);
    return cost && cost->gain() >= min_gain && (record.reversible || cost->target < cost->source);
  });
}

}  // namespace

ModelRules discover_model_rules(const std::vector<optimize::WindowProfile>& profiles, const Options& options,
                                double seconds, const std::function<void(const std::string& step)>& on_step) {
  const runtime::Stopwatch watch;
  const std::filesystem::path definitions = definitions_folder(options);
  Terms terms(options);
  ModelRules found{std::make_shared<const runtime::ScratchFolder>(), {}, runtime::Json::array(), 0, 0, 0};
  const std::filesystem::path folder = found.folder->path();
  const std::filesystem::path chosen = folder / "found", run = folder / "run";
  std::filesystem::create_directories(chosen);
  for (const optimize::WindowProfile& profile : profiles) {
    found.places.push_back({{"operators", profile.operators}, {"seconds", profile.seconds}, {"result", "not tried"}});
    const double left = seconds * share_of_profiles - watch.seconds();
    if (left <= 0) continue;
    on_step(fmt::format("discovering rules of place {} of {}", ++found.tried, profiles.size()));
    const std::string name = fmt::format("place{}", found.tried);
    const std::filesystem::path file = folder / (name + ".toml"), own = run / "profiles" / name;
    runtime::write_file(file, fmt::format("name = \"{}\"\n{}", name, profile.text));
    const bool is_done =
        run_discovery(file, definitions, own, "none", std::min(left, seconds * share_of_profile)).empty();
    const bool is_useful = is_done && has_gain(own, terms);
    found.places.back()["result"] = !is_done ? "time limit" : is_useful ? "rules" : "no rule that saves";
    if (is_useful) {
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
