// A question to the solver as data: linear integer arithmetic over the monomials of its polynomials. Products, floor
// divisions, minima and maxima are opaque integers; the lemmas say what must be known of them. The solver is asked it
// and certificates print it.
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

/// What the query asserts, lemmas and indicators included: SMT-LIB commands, a line each. Names are quoted: |g*k0|.
std::vector<std::string> smtlib_assertions(const Query& query, const Symbols& symbols);
/// The declarations of all names that occur, in order.
std::string smtlib_declarations(const std::vector<std::string>& assertions);
/// The query as a self-contained SMT-LIB script that must be unsatisfiable.
std::string to_smtlib(const Query& query, const Symbols& symbols);

}  // namespace rulemill::prove
