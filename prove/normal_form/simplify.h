// Simplification of products, without and with a solver.
#pragma once

#include <optional>

#include "prove/normal_form/normal_form.h"
#include "prove/solver/solver.h"

namespace rulemill::prove {

/// Tightens guards, and removes duplicates and those that `known` implies. Returns false if two of them, or one and a
/// known one, contradict each other.
bool simplify_guards(Guards& guards, const Guards& known, Fault fault = Fault::None);

/// Eliminates bound indices that an equality or a range of one value fixes, drops redundant guards, and replaces free
/// indices that an equality determines. Returns false if the product is certainly zero.
bool simplify(Product& product, const Guards& known, Symbols& symbols, Fault fault = Fault::None);
/// Returns the steps that this costs for the products of a sum with `known` known guards.
std::uint64_t simplification_cost(const Sum& sum, std::size_t known);

/// Also drops the product if its guards cannot hold, and simplifies arguments and floor divisions where they hold.
bool simplify_with_solver(Product& product, Solver& solver, const algebra::TermBank& bank);
void simplify_with_solver(Sum& sum, Solver& solver, const algebra::TermBank& bank);

}  // namespace rulemill::prove
