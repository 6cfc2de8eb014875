// How commands show that two models are equal.
#pragma once

#include "cli/command.h"
#include "cli/rules/default_rules.h"
#include "optimize/equal/compare_models.h"
#include "optimize/verify/verify.h"

namespace rulemill::cli {

/// With the definitions, the check of rules and the proofs of statements.
optimize::EqualityOptions equality_options(const Options& options, const std::filesystem::path& before,
                                           const std::filesystem::path& after);

/// Returns a verifier of results that shows them equal to their model as `rulemill equal` does, by these databases.
optimize::EqualityVerifier equality_verifier(std::function<std::vector<std::filesystem::path>()> rules,
                                             const Options& options);

struct Databases {
  std::vector<std::filesystem::path> files;
  DefaultRules defaults;
};
/// Returns given databases, or the default rules. Making these may take minutes: bad models are refused before.
Databases find_databases(const Context& context, const std::vector<std::string>& given,
                         const std::vector<std::filesystem::path>& models);

/// Returns a proof of an optimizer's result from what its search did, for `prove_result`.
std::string searched_proof(const optimize::SearchedResult& searched);

/// Writes a proof that the result equals the model, if it is shown; otherwise `proof_gap` has the reason. It is
/// `searched_proof` if that can be followed.
optimize::EqualityResult prove_result(const Options& options, const std::filesystem::path& model,
                                      const std::filesystem::path& result, std::vector<std::filesystem::path> rules,
                                      const std::filesystem::path& proof = {}, const std::string& searched_proof = {});

}  // namespace rulemill::cli
