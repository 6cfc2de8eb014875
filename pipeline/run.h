// Runs stages of a discovery: of one profile, or of a folder of profiles, each in a folder of its own.
#pragma once

#include <array>
#include <string>

#include "pipeline/discovery.h"

namespace rulemill::pipeline {

struct StageStep {
  const char* name;
  void (Discovery::*run)();
};

/// In the order in which they run.
inline constexpr std::array<StageStep, 5> stages = {{{fingerprint::fingerprint_stage, &Discovery::fingerprint},
                                                     {dedup::join_stage, &Discovery::join},
                                                     {prove::prove_stage, &Discovery::prove},
                                                     {prove::prune_stage, &Discovery::prune},
                                                     {prove::generalize_stage, &Discovery::generalize}}};

/// Runs the unfinished stages up to stages[last]. With `only_last`, the earlier ones must be finished. Collective.
/// Throws Interrupted, InputError, and Error if a rank is out of memory.
void run(const runtime::Communicator& world, const Options& options, std::size_t last, bool only_last,
         Observer& observer);

}  // namespace rulemill::pipeline
