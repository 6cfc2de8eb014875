// Queries as data: linear integer arithmetic over the monomials of polynomials. Products, floor divisions, minima and
// maxima are opaque integers; lemmas state their properties.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "prove/solver/guard.h"

namespace rulemill::prove {

/// An implication that is true for all values of the opaque atoms: if all premises hold, so does the conclusion.
struct Lemma {
  Guards premises;
  Guard conclusion;
};

/// The question whether all of `asserted` can hold and the sum of coefficient · [guards] be nonzero; without
/// indicators, whether all of `asserted` can hold.
struct Query {
  std::string name;
  Guards asserted;
  std::vector<std::pair<Rational, Guards>> indicators;
  std::vector<Lemma> lemmas;
};

/// Adds the guards of the context that share a size or index with the query, directly or indirectly. Asserts guards
/// that all indicators have in common.
Query slice(Query query, const Guards& context, const Symbols& symbols);

/// Returns the lemmas about the opaque atoms and products of the query.
std::vector<Lemma> make_lemmas(const Query& query, Symbols& symbols);

}  // namespace rulemill::prove
