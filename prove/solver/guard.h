// Guards: conditions on sizes and indices under which a product of a normal form counts. Queries consist of guards.
#pragma once

#include <string>
#include <vector>

#include "algebra/operators/expression.h"

namespace rulemill::prove {

using algebra::Atom;
using algebra::Poly;
using algebra::Rational;
using algebra::Substitution;
using algebra::Symbols;

/// poly ≥ 0, or poly = 0.
struct Guard {
  bool equality = false;
  Poly poly;
  bool operator==(const Guard&) const = default;
  auto operator<=>(const Guard&) const = default;
};
using Guards = std::vector<Guard>;

/// Appends 0 ≤ index < extent.
void append_range(Guards& guards, const Poly& index, const Poly& extent);

/// A partition of all points: the regions where all comparisons hold, and those where one does not.
struct Regions {
  std::vector<Guards> inside, outside;
};
Regions regions(const Guards& conjunction, const std::vector<Poly>& unequal);
/// Returns the disjoint regions where the guard does not hold.
std::vector<Guard> complement(const Guard& guard);

std::string to_string(const Guard& guard, const Symbols& symbols);

}  // namespace rulemill::prove
