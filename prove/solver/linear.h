// Exact rational infeasibility of guards by the simplex method, without Z3. Nearly every unsatisfiable query is
// unsatisfiable over the rationals already, once its integer guards are tight. Others go to Z3.
#pragma once

#include <set>
#include <vector>

#include "prove/solver/models.h"

namespace rulemill::prove {

/// Lemmas that are tried last: where their premises are asserted literally, also in cases of other lemmas' premises, or
/// once the first premise's complement is infeasible.
struct LiteralLemmas {
  std::vector<Lemma> lemmas;
  std::set<std::size_t> used;  // positions of those that the answer true needs
  bool quick = false;          // only where their premises are asserted literally
};

/// True if no rationals satisfy the query's assertions and its lemmas whose premises are asserted literally; or, with
/// `more`, these lemmas, too. Products, divisions and extrema are opaque. Returns false on overflow, or after a fixed
/// number of pivots.
bool is_linearly_infeasible(const Query& query, LiteralLemmas* more = nullptr);

}  // namespace rulemill::prove
