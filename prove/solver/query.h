// A question to the solver as data: linear integer arithmetic over the monomials of its polynomials. Products, floor
// divisions, minima and maxima are opaque integers; the lemmas say what must be known of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "prove/solver/guard.h"

namespace rulemill::prove {

/// If all premises hold, so does the conclusion: true of all integers that the opaque atoms stand for.
struct Lemma {
  Guards premises;
  Guard conclusion;
};

/// Can all of `asserted` hold where the sum of coefficient · [guards] is not zero? No indicators: can all hold?
struct Query {
  std::string name;
  Guards asserted;
  std::vector<std::pair<Rational, Guards>> indicators;
  std::vector<Lemma> lemmas;
};

/// The query with what it needs of the context: guards that share no size or index with it, however indirectly, are
/// left out, and guards that all indicators have in common are asserted.
Query sliced(Query query, const Guards& context, const Symbols& symbols);

/// Everything that the query needs to know of the opaque atoms and products in it.
std::vector<Lemma> lemmas_for(const Query& query, Symbols& symbols);

}  // namespace rulemill::prove
