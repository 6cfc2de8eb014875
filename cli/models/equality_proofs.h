// How commands show that two models are equal.
#pragma once

#include "cli/command.h"
#include "optimize/equal/compare_models.h"
#include "optimize/verify/verify.h"

namespace rulemill::cli {

/// Sets the definitions, the check of rules and the proofs of statements.
void set_equality_proofs(optimize::EqualityOptions& equality, const Options& options);

/// Returns a verifier of results that shows them equal to their model as `rulemill equal` does, by these databases.
optimize::EqualityVerifier equality_verifier(std::function<std::vector<std::filesystem::path>()> rules,
                                             const Options& options);

/// Writes a proof that the result equals the model, if it is shown, and reports its size or why there is none.
void write_result_proof(Context& context, const std::filesystem::path& model, const std::filesystem::path& result,
                        std::vector<std::filesystem::path> rules, const std::filesystem::path& proof);

}  // namespace rulemill::cli
