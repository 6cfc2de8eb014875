#include "check/kernel/guards.h"

#include <algorithm>

namespace rulemill::check {

using algebra::Relation;

Guards to_guards(Relation relation, const Poly& left, const Poly& right) {
  if (relation == Relation::Ne) return {};
  return {{relation == Relation::Eq, right - left - (relation == Relation::Lt ? 1 : 0)}};
}

Guards complement(const Guard& guard) {
  if (guard.equality) return {{false, guard.poly - 1}, {false, -guard.poly - 1}};
  return {{false, -guard.poly - 1}};
}

bool always_holds(const Guard& guard) {
  const auto constant = guard.poly.constant();
  return constant && (guard.equality ? *constant == 0 : *constant >= 0);
}

void append_range(Guards& guards, const Poly& index, const Poly& extent) {
  guards.push_back({false, index});
  guards.push_back({false, extent - 1 - index});
}

Guards conjunction(Guards a, const Guards& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void remove_redundant(Guards& guards, const Guards& known) {
  Guards kept;
  for (const Guard& guard : guards) {
    const auto is_in = [&](const Guards& list) { return std::ranges::find(list, guard) != list.end(); };
    if (!always_holds(guard) && !is_in(kept) && !is_in(known)) kept.push_back(guard);
  }
  guards = std::move(kept);
}

}  // namespace rulemill::check
