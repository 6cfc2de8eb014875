// Rules in text form judged by the definitions alone. Everything is made afresh for each, so that the outcome depends
// on the text and nothing else.
#pragma once

#include <string>

#include "prove/farm/outcome.h"
#include "prove/prover.h"

namespace rulemill::prove {

/// A candidate: its shapes are an example. Its outcome's rule is the typed one, with the condition found.
Outcome prove_candidate(const std::string& candidate, algebra::Library& library, const ProverOptions& options);
/// A typed rule.
Outcome prove_rule(const std::string& rule, algebra::Library& library, const ProverOptions& options);
/// The general form of a typed rule (generalize.h), with its certificate; unknown if it has none.
Outcome generalize_rule(const std::string& rule, algebra::Library& library, const ProverOptions& options);
/// Whether a typed rule's sides are shown to be undefined at the same points.
bool same_domain(const std::string& rule, algebra::Library& library, const ProverOptions& options);

}  // namespace rulemill::prove
