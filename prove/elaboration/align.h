// Alignment of two products: maps from the bound indices of one to those of the other that make their factors equal. A
// map must be unimodular (one-to-one on integer points), so that aligned products differ only in guards and
// coefficients.
#pragma once

#include <optional>
#include <vector>

#include "check/kernel/normal_form.h"
#include "prove/elaboration/elaboration.h"
#include "prove/solver/budget.h"

namespace rulemill::prove {

using algebra::Rational;
using check::Atom;
using check::Atoms;
using check::Factor;
using check::Images;
using check::Poly;
using check::Product;
using check::Sum;

/// True if any of the atoms occurs in the polynomial, at any depth.
bool mentions(const Poly& poly, const std::vector<Atom>& atoms, const Atoms& table);

/// The value c·(c·atom − p) of the atom where p = 0, for its coefficient c = ±1 in p; nothing for others.
std::optional<Poly> solution(const Poly& p, Atom atom, const Atoms& atoms);

/// Gives every bound index, at any depth, a name of its own, which no text has (Atoms::level).
void rename_bound(Product& product, Atoms& atoms);
void rename_bound(Factor& factor, Atoms& atoms);

/// The solution of equations poly = 0 in triangular form for the unknowns that occur with coefficient ±1.
struct SolvedIndices {
  Images map;
  std::vector<Poly> rest;  // unsolved equations, none trivially true
};
SolvedIndices solve_indices(std::vector<Poly> equations, const std::vector<Atom>& unknowns, Atoms& atoms,
                            Budget& budget);

/// True if the affine map from `to` to the images of `from` has determinant ±1.
bool is_unimodular(const Images& map, const std::vector<Atom>& from, const std::vector<Atom>& to, const Atoms& atoms);

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
std::vector<Images> candidate_maps(const Product& product, const Product& onto, const std::vector<FactorPair>& pairs,
                                   const std::vector<bool>& commutative, Atoms& atoms, const ElaborationLimits& limits,
                                   Budget& budget);

/// Completes `map` by mapping its missing indices of `from` to those of `onto`, in every order. Adds the unimodular
/// maps to `maps`, up to the limit in total.
void complete_maps(const Images& map, const std::vector<Atom>& from, const std::vector<Atom>& onto, Atoms& atoms,
                   const ElaborationLimits& limits, Budget& budget, std::vector<Images>& maps);

/// True if the heads of their factors and the numbers of their bound indices allow an alignment.
bool are_comparable(const Product& a, const Product& b);

}  // namespace rulemill::prove
