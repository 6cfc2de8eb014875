// Alignment of two products: maps from the bound indices of one to those of the other that make their factors equal. A
// map must be unimodular (one-to-one on integer points), so that aligned products differ only in guards and
// coefficients.
#pragma once

#include <optional>
#include <vector>

#include "prove/normal_form/normal_form.h"
#include "prove/solver/solver.h"

namespace rulemill::prove {

/// Limits on the number of maps, and of choices within nested sums.
struct AlignmentLimits {
  std::size_t maps = 24;
  std::size_t choices = 256;
  Fault fault = Fault::None;  // injected by tests
};

/// The solution of equations poly = 0 in triangular form for the unknowns that occur with coefficient ±1.
struct SolvedIndices {
  Substitution map;
  std::vector<Poly> rest;  // unsolved equations, none trivially true
};
SolvedIndices solve_indices(std::vector<Poly> equations, const std::vector<Atom>& unknowns, Symbols& symbols,
                            Budget& budget);

/// True if the affine map from `to` to the images of `from` has determinant ±1.
bool is_unimodular(const Substitution& map, const std::vector<Atom>& from, const std::vector<Atom>& to,
                   const Symbols& symbols);

/// Equations between indices under which factors can be equal, and the bound indices of nested sums as unknowns.
struct Equations {
  std::vector<Poly> polys;
  std::vector<Atom> unknowns;
};

using FactorPair = std::pair<const Factor*, const Factor*>;
/// Returns up to `limit` ways to pair factors with equal heads, in a fixed order.
std::vector<std::vector<FactorPair>> pair_factors(const std::vector<Factor>& a, const std::vector<Factor>& b,
                                                  std::size_t limit);
/// Returns up to `limit` systems of equations under which all pairs can be equal. Nested sums contribute the equations
/// of some pair of their products.
std::vector<Equations> unifying_equations(const std::vector<FactorPair>& pairs, const std::vector<bool>& commutative,
                                          std::size_t limit, Budget& budget);

/// Returns candidate maps from the bound indices of `product` to those of `onto`, for one pairing of their factors.
std::vector<Substitution> candidate_maps(const Product& product, const Product& onto,
                                         const std::vector<FactorPair>& pairs, const std::vector<bool>& commutative,
                                         Symbols& symbols, const AlignmentLimits& limits, Budget& budget);

/// Completes `map` by mapping its missing indices of `from` to those of `onto`, in every order. Adds the unimodular
/// maps to `maps`, up to the limit in total.
void complete_maps(const Substitution& map, const std::vector<Atom>& from, const std::vector<Atom>& onto,
                   Symbols& symbols, const AlignmentLimits& limits, Budget& budget, std::vector<Substitution>& maps);

/// True if the heads of their factors and the numbers of their bound indices allow an alignment.
bool are_comparable(const Product& a, const Product& b);

}  // namespace rulemill::prove
