// `rulemill discover` runs all stages; `fingerprint`, `join`, `prove`, `prune` run one, on what the ones before have
// left.
#include <new>

#include "cli/discovery.h"
#include "prove/farm/prune.h"
#include "runtime/error.h"
#include "runtime/event_log.h"
#include "runtime/machine.h"

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

/// Runs the stages up to `last`. Those before it must be finished already if `alone`: they only say what they found.
void run_stages(Context& context, const StageOptions& options, std::size_t last, bool alone) {
  Discovery discovery(context, options);
  try {
    discovery.meet_inputs(!alone || last == 0);
    for (std::size_t s = 0; s <= last; ++s) {
      if (alone && s < last) discovery.require_finished(stages[s].name);
      run_stage(discovery, stages[s]);
    }
    discovery.conclude();
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
  stage->callback(
      [=, &chosen] { chosen = [=](Context& context) { run_stages(context, *stage_options, last, alone); }; });
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
