// Simplification of products: what no solver is needed for, and what one is.
#pragma once

#include <optional>

#include "prove/normal_form/normal_form.h"
#include "prove/solver/solver.h"

namespace rulemill::prove {

/// Guards in their tightest form, without duplicates and without those that `known` already says.
/// False if two of them, or one and a known one, contradict each other.
bool tidy(Guards& guards, const Guards& known, Fault fault = Fault::None);

/// Eliminates bound indices that an equality or a range of one value fixes, drops guards that say nothing new, and
/// replaces free indices that an equality gives. False if the product is zero for sure. Needs no solver.
bool simplify(Product& product, const Guards& known, Symbols& symbols, Fault fault = Fault::None);
/// What that costs for the products of a sum, where so many guards are known.
std::uint64_t steps_to_simplify(const Sum& sum, std::size_t known);

/// The same, then drops the product if its guards cannot hold, simplifies below scalar functions where they do hold,
/// and floor divisions that its guards decide.
bool simplify_fully(Product& product, Solver& solver, const algebra::TermBank& bank);
void simplify_fully(Sum& sum, Solver& solver, const algebra::TermBank& bank);

}  // namespace rulemill::prove
