#include "check/kernel/guards.h"

#include <algorithm>

namespace rulemill::check {

using algebra::Relation;

Guards to_guards(Relation relation, const Poly& left, const Poly& right) {
  switch (relation) {
    case Relation::Eq:
      return {{true, right - left}};
    case Relation::Lt:
      return {{false, right - left - 1}};
    case Relation::Le:
      return {{false, right - left}};
    case Relation::Ne:
      break;
  }
  return {};
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

void remove_redundant(Guards& guards) {
  Guards kept;
  for (const Guard& guard : guards) {
    if (!always_holds(guard) && std::ranges::find(kept, guard) == kept.end()) kept.push_back(guard);
  }
  guards = std::move(kept);
}

}  // namespace rulemill::check
