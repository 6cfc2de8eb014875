// Alignment of two products: maps of one's bound indices onto the other's under which their factors agree. A map must
// be unimodular (one-to-one on integer points), so that the sums then differ by their guards alone.
#pragma once

#include <optional>
#include <vector>

#include "prove/normal_form/normal_form.h"
#include "prove/solver/solver.h"

namespace rulemill::prove {

/// How many alignments, and how many choices within nested sums, are tried.
struct AlignLimits {
  std::size_t maps = 24;
  std::size_t choices = 256;
  Fault fault = Fault::None;  // for tests
};

/// unknown ↦ polynomial: equations poly = 0 solved in triangular form for the unknowns that occur with coefficient ±1.
struct SolvedIndices {
  Substitution map;
  std::vector<Poly> rest;  // equations left over, none trivially true
};
SolvedIndices solve_indices(std::vector<Poly> equations, const std::vector<Atom>& unknown, Symbols& symbols,
                            Budget& budget);

/// Whether the affine map from `to` to the images of `from` has determinant ±1.
bool unimodular(const Substitution& map, const std::vector<Atom>& from, const std::vector<Atom>& to,
                const Symbols& symbols);

/// Equations between indices under which factors could be equal, with the unknowns that nested bound indices add.
struct Equations {
  std::vector<Poly> polys;
  std::vector<Atom> unknown;
};

using FactorPair = std::pair<const Factor*, const Factor*>;
/// Every way to pair factors with equal heads, in a fixed order, no more than `limit`.
std::vector<std::vector<FactorPair>> pairings(const std::vector<Factor>& a, const std::vector<Factor>& b,
                                              std::size_t limit);
/// Ways in which all pairs could be equal: nested sums contribute the equations of some pair of their products.
std::vector<Equations> ways_to_equal(const std::vector<FactorPair>& pairs, const std::vector<bool>& commutative,
                                     std::size_t limit, Budget& budget);

/// Candidate maps of `product`'s bound indices onto `onto`'s for one pairing of their factors.
std::vector<Substitution> candidate_maps(const Product& product, const Product& onto,
                                         const std::vector<FactorPair>& pairs, const std::vector<bool>& commutative,
                                         Symbols& symbols, const AlignLimits& limits, Budget& budget);

/// `map` with the indices of `from` that it lacks sent to those of `onto`, in every order: the unimodular ones are
/// added to `maps`, up to the limit in all.
void complete_maps(const Substitution& map, const std::vector<Atom>& from, const std::vector<Atom>& onto,
                   Symbols& symbols, const AlignLimits& limits, Budget& budget, std::vector<Substitution>& maps);

/// Whether the heads of their factors and the numbers of their bound indices allow any alignment.
bool comparable(const Product& a, const Product& b);

}  // namespace rulemill::prove
