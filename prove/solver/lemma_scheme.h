// The few facts about floor divisions, extrema and products of sizes that queries may assume. Each lemma must be an
// instance of one of them, and each of them is a theorem of integer arithmetic that a solver can be asked for.
#pragma once

#include <string>
#include <vector>

#include "prove/solver/query.h"

namespace rulemill::prove {

struct LemmaScheme {
  std::string name;
  std::string theorem;  // SMT-LIB script, unsatisfiable if the scheme is valid
};

/// All schemes. A product of a scheme's conclusion with sizes is again a lemma: that is a scheme of its own.
const std::vector<LemmaScheme>& lemma_schemes();

/// The scheme that the lemma is an instance of, decided by comparing polynomials; null if there is none. Shares nothing
/// with what made the lemma.
const char* scheme_of(const Lemma& lemma, const Symbols& symbols);

}  // namespace rulemill::prove
