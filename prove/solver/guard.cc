#include "prove/solver/guard.h"

namespace rulemill::prove {

void append_range(Guards& guards, const Poly& index, const Poly& extent) {
  guards.push_back({false, index});
  guards.push_back({false, extent - 1 - index});
}

std::vector<Guard> complement(const Guard& guard) {
  if (guard.equality) return {{false, guard.poly - 1}, {false, -guard.poly - 1}};
  return {{false, -guard.poly - 1}};
}

Regions regions(const Guards& conjunction, const std::vector<Poly>& unequal) {
  Regions result;
  Guards prefix;
  for (const Guard& guard : conjunction) {
    for (const Guard& other : complement(guard)) {
      result.outside.push_back(prefix);
      result.outside.back().push_back(other);
    }
    prefix.push_back(guard);
  }
  // poly ≠ 0 is poly > 0 or poly < 0, which doubles the number of inside regions.
  result.inside.push_back(prefix);
  for (const Poly& poly : unequal) {
    std::vector<Guards> split;
    for (const Guards& inside : result.inside) {
      for (const Guard& side : complement({true, poly})) {
        split.push_back(inside);
        split.back().push_back(side);
      }
      result.outside.push_back(inside);
      result.outside.back().push_back({true, poly});
    }
    result.inside = std::move(split);
  }
  return result;
}

std::string to_string(const Guard& guard, const Symbols& symbols) {
  return symbols.to_string(guard.poly) + (guard.equality ? " = 0" : " >= 0");
}

}  // namespace rulemill::prove
