// A proof from the definitions, and the obligations that remain for a solver after checking it.
#pragma once

#include <array>

#include "check/kernel/kernel.h"

namespace rulemill::check {

struct Proof {
  std::vector<ProductLemma> lemmas;        // for the obligations of typing and of divisors
  std::vector<std::vector<Step>> outputs;  // rewrite source minus target to 0
  /// Of the source's own definedness conditions (none if the rule widens), and of the target's: steps that rewrite
  /// 1 − condition to 0.
  std::array<std::vector<std::vector<Step>>, 2> domains;
};

/// Returns the obligations that a proof leaves. If all of them hold, so does the statement, for all sizes. Throws
/// CheckError where the proof does not fit the statement.
std::vector<Obligation> check_proof(const Proof& proof, const Statement& statement);
/// Checks only that the sides are defined for the same values, or the target where the source is, if the rule widens.
/// Throws CheckError as check_proof does.
std::vector<Obligation> check_domains(const Proof& proof, const Statement& statement);

/// What holds in the values of a rule that widens: it states them only where the source is defined.
std::optional<KnownConditions> conditions_in_values(const Statement& statement);

/// 1 − the condition, which is 0 where its function is defined, and where that has to be shown.
std::pair<Sum, Context> undefinedness(const DefinednessCondition& condition, const Statement& statement);

}  // namespace rulemill::check
