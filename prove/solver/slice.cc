// Slices the context of a query to the guards that share a size or an index with it, directly or indirectly.
#include <algorithm>
#include <unordered_set>

#include "prove/solver/query.h"

namespace rulemill::prove {

namespace {

bool contains(const Guards& guards, const Guard& guard) {
  return std::find(guards.begin(), guards.end(), guard) != guards.end();
}

/// Rewrites c·[g ∧ a] + d·[g ∧ b] ≠ 0 to g ∧ c·[a] + d·[b] ≠ 0.
void factor_out(Query& query) {
  if (query.indicators.empty()) return;
  for (const Guard& guard : Guards(query.indicators[0].second)) {
    const bool common = std::all_of(query.indicators.begin(), query.indicators.end(),
                                    [&](const auto& indicator) { return contains(indicator.second, guard); });
    if (!common) continue;
    for (auto& [coefficient, guards] : query.indicators) std::erase(guards, guard);
    query.asserted.push_back(guard);
  }
}

}  // namespace

Query slice(Query query, const Guards& context, const Symbols& symbols) {
  const bool has_indicators = !query.indicators.empty();
  factor_out(query);
  Guards candidates = context;
  std::unordered_set<Atom> reached;
  const auto reach = [&](const Guard& guard) {
    for (const Atom atom : symbols.atoms(guard.poly)) reached.insert(atom);
  };
  if (has_indicators) {
    candidates.insert(candidates.end(), query.asserted.begin(), query.asserted.end());
    query.asserted.clear();
    for (const auto& [coefficient, guards] : query.indicators) {
      for (const Guard& guard : guards) reach(guard);
    }
  } else {
    for (const Guard& guard : query.asserted) reach(guard);
  }
  Guards kept;
  const auto add = [&](const Guard& guard) {
    if (!contains(kept, guard)) kept.push_back(guard);
  };
  for (const Guard& guard : query.asserted) add(guard);
  std::vector<std::vector<Atom>> atoms;
  for (const Guard& guard : candidates) atoms.push_back(symbols.atoms(guard.poly));
  std::vector<bool> taken(candidates.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto is_reached = [&](Atom atom) { return reached.contains(atom); };
      if (taken[i] || (!reached.empty() && std::none_of(atoms[i].begin(), atoms[i].end(), is_reached))) continue;
      taken[i] = changed = true;
      reached.insert(atoms[i].begin(), atoms[i].end());
    }
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (taken[i]) add(candidates[i]);
  }
  query.asserted = std::move(kept);
  return query;
}

}  // namespace rulemill::prove
