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

/// Returns a digest of all that determines the rules of a folder of profiles besides the program: the profiles, and the
/// definitions of the operators that they name with all that these consist of. A run is extended if these change, too
/// (Discovery::check_inputs). Throws InputError if a profile does not fit the library.
std::string digest_of_profiles(const std::filesystem::path& folder, const algebra::Library& library);

}  // namespace rulemill::pipeline
