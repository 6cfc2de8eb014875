// `rulemill discover` runs all stages; `fingerprint`, `join`, `prove`, `prune` run one, on what the ones before have
// left.
#include <algorithm>
#include <new>

#include "cli/discovery.h"
#include "cli/number_option.h"
#include "prove/farm/prune.h"
#include "runtime/error.h"
#include "runtime/event_log.h"
#include "runtime/machine.h"
#include "runtime/quantity.h"

namespace rulemill::cli {
namespace {

struct Stage {
  const char* name;
  const char* what;
  void (Discovery::*run)();
};

constexpr Stage stages[] = {
    {fingerprint::fingerprint_stage, "Enumerate and fingerprint all terms of a profile", &Discovery::fingerprint},
    {dedup::join_stage, "Join equal fingerprints into candidate rules", &Discovery::join},
    {prove::prove_stage, "Prove the candidates, or refute them", &Discovery::prove},
    {prove::prune_stage, "Leave the rules that imply all others, and write the database", &Discovery::prune},
};

/// Profiles of one folder have these to themselves; the others are of all candidates.
constexpr std::size_t stages_of_one = 2;

void add_stage_options(CLI::App& app, Options& options, StageOptions& stage_options) {
  add_profile_options(app, options);
  add_out_option(app, options);
  add_definitions_option(app, options);
  app.add_option("--threads", stage_options.threads, "threads of each rank; 0: all cores that it may use")
      ->check(whole_number(0, 4096))
      ->capture_default_str();
  app.add_option("--device", stage_options.device,
                 "auto: a GPU if there is one; cpu: none; emulated: what a GPU would do, on the CPU, for tests")
      ->check(CLI::IsMember({"auto", "cpu", "emulated"}))
      ->capture_default_str();
  add_proof_options(app, stage_options.proofs);
  app.add_flag("--cross-check", stage_options.cross_check,
               "prove what was derived from the definitions, too; both must agree");
  app.add_flag("--fresh", stage_options.fresh, "start over, whatever the output folder holds");
  app.add_flag("--all-terms", stage_options.all_terms, "build on every term, not on one of each class");
  app.add_flag("--every-renaming", stage_options.every_renaming, "visit a node under all names, not up to renaming");
  app.add_option("--memory", stage_options.memory, "memory that each rank may use, as in 4GB; 0: no limit")
      ->transform(memory_size())
      ->capture_default_str();
  app.add_option("--checkpoint-rows", stage_options.checkpoint_rows,
                 "rows of terms that the join saves together: what a run that is stopped loses at most")
      ->check(whole_number(1))
      ->capture_default_str();
  add_common_options(app, options);
}

/// Memory that is out is said with what it was out for.
void run_stage(Discovery& discovery, const Stage& stage) {
  runtime::log_event("stage", {{"stage", stage.name}});
  try {
    (discovery.*stage.run)();
  } catch (const std::bad_alloc&) {
    throw runtime::Error(stage.name, "out of memory (" + runtime::memory_in_words() +
                                         "); what is finished is kept: run the same command again with more, or with "
                                         "--memory and more ranks");
  }
}

/// The stages [first, end). If the last one is `alone`, those before it must be finished already: they only say what
/// they found.
struct Stretch {
  std::size_t first = 0, end = 0, last = 0;
  bool alone = false;
};

void run_stages(Discovery& discovery, const Stretch& stretch) {
  for (std::size_t s = stretch.first; s < stretch.end; ++s) {
    if (stretch.alone && s < stretch.last) discovery.require_finished(stages[s].name);
    run_stage(discovery, stages[s]);
  }
}

std::vector<std::filesystem::path> profiles_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> profiles;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".toml") profiles.push_back(entry.path());
  }
  if (profiles.empty()) throw runtime::InputError(folder.string(), "holds no profile; expected *.toml in it");
  std::ranges::sort(profiles);
  return profiles;
}

/// One profile after the other, each in a folder of its own. Where candidates of all are to be proved, it is known of
/// each profile's which are core among themselves.
std::vector<Discovery::Part> run_parts(Context& context, const StageOptions& options, Stretch stretch) {
  stretch.end = std::min(stretch.last + 1, stages_of_one);
  std::vector<Discovery::Part> parts;
  for (const std::filesystem::path& profile : profiles_in(context.options.profile)) {
    Context part{context.world, context.options, context.progress};
    part.options.profile = profile.string();
    part.options.out = (std::filesystem::path(context.options.out) / "profiles" / profile.stem()).string();
    part.silent = true;
    Discovery discovery(part, options);
    discovery.meet_inputs(!stretch.alone || stretch.last == 0);
    run_stages(discovery, stretch);
    parts.push_back(discovery.part());
    if (stretch.last >= stages_of_one) run_stages(discovery, {stages_of_one, std::size(stages), 0, false});
    runtime::log_event("end");
    context.report["profiles"][profile.stem().string()] = part.report;
    context.print(profile.filename().string() + ": " + runtime::with_commas(parts.back().funnel.back().second) + " " +
                  parts.back().funnel.back().first + "\n");
  }
  return parts;
}

/// Of a folder of profiles: as one run.
void run_together(Context& context, const StageOptions& options, Stretch stretch) {
  const std::vector<Discovery::Part> parts = run_parts(context, options, stretch);
  if (stretch.last < stages_of_one) return;
  Discovery discovery(context, options, parts);
  discovery.meet_inputs(!stretch.alone);
  discovery.unite();
  stretch.first = stages_of_one;
  run_stages(discovery, stretch);
  discovery.conclude();
}

void run_one(Context& context, const StageOptions& options, const Stretch& stretch) {
  Discovery discovery(context, options);
  discovery.meet_inputs(!stretch.alone || stretch.last == 0);
  run_stages(discovery, stretch);
  discovery.conclude();
}

/// Runs the stages up to `last`.
void run(Context& context, const StageOptions& options, std::size_t last, bool alone) {
  const bool several = std::filesystem::is_directory(context.options.profile);
  try {
    const Stretch stretch{0, last + 1, last, alone};
    if (several)
      run_together(context, options, stretch);
    else
      run_one(context, options, stretch);
  } catch (const std::exception& error) {
    runtime::log_event("stopped", {{"message", error.what()}});
    throw;
  }
  runtime::log_event("end");
}

void add_stage(CLI::App& app, Options& options, Command& chosen, const std::string& name, const std::string& what,
               std::size_t last, bool alone) {
  auto* stage = app.add_subcommand(name, what);
  auto stage_options = std::make_shared<StageOptions>();
  add_stage_options(*stage, options, *stage_options);
  stage->callback([=, &chosen] { chosen = [=](Context& context) { run(context, *stage_options, last, alone); }; });
}

}  // namespace

void add_stages(CLI::App& app, Options& options, Command& chosen) {
  add_stage(app, options, chosen, "discover", "Find, prove and prune the rules of a profile: all stages",
            std::size(stages) - 1, false);
  for (std::size_t s = 0; s < std::size(stages); ++s) {
    add_stage(app, options, chosen, stages[s].name, stages[s].what, s, true);
  }
}

}  // namespace rulemill::cli
