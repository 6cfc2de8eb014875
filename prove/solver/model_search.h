// Looks for indices that satisfy a query at given sizes, by search over small integers: a satisfiable query that a few
// numbers satisfy needs no solver.
#pragma once

#include <optional>

#include "prove/solver/budget.h"
#include "prove/solver/models.h"
#include "prove/solver/query.h"

namespace rulemill::prove {

/// Values of all sizes and indices that satisfy the query, products and divisions with their true values; nothing if
/// none was found within a fixed number of steps. `sizes` are values for sizes; others than those named are 1.
std::optional<Models::Values> find_model(const Query& query, const Models::Values& sizes, const Symbols& symbols,
                                         Budget* budget = nullptr);

}  // namespace rulemill::prove
