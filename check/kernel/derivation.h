// A rule that follows from instances of others, each proved by itself: what must be shown for the instances to hold,
// and that they imply the rule as ground equations.
#pragma once

#include "check/kernel/proof.h"

namespace rulemill::check {

/// A rule at terms over the goal's variables and at polynomials in the goal's sizes.
struct RuleInstance {
  const algebra::Rule* rule = nullptr;
  std::vector<algebra::TermId> terms;  // in the order of its variables
  std::map<std::string, Poly> sizes;   // by name, in the goal's symbols
};

struct Derived {
  std::vector<Obligation> obligations;
  std::size_t plain = 0;
  std::string script;  // over uninterpreted functions: a solver must answer "unsat"
};

/// If all of the obligations hold and the script is unsatisfiable, the goal's sides have equal values wherever it is to
/// hold, and its target types there. Throws Objection where an instance cannot be one.
Derived derive(Statement& goal, const std::vector<RuleInstance>& instances, const algebra::Symbols& symbols,
               const std::vector<Times>& times);

}  // namespace rulemill::check
