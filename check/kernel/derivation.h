// Derivations: a rule that instances of proved rules imply. Obligations state that these are instances; a script states
// that they imply the rule as ground equations.
#pragma once

#include "check/kernel/proof.h"

namespace rulemill::check {

/// A rule under a substitution by terms over the goal's variables and by polynomials in the goal's sizes.
struct RuleInstance {
  const algebra::Rule* rule = nullptr;
  std::vector<algebra::TermId> terms;  // in the order of the rule's variables
  std::map<std::string, Poly> sizes;   // by name, in the goal's symbols
};

struct CheckedDerivation {
  std::vector<Obligation> obligations;
  std::size_t trivial = 0;
  std::string script;  // over uninterpreted functions: a solver must answer "unsat"
};

/// If all obligations hold and the script is unsatisfiable, then wherever the goal's assumptions hold, its sides have
/// equal values and its target is well-typed. Throws CheckError where an instance is malformed.
CheckedDerivation check_derivation(Statement& goal, const std::vector<RuleInstance>& instances,
                                   const algebra::Symbols& symbols, const std::vector<ProductLemma>& lemmas);

}  // namespace rulemill::check
