// What the checker does with guards, wherever it does it.
#pragma once

#include "algebra/language/expression.h"
#include "check/kernel/atoms.h"

namespace rulemill::check {

/// left relation right as guards; nothing for ≠.
Guards guards_of(algebra::Relation relation, const Poly& left, const Poly& right);
/// Where the guard does not hold: poly ≥ 0 fails where −poly − 1 ≥ 0; poly = 0 where poly ≥ 1 or poly ≤ −1.
Guards complement(const Guard& guard);
bool holds_always(const Guard& guard);
/// 0 ≤ index < extent
void append_range(Guards& guards, const Poly& index, const Poly& extent);
Guards joined(Guards a, const Guards& b);
/// Leaves out what always holds and what is said twice.
void tidy(Guards& guards);

}  // namespace rulemill::check
