// `rulemill discover` runs all stages; `fingerprint`, `join`, `prove`, `prune` and `generalize` run one, on the
// results of the earlier ones.
#include <map>

#include "cli/number_option.h"
#include "cli/run/proof_options.h"
#include "cli/run/run_report.h"
#include "pipeline/run.h"
#include "runtime/files/atomic_file.h"

namespace rulemill::cli {
namespace {

constexpr const char* descriptions[] = {
    "Enumerate and fingerprint all terms of a profile",
    "Join equal fingerprints into candidate rules",
    "Prove or refute the candidates",
    "Find the core, the rules that imply all others",
    "Add the general forms of the rules, for any rank and any parameter value, and write the database",
};
static_assert(std::size(descriptions) == pipeline::stages.size());

struct StageOptions {
  pipeline::Options run;
  ProofOptions proofs;
  std::string device = "auto", generalized = "core";
  bool no_sync = false, strict = false;
};

const std::map<std::string, prove::GeneralizedTier> tiers = {{"none", prove::GeneralizedTier::None},
                                                             {"core", prove::GeneralizedTier::Core},
                                                             {"all", prove::GeneralizedTier::All}};

const std::map<std::string, fingerprint::DeviceChoice> devices = {{"auto", fingerprint::DeviceChoice::Auto},
                                                                  {"cpu", fingerprint::DeviceChoice::Cpu},
                                                                  {"gpu", fingerprint::DeviceChoice::Gpu},
                                                                  {"emulated", fingerprint::DeviceChoice::Emulated}};

void add_stage_options(CLI::App& app, Options& options, StageOptions& stage_options) {
  pipeline::Options& run = stage_options.run;
  add_profile_options(app, options);
  add_out_option(app, options);
  add_definitions_option(app, options);
  app.add_option("--threads", run.threads, "threads per rank; 0: all cores of the rank")->check(whole_number(0, 4096));
  app.add_option("--device", stage_options.device,
                 "auto: a GPU if there is one; cpu: no GPU; gpu: fail without one; emulated: the GPU's algorithm on "
                 "the CPU, for tests")
      ->check(one_of("device", {"auto", "cpu", "gpu", "emulated"}));
  add_proof_options(app, stage_options.proofs);
  app.add_option("--generalize", stage_options.generalized,
                 "rules of which the general form is added: core, all (also derived ones), or none")
      ->check(one_of("tier", {"none", "core", "all"}));
  app.add_flag("--cross-check", run.cross_check,
               "prove derived rules from the definitions, too; fail if one of them is false");
  app.add_flag("--fresh", run.fresh, "discard the results in the output folder and start over");
  app.add_flag("--extend-all-terms", run.extend_all_terms,
               "build terms on every term; default: on one of each equivalence class");
  app.add_flag("--no-symmetry", run.no_symmetry,
               "visit all renamings of interchangeable variables; default: one representative of each orbit");
  app.add_option("--memory", run.memory, "memory limit per rank, such as 4GiB; 0: no limit")->transform(memory_size());
  app.add_option("--checkpoint-rows", run.checkpoint_rows,
                 "rows of terms that the join saves at a time; an interrupted run loses at most this work")
      ->check(whole_number(1));
  app.add_flag("--no-sync", stage_options.no_sync,
               "do not wait until files are on storage; a crash of the machine may lose the run");
  app.add_flag("--strict", stage_options.strict, "exit with code 1 if a limit of time or memory cut proofs");
  add_common_options(app, options);
}

/// Runs the stages up to pipeline::stages[last].
void run(Context& context, const StageOptions& stage_options, std::size_t last, bool only_last) {
  pipeline::Options options = stage_options.run;
  options.profile = context.options.profile;
  options.definitions = require_definitions_folder(context.options);
  options.out = context.options.out;
  options.seed = context.options.seed;
  options.max_ops = context.options.max_ops;
  options.device = devices.at(stage_options.device);
  options.generalized = tiers.at(stage_options.generalized);
  options.workers = worker_options(context.options, stage_options.proofs);
  options.build = RULEMILL_VERSION;
  options.progress = context.progress;
  runtime::set_file_sync(!stage_options.no_sync);
  RunReport report(context, stage_options.strict);
  pipeline::run(context.world, options, last, only_last, report);
}

void add_stage(CLI::App& app, Options& options, Command& chosen, const std::string& name,
               const std::string& description, std::size_t last, bool only_last) {
  auto* stage = app.add_subcommand(name, description);
  auto stage_options = std::make_shared<StageOptions>();
  add_stage_options(*stage, options, *stage_options);
  stage->callback([=, &chosen] { chosen = [=](Context& context) { run(context, *stage_options, last, only_last); }; });
}

}  // namespace

void add_stages(CLI::App& app, Options& options, Command& chosen) {
  add_stage(app, options, chosen, "discover", "Find, prove, prune and generalize the rules of a profile: all stages",
            pipeline::stages.size() - 1, false);
  for (std::size_t s = 0; s < pipeline::stages.size(); ++s)
    add_stage(app, options, chosen, pipeline::stages[s].name, descriptions[s], s, true);
}

}  // namespace rulemill::cli
