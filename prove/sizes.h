// Small random sizes that satisfy a typed rule: numbers for all of its sizes at which its facts and its condition hold.
// Equations are solved where a draw leaves one size open, so that they are met more often than by luck.
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

  /// Sizes from 1 to `range`, solved ones perhaps larger, that were not drawn before; nothing if the draw does not
  /// satisfy the rule. A rule without sizes is drawn any number of times. Of two sizes one is near one of the numbers,
  /// if any are given.
  std::optional<SizeValues> draw(std::uint64_t range, std::span<const std::int64_t> numbers = {});

  /// All sizes of the rule, sorted.
  const std::vector<algebra::Atom>& sizes() const { return order_; }
  std::mt19937_64& random() { return random_; }

 private:
  /// poly = 0, with its sizes.
  struct Equation {
    algebra::Poly poly;
    std::vector<algebra::Atom> sizes;
  };

  void collect_sizes(const algebra::TermBank& bank);
  std::int64_t one(std::uint64_t range, std::span<const std::int64_t> numbers);
  bool solve(const Equation& equation, algebra::Atom size, SizeValues& values) const;
  bool holds(const algebra::SizeCondition& condition, const SizeValues& values) const;

  const algebra::TypedRule& rule_;
  const algebra::Symbols& symbols_;
  std::mt19937_64 random_;
  std::vector<algebra::Atom> order_;
  std::vector<Equation> equations_;
  std::set<std::vector<std::int64_t>> drawn_;
};

/// A few sizes at which the rule stands.
std::vector<SizeValues> sample_sizes(const algebra::TypedRule& rule, const algebra::TermBank& bank,
                                     const algebra::Symbols& symbols, std::uint64_t seed);

/// The same for whoever has other symbols; none if the rule has no types.
using SizesByName = std::map<std::string, std::int64_t>;
std::vector<SizesByName> sample_sizes_by_name(const algebra::Rule& rule, algebra::TermBank& bank,
                                              algebra::Symbols& symbols, std::uint64_t seed);

}  // namespace rulemill::prove
