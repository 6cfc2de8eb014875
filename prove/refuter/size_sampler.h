// Small random sizes at which the facts and the condition of a typed rule hold. An equation with one unassigned size is
// solved for it, so that equations are satisfied more often than by chance.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "algebra/terms/typing.h"

namespace rulemill::prove {

using SizeValues = std::unordered_map<algebra::Atom, std::int64_t>;

class SizeSampler {
 public:
  SizeSampler(const algebra::TypedRule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols,
              std::uint64_t seed);

  /// Draws sizes from 1 to `range` that were not drawn before; solved ones may be larger. None if the drawn sizes do
  /// not satisfy the rule. A rule without sizes can be drawn any number of times. If boundary values are given, every
  /// second size on average is near one of them.
  std::optional<SizeValues> draw(std::uint64_t range, std::span<const std::int64_t> boundary_values = {});

  /// From now on draws sizes in any order, each from the least number that the rule's inequalities allow for the sizes
  /// drawn before, not from 1. Returns false if the rule has no inequalities.
  bool start_at_bounds();

  /// The sizes that are all 1; none if they do not satisfy the rule.
  std::optional<SizeValues> all_ones() const;

  /// Returns all sizes of the rule, sorted.
  const std::vector<algebra::Atom>& sizes() const { return sizes_; }
  std::mt19937_64& random() { return random_; }

 private:
  /// A polynomial with its sizes.
  struct Equation {
    algebra::Poly poly;
    std::vector<algebra::Atom> sizes;
  };

  void collect_sizes(const algebra::TermBank& bank);
  std::int64_t draw_size(algebra::Atom size, std::uint64_t range, std::span<const std::int64_t> boundary_values,
                         const SizeValues& values);
  /// The coefficients of poly = a · size + b at the values; nothing if it is not linear or has other sizes.
  std::optional<std::pair<std::int64_t, std::int64_t>> linear_in(const algebra::Poly& poly, algebra::Atom size,
                                                                 const SizeValues& values) const;
  bool solve(const Equation& equation, algebra::Atom size, SizeValues& values) const;
  bool holds(const algebra::SizeCondition& condition, const SizeValues& values) const;
  bool satisfies_rule(const SizeValues& values) const;

  const algebra::TypedRule& rule_;
  const algebra::Symbols& symbols_;
  std::mt19937_64 random_;
  std::vector<algebra::Atom> sizes_;
  std::vector<Equation> equations_;
  std::vector<Equation> bounds_;  // poly ≥ 0, once drawing starts at bounds
  std::set<std::vector<std::int64_t>> drawn_;
};

/// Returns a few size assignments that satisfy the rule.
std::vector<SizeValues> sample_sizes(const algebra::TypedRule& rule, const algebra::TermBank& bank,
                                     const algebra::Symbols& symbols, std::uint64_t seed);

/// The same by name, for users of other symbols; empty if the rule does not type.
using SizesByName = std::map<std::string, std::int64_t>;
std::vector<SizesByName> sample_sizes_by_name(const algebra::Rule& rule, algebra::TermBank& bank,
                                              algebra::Symbols& symbols, std::uint64_t seed);

}  // namespace rulemill::prove
