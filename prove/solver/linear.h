// Exact rational infeasibility of guards by the simplex method, without Z3. Nearly every unsatisfiable query is
// unsatisfiable over the rationals already, once its integer guards are tight. Others go to Z3.
#pragma once

#include <vector>

#include "prove/solver/budget.h"
#include "prove/solver/query.h"

namespace rulemill::prove {

/// True if no rationals satisfy the query's assertions and its lemmas whose premises are implied. Products, divisions
/// and extrema are opaque. Returns false on overflow, or after a fixed number of pivots. Without `derive_premises`,
/// premises must be asserted literally, which takes one run of the method. Its work is spent from `budget` if given.
bool is_linearly_infeasible(const Query& query, bool derive_premises = true, Budget* budget = nullptr);

/// True if the query's indicators sum to zero wherever its assertions hold: each assignment of truth values to their
/// guards is infeasible or sums to zero.
bool indicators_vanish(const Query& query, Budget* budget = nullptr);

}  // namespace rulemill::prove
