// Proofs of a rule, from the definitions or from instances of proved rules, and the obligations that checking them
// leaves to a solver. If all hold, so does the statement, for all sizes. Throws CheckError where a proof does not fit
// the statement.
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

std::vector<Obligation> check_proof(const Proof& proof, const Statement& statement);
/// Checks only that the sides are defined for the same values, or the target where the source is, if the rule widens.
std::vector<Obligation> check_domains(const Proof& proof, const Statement& statement);

/// What holds in the values of a rule that widens: it states them only where the source is defined.
KnownConditions conditions_in_values(const Statement& statement);

/// 1 − the condition, which is 0 where its function is defined, and where that has to be shown.
std::pair<Sum, Context> undefinedness(const DefinednessCondition& condition, const Statement& statement);

/// A proved rule with polynomials in the goal's sizes for its own, which are at least 1, and terms of the goal for its
/// variables.
struct RuleInstance {
  CoreRule rule;
  std::vector<Poly> sizes;
  std::vector<CoreTerm> terms;
};

struct CheckedDerivation {
  std::vector<Obligation> obligations;
  std::string script;  // over uninterpreted functions: a solver must answer "unsat"
};

/// Of a derivation: wherever the goal's assumptions hold, its sides have equal values and its target is well-typed.
CheckedDerivation check_derivation(const Statement& goal, const std::vector<RuleInstance>& instances,
                                   const std::vector<ProductLemma>& lemmas);

}  // namespace rulemill::check
