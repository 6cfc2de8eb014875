// A search for small integers that satisfy a query at given sizes. A query with such a model needs no solver.
#pragma once

#include <optional>

#include "prove/solver/models.h"

namespace rulemill::prove {

/// Returns values of all sizes and indices that satisfy the query, where products and divisions have their true values;
/// nothing if none is found within a fixed number of steps. Sizes that are not in `sizes` are 1.
std::optional<Models::Values> find_model(const Query& query, const Models::Values& sizes, const Atoms& atoms);

/// Returns whether a stored model satisfies the query, or one found at one of the sizes, which is then stored.
bool has_model(Models& models, const Query& query, const std::vector<Models::Values>& samples, const Atoms& atoms);

}  // namespace rulemill::prove
