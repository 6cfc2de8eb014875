// Rational infeasibility of guards by the simplex method, exact, without a solver: nearly every query that is
// unsatisfiable is so over the rationals already, once integer guards are tight. What it shows is shown; what it does
// not show goes to the solver.
#pragma once

#include <vector>

#include "prove/solver/budget.h"
#include "prove/solver/query.h"

namespace rulemill::prove {

/// Shown: no rationals satisfy what the query asserts and those of its lemmas whose premises follow. Products,
/// divisions and extrema are opaque. Overflow, and more than a fixed number of pivots, count as "not shown". Without
/// `follow`, premises must stand there word by word: one run of the method.
/// What it takes is spent from `budget`, if there is one.
bool linearly_infeasible(const Query& query, bool follow = true, Budget* budget = nullptr);

/// Shown: the query's indicators sum to zero wherever what it asserts holds: every way to decide their guards is either
/// infeasible or sums to zero.
bool indicators_vanish(const Query& query, Budget* budget = nullptr);

}  // namespace rulemill::prove
