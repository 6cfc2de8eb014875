// Searches for the steps of a proof for the checker. The search is not trusted: the checker checks the proof.
#pragma once

#include <vector>

#include "prove/elaboration/elaboration.h"
#include "prove/refuter/size_sampler.h"

namespace rulemill::prove {

/// Elaborates a proof of the statement. `samples` are sizes at which the rule is well-typed; they save time where an
/// obligation does not hold. With `assume_obligations`, for tests of the checker, every obligation counts as shown.
Elaboration elaborate(const check::Statement& statement, const std::vector<SizesByName>& samples,
                      const ElaborationLimits& limits = {}, bool assume_obligations = false);

/// Elaborates the part of a derivation that is a proof: where the sides are defined, and the lemmas for the
/// obligations.
Elaboration elaborate_domains(const check::Statement& statement, const std::vector<check::Obligation>& obligations,
                              const std::vector<SizesByName>& samples, const ElaborationLimits& limits = {});

/// Whether the goals are shown to hold wherever `given` does.
bool follow(const check::Guards& given, const check::Guards& goals, check::Atoms& atoms);

}  // namespace rulemill::prove
