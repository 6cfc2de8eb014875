// `rulemill discover` runs all stages; `fingerprint`, `join`, `prove`, `prune` run one, on what the ones before have
// left.
#include "cli/discovery.h"

namespace rulemill::cli {
namespace {

using Stages = std::function<void(Discovery&)>;

void add_stage(CLI::App& app, Options& options, Command& chosen, const std::string& name, const std::string& what,
               const Stages& stages) {
  auto* stage = app.add_subcommand(name, what);
  auto stage_options = std::make_shared<StageOptions>();
  add_stage_options(*stage, options, *stage_options);
  stage->callback([stage_options, stages, &chosen] {
    chosen = [stage_options, stages](Context& context) {
      Discovery discovery(context, *stage_options);
      stages(discovery);
      discovery.conclude();
    };
  });
}

}  // namespace

void add_stages(CLI::App& app, Options& options, Command& chosen) {
  add_stage(app, options, chosen, "discover", "Find, prove and prune the rules of a profile: all stages",
            [](Discovery& d) {
              d.fingerprint();
              d.join();
            });
  add_stage(app, options, chosen, "fingerprint", "Enumerate and fingerprint all terms: the first stage",
            [](Discovery& d) { d.fingerprint(); });
  add_stage(app, options, chosen, "join", "Join equal fingerprints into candidates", [](Discovery& d) {
    d.require_finished(fingerprint::fingerprint_stage);
    d.fingerprint();
    d.join();
  });
}

}  // namespace rulemill::cli
