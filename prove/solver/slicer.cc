#include "prove/solver/slicer.h"

#include <algorithm>

namespace rulemill::prove {

using check::Guard;
using check::Guards;
using check::Obligation;

const Slicer::Set& Slicer::names(const check::Poly& poly) {
  const auto [found, is_new] = names_.try_emplace(poly);
  if (is_new) {
    atoms_.collect(poly, found->second);
    std::erase_if(found->second, [&](check::Atom atom) { return atoms_.is_compound(atom); });
  }
  return found->second;
}

Guards Slicer::take(Guards& guards, Set reached) {
  std::vector<bool> taken(guards.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < guards.size(); ++i) {
      const Set& own = names(guards[i].poly);
      const auto is_reached = [&](check::Atom atom) { return reached.contains(atom); };
      if (taken[i] || std::ranges::none_of(own, is_reached)) continue;
      taken[i] = changed = true;
      reached.insert(own.begin(), own.end());
    }
  }
  Guards part, rest;
  for (std::size_t i = 0; i < guards.size(); ++i) (taken[i] ? part : rest).push_back(std::move(guards[i]));
  guards = std::move(rest);
  return part;
}

Guards Slicer::around(const Guards& guards, const check::Poly& poly) {
  Guards all = guards;
  return take(all, names(poly));
}

std::vector<Obligation> Slicer::parts(const Obligation& obligation) {
  Set reached;
  std::optional<Guard> goal = obligation.goal;
  if (goal) reached = names(goal->poly);
  if (goal && goal->equality && goal->poly < -goal->poly) goal->poly = -goal->poly;
  if (obligation.given.empty()) return {obligation};
  Guards left = obligation.given;
  std::vector<Obligation> result;
  const auto add = [&](Guards given) { result.push_back({obligation.what, std::move(given), goal, {}}); };
  if (!reached.empty()) {
    add(take(left, std::move(reached)));
    return result;
  }
  while (!left.empty()) {
    const Set first = names(left[0].poly);
    if (!first.empty()) {
      add(take(left, first));
      continue;
    }
    add({left[0]});  // a number
    left.erase(left.begin());
  }
  return result;
}

}  // namespace rulemill::prove
