// Operations on guards.
#pragma once

#include "algebra/operators/expression.h"
#include "check/kernel/atoms.h"

namespace rulemill::check {

/// The relation between left and right as guards; none for ≠.
Guards to_guards(algebra::Relation relation, const Poly& left, const Poly& right);
/// The disjoint regions where the guard does not hold: −poly − 1 ≥ 0 for poly ≥ 0; poly ≥ 1 and poly ≤ −1 for poly = 0.
Guards complement(const Guard& guard);
bool always_holds(const Guard& guard);
/// Appends 0 ≤ index < extent.
void append_range(Guards& guards, const Poly& index, const Poly& extent);
Guards conjunction(Guards a, const Guards& b);
/// Removes guards that always hold or are known, and duplicates.
void remove_redundant(Guards& guards, const Guards& known = {});

}  // namespace rulemill::check
