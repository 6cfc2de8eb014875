#include "enumerate/terms/symmetry.h"

#include <algorithm>

#include "runtime/text/error.h"

namespace rulemill::enumerate {

void Symmetry::add_variables(const TermTable& terms) {
  const auto& swaps = renamings_.swaps();
  term_action_.resize(swaps.size());
  node_action_.resize(swaps.size());
  for (std::size_t s = 0; s < swaps.size(); ++s) {
    for (TermId t = 0; t < terms.terms(); ++t) term_action_[s].push_back(t);
    std::swap(term_action_[s][swaps[s].a], term_action_[s][swaps[s].b]);
  }
  find_canonical(terms, 0);
}

void Symmetry::add_orbit(const TermTable& terms, NodeId first, bool commutative, bool all_terms) {
  const auto key = [&](std::span<const TermId> arguments) {
    std::vector<TermId> sorted(arguments.begin(), arguments.end());
    if (commutative) std::ranges::sort(sorted);
    return sorted;
  };
  std::map<std::vector<TermId>, NodeId> orbit;
  for (auto n = first; n < terms.nodes(); ++n) orbit.emplace(key(terms.arguments(n)), n);
  std::vector<TermId> renamed;
  for (std::size_t s = 0; s < renamings_.swaps().size(); ++s) {
    for (auto n = first; n < terms.nodes(); ++n) {
      renamed.clear();
      for (const TermId argument : terms.arguments(n)) renamed.push_back(term_action_[s][argument]);
      const auto found = orbit.find(key(renamed));
      RM_CHECK(found != orbit.end(), "a renaming of a node must be in its orbit");
      node_action_[s].push_back(found->second);
      const TermId from = terms.first_term(n), to = terms.first_term(found->second);
      const TermId end = n + 1 < terms.nodes() ? terms.first_term(n + 1) : static_cast<TermId>(terms.terms());
      for (TermId t = from; t < end; ++t) {
        const TermId image = to + (t - from);
        term_action_[s].push_back(all_terms ? image : terms.representative(image));
      }
    }
  }
}

VariableSet Symmetry::moved_by(std::span<const std::uint8_t> swaps) const {
  VariableSet moved = 0;
  for (const std::uint8_t s : swaps)
    moved |= VariableSet{1} << renamings_.swaps()[s].a | VariableSet{1} << renamings_.swaps()[s].b;
  return moved;
}

void Symmetry::set_stabilizer(const TermTable& terms, TermId t, std::span<const std::uint32_t> fixing) {
  const VariableSet own = terms.variables(t);
  const RenamingList& list = renamings_.of(own);
  std::vector<std::vector<std::uint8_t>> generators;
  for (std::uint8_t s = 0; s < renamings_.swaps().size(); ++s) {
    const VariableSet moved = moved_by({&s, 1});
    if ((moved & own) == 0) generators.push_back({s});
  }
  for (const std::uint32_t renaming : fixing) {
    const auto swaps = list.swaps_of(renaming);
    if (!swaps.empty()) generators.emplace_back(swaps.begin(), swaps.end());
  }
  std::ranges::sort(generators);
  const auto [found, added] = known_.try_emplace(generators, static_cast<std::uint32_t>(stabilizers_.size()));
  if (added) {
    Stabilizer& made = stabilizers_.emplace_back();
    for (const auto& swaps : generators) made.moved.push_back(moved_by(swaps));
    made.generators = std::move(generators);
  }
  stabilizer_[t] = found->second;
}

void Symmetry::find_canonical(const TermTable& terms, TermId first) {
  canonical_.resize(terms.terms(), no_id);
  stabilizer_.resize(terms.terms(), no_id);
  std::vector<std::uint32_t> fixing;
  for (TermId t = first; t < terms.terms(); ++t) {
    if (!terms.is_extended(t) || canonical_[t] != no_id) continue;
    const RenamingList& list = renamings_.of(terms.variables(t));
    fixing.clear();
    for (std::uint32_t r = 0; r < list.count; ++r) {
      const TermId image = rename(t, list.swaps_of(r));
      canonical_[image] = t;
      if (image == t) fixing.push_back(r);
    }
    set_stabilizer(terms, t, fixing);
  }
}

void Symmetry::add_canonical(const TermTable& terms, TermId t, std::span<const std::uint32_t> fixing) {
  canonical_.resize(t + 1, no_id);
  stabilizer_.resize(t + 1, no_id);
  canonical_[t] = t;
  set_stabilizer(terms, t, fixing);
}

void Symmetry::precompute_smallest(const TermTable& terms, TermId limit) {
  std::vector<bool> seen(stabilizers_.size(), false);
  for (TermId t = 0; t < stabilizer_.size(); ++t) {
    const std::uint32_t id = stabilizer_[t];
    if (id == no_id || seen[id]) continue;
    seen[id] = true;
    Stabilizer& stabilizer = stabilizers_[id];
    for (auto u = static_cast<TermId>(stabilizer.smallest.size()); u < limit; ++u)
      stabilizer.smallest.push_back(terms.is_extended(u) ? find_smallest(stabilizer, u, terms) : no_id);
  }
}

TermId Symmetry::find_smallest(const Stabilizer& stabilizer, TermId t, const TermTable& terms) const {
  std::vector<TermId> orbit{t};
  TermId smallest = t;
  for (std::size_t i = 0; i < orbit.size(); ++i) {
    const VariableSet own = terms.variables(orbit[i]);
    for (std::size_t g = 0; g < stabilizer.generators.size(); ++g) {
      if ((stabilizer.moved[g] & own) == 0) continue;
      const TermId image = rename(orbit[i], stabilizer.generators[g]);
      if (std::ranges::find(orbit, image) != orbit.end()) continue;
      orbit.push_back(image);
      smallest = std::min(smallest, image);
    }
  }
  return smallest;
}

TermId Symmetry::smallest_in_orbit(TermId canonical, TermId t, const TermTable& terms) const {
  const Stabilizer& stabilizer = stabilizers_[stabilizer_[canonical]];
  if (t < stabilizer.smallest.size()) return stabilizer.smallest[t];
  return find_smallest(stabilizer, t, terms);
}

}  // namespace rulemill::enumerate
