#include "pipeline/run.h"

#include <algorithm>
#include <new>

#include "enumerate/profile/profile_reader.h"
#include "runtime/process/log.h"
#include "runtime/process/machine.h"
#include "runtime/text/error.h"

namespace rulemill::pipeline {
namespace {

/// Stages that each profile of a folder runs by itself; the others run on the candidates of all profiles.
constexpr std::size_t stages_per_profile = 2;
/// The last stage runs only on the rules of all profiles: general forms are not needed to order the candidates.
constexpr std::size_t stages_for_order = stages.size() - 1;

struct StageRange {
  std::size_t first = 0, end = 0, last = 0;
  bool only_last = false;  // the stages before `last` must be finished
};

void run_stage(Discovery& discovery, const StageStep& stage) {
  runtime::log_event("stage", {{"stage", stage.name}});
  try {
    (discovery.*stage.run)();
  } catch (const std::bad_alloc&) {
    throw runtime::Error(stage.name, "out of memory (" + runtime::describe_memory() +
                                         "); finished work is kept: run the same command again with more memory, or "
                                         "with --memory and more ranks");
  }
}

void run_stages(Discovery& discovery, const StageRange& range) {
  for (std::size_t s = range.first; s < range.end; ++s) {
    if (range.only_last && s < range.last) discovery.require_finished(stages[s].name);
    run_stage(discovery, stages[s]);
  }
}

std::vector<std::filesystem::path> profiles_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> profiles;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".toml") profiles.push_back(entry.path());
  }
  if (profiles.empty()) throw runtime::InputError(folder.string(), "has no profile; expected *.toml");
  std::ranges::sort(profiles);
  return profiles;
}

/// Runs the profiles one after the other. If the candidates of all are to be proved, each profile also proves and
/// prunes its own: merge_profiles() puts its core first.
std::vector<Discovery::ProfileRun> run_profiles(const runtime::Communicator& world, const Options& options,
                                                StageRange range, Observer& observer) {
  range.end = std::min(range.last + 1, stages_per_profile);
  std::vector<Discovery::ProfileRun> runs;
  for (const std::filesystem::path& profile : profiles_in(options.profile)) {
    Options own = options;
    own.profile = profile;
    own.out = options.out / "profiles" / profile.stem();
    Discovery discovery(world, own, observer.begin_profile(profile));
    discovery.check_inputs(!range.only_last || range.last == 0);
    run_stages(discovery, range);
    runs.push_back(discovery.profile_run());
    if (range.last >= stages_per_profile) run_stages(discovery, {stages_per_profile, stages_for_order, 0, false});
    runtime::log_event("end");
    observer.profile_ended(profile, runs.back().funnel.back());
  }
  return runs;
}

void run_folder(const runtime::Communicator& world, const Options& options, StageRange range, Observer& observer) {
  const std::vector<Discovery::ProfileRun> runs = run_profiles(world, options, range, observer);
  if (range.last < stages_per_profile) return;
  Discovery discovery(world, options, observer, runs);
  discovery.check_inputs(!range.only_last);
  discovery.merge_profiles();
  range.first = stages_per_profile;
  run_stages(discovery, range);
  discovery.write_summary();
}

void run_profile(const runtime::Communicator& world, const Options& options, const StageRange& range,
                 Observer& observer) {
  Discovery discovery(world, options, observer);
  discovery.check_inputs(!range.only_last || range.last == 0);
  run_stages(discovery, range);
  discovery.write_summary();
}

}  // namespace

void run(const runtime::Communicator& world, const Options& options, std::size_t last, bool only_last,
         Observer& observer) {
  try {
    const StageRange range{0, last + 1, last, only_last};
    if (std::filesystem::is_directory(options.profile))
      run_folder(world, options, range, observer);
    else
      run_profile(world, options, range, observer);
  } catch (const std::exception& error) {
    runtime::log_event("stopped", {{"message", error.what()}});
    throw;
  }
  runtime::log_event("end");
}

std::string digest_of_profiles(const std::filesystem::path& folder, const algebra::Library& library) {
  enumerate::InputComponents all;
  for (const std::filesystem::path& path : profiles_in(folder)) {
    const enumerate::Profile profile = enumerate::load_profile(path, library);
    enumerate::InputComponents components = enumerate::profile_components(profile);
    components.merge(enumerate::definition_components(profile, library));
    components["profile"] = profile.name;
    components["seed"] = std::to_string(profile.seed);
    components["max_ops"] = std::to_string(profile.max_ops);
    all[path.filename().string()] = enumerate::digest_of(components);
  }
  // Rules name its output where they need a number above 0.
  if (const auto positive = library.positive_operator()) all["positive operator"] = library.digest(*positive);
  return enumerate::digest_of(all);
}

}  // namespace rulemill::pipeline
