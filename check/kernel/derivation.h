// Derivations: a rule that instances of proved rules imply. Obligations state that these are instances; a script states
// that they imply the rule as ground equations.
#pragma once

#include "check/kernel/proof.h"

namespace rulemill::check {

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

/// If all obligations hold and the script is unsatisfiable, then wherever the goal's assumptions hold, its sides have
/// equal values and its target is well-typed. Throws CheckError where an instance is malformed.
CheckedDerivation check_derivation(const Statement& goal, const std::vector<RuleInstance>& instances,
                                   const std::vector<ProductLemma>& lemmas);

}  // namespace rulemill::check
