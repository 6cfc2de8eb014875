#include "enumerate/walker.h"

#include <algorithm>

namespace rulemill::enumerate {
namespace {

/// Of completions sorted by type.
std::span<const Completion> of_type(const std::vector<Completion>& completions, TypeId type) {
  return {std::ranges::lower_bound(completions, type, {}, &Completion::type),
          std::ranges::upper_bound(completions, type, {}, &Completion::type)};
}

/// Both sorted and short.
std::size_t shared_nodes(std::span<const NodeId> a, std::span<const NodeId> b) {
  std::size_t shared = 0;
  for (const NodeId n : a) shared += std::ranges::find(b, n) != b.end() ? 1 : 0;
  return shared;
}

}  // namespace

Enumerator::Walker::Orders Enumerator::Walker::orders(TermId primary, TermId other) const {
  const std::uint32_t level = terms_.level(primary), other_level = terms_.level(other);
  if (other_level != level) return other_level < level ? Orders::Both : Orders::None;
  const TermId canonical = owner_.symmetry_.canonical(other);
  if (canonical == primary) return Orders::One;  // the other order is a renaming of this one
  return canonical > primary ? Orders::Both : Orders::None;
}

bool Enumerator::Walker::is_mirror(TermId primary, TermId other) const {
  if (primary == other || other >= owner_.named_terms_) return false;
  const Symmetry& symmetry = owner_.symmetry_;
  const RenamingList& list = symmetry.renamings().of(terms_.variables(primary));
  std::uint32_t r = 0;
  while (symmetry.rename(primary, list.swaps_of(r)) != other) ++r;
  const auto swaps = list.swaps_of(r);
  const std::vector<std::uint8_t> back(swaps.rbegin(), swaps.rend());
  const TermId mirror = symmetry.rename(primary, back);
  return symmetry.smallest(primary, mirror, terms_) < symmetry.smallest(primary, other, terms_);
}

void Enumerator::Walker::find_overlapping(std::span<const NodeId> nodes, std::uint32_t highest,
                                          std::vector<TermId>& found) const {
  found.clear();
  const auto users = [&](NodeId n, std::uint32_t level) {
    const auto all =
        std::span(owner_.users_).subspan(owner_.first_user_[n], owner_.first_user_[n + 1] - owner_.first_user_[n]);
    const auto begin = std::ranges::lower_bound(all, owner_.first_of_level_[level]);
    const auto end = std::ranges::lower_bound(begin, all.end(), owner_.first_of_level_[level + 1]);
    return std::span<const TermId>(begin, end);
  };
  const std::size_t target = owner_.level_ - 1;
  for (std::uint32_t level = 1; level <= std::min<std::size_t>(highest, target); ++level) {
    if (level + nodes.size() <= target) continue;  // these would be disjoint
    const std::size_t shared = level + nodes.size() - target;
    if (shared > nodes.size() || shared > level) continue;
    const auto keep = [&](std::span<const TermId> list) {
      for (const TermId t : list) {
        if (shared_nodes(nodes, terms_.closure_of_term(t)) == shared) found.push_back(t);
      }
    };
    if (shared == nodes.size()) {  // all of them: those above the one with the fewest
      std::span<const TermId> shortest = users(nodes[0], level);
      for (const NodeId n : nodes) {
        if (const auto list = users(n, level); list.size() < shortest.size()) shortest = list;
      }
      keep(shortest);
    } else {
      for (const NodeId n : nodes) keep(users(n, level));
    }
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
}

void Enumerator::Walker::find_below(TermId t, std::vector<TermId>& found) const {
  found.clear();
  for (const NodeId n : terms_.closure_of_term(t)) {
    const TermId end = n + 1 < terms_.nodes() ? terms_.first_term(n + 1) : static_cast<TermId>(terms_.terms());
    for (TermId output = terms_.first_term(n); output < end; ++output) {
      if (terms_.is_extended(output)) found.push_back(output);
    }
  }
}

template <class Body>
void Enumerator::Walker::beside(TermId primary, TermId other, const Body& body) {
  const Orders orders = this->orders(primary, other);
  if (orders == Orders::None) return;
  const bool mirrored = orders == Orders::One && is_mirror(primary, other);
  for (const Opening& opening : owner_.openings_[terms_.type(primary)]) {
    if (orders == Orders::One && opening.open == 0) continue;
    if (mirrored && signatures_.families()[opening.family].commutative) continue;
    for (const Completion& completion : of_type(*opening.completions, terms_.type(other))) {
      const Signature& signature = signatures_[completion.signature];
      if (!owner_.fits(signature, 1 - opening.open, primary) || !owner_.fits(signature, opening.open, other)) continue;
      std::array<TermId, 2> arguments{primary, other};
      const bool other_first = signatures_.families()[opening.family].commutative ? other < primary : opening.open == 0;
      if (other_first) std::swap(arguments[0], arguments[1]);
      body(completion.signature, std::span<const TermId>(arguments));
    }
  }
}

template <class Body>
void Enumerator::Walker::each_binary(TermId primary, const Body& body) {
  if (owner_.openings_[terms_.type(primary)].empty()) return;
  const std::uint32_t level = terms_.level(primary), target = owner_.level_ - 1;
  const auto nodes = terms_.closure_of_term(primary);
  const Symmetry& symmetry = owner_.symmetry_;
  if (const std::uint32_t rest = target - level; rest <= level) {
    // By type, as completions are; a group's members by id.
    for (TypeId type = 0; type < owner_.types_.size(); ++type) {
      const std::uint32_t group = terms_.find_group(static_cast<std::uint8_t>(rest), type);
      if (group == no_id) continue;
      const bool wanted = std::ranges::any_of(owner_.openings_[terms_.type(primary)], [&](const Opening& opening) {
        return std::ranges::binary_search(*opening.completions, type, {}, &Completion::type);
      });
      if (!wanted) continue;
      for (const TermId other : terms_.groups()[group].members) {
        if (symmetry.smallest(primary, other, terms_) != other) continue;
        if (rest != 0 && shared_nodes(nodes, terms_.closure_of_term(other)) != 0) continue;
        beside(primary, other, body);
      }
    }
  }
  if (level == 0) return;
  if (level == target)
    find_below(primary, overlapping_);
  else
    find_overlapping(nodes, level, overlapping_);
  seen_.clear();
  for (const TermId other : overlapping_) {
    if (other < owner_.named_terms_) {
      const TermId smallest = symmetry.smallest(primary, other, terms_);
      if (std::ranges::find(seen_, smallest) != seen_.end()) continue;
      seen_.push_back(smallest);
    }
    beside(primary, other, body);
  }
}

std::size_t Enumerator::Walker::nodes_below(const Places& places, std::uint32_t next) const {
  std::vector<TermId> terms(places.terms.begin(), places.terms.begin() + next);
  if (places.primary >= next) terms.push_back(places.terms[places.primary]);
  return owner_.union_of(terms).size();
}

template <class Body>
void Enumerator::Walker::complete(const Places& places, const Body& body) {
  const std::uint32_t arity = signatures_.families()[places.family].arity;
  const auto arguments = std::span<const TermId>(places.terms).first(arity);
  std::vector<TypeId> others;
  for (std::uint32_t i = 0; i + 1 < arity; ++i) others.push_back(terms_.type(arguments[i]));
  const auto& completions = signatures_.completions(places.family, arity - 1, others);
  for (const Completion& completion : of_type(completions, terms_.type(arguments[arity - 1]))) {
    bool fit = true;
    for (std::uint32_t i = 0; i < arity && fit; ++i) {
      fit = owner_.fits(signatures_[completion.signature], i, arguments[i]);
    }
    if (fit) body(completion.signature, arguments);
  }
}

template <class Body>
void Enumerator::Walker::fill(Places& places, std::uint32_t next, bool first, const Body& body) {
  if (next == places.primary) return fill(places, next + 1, first, body);
  const std::uint32_t arity = signatures_.families()[places.family].arity, target = owner_.level_ - 1;
  const TermId primary = places.terms[places.primary];
  const std::size_t below = nodes_below(places, next);
  if (below > target) return;
  if (next >= arity) {
    if (below == target) complete(places, body);
    return;
  }
  std::array<TypeId, max_arity> types{};
  for (std::uint32_t i = 0; i < next; ++i) types[i] = terms_.type(places.terms[i]);
  const auto may_begin = [&](TypeId type) {
    types[next] = type;
    return next + 1 == arity || signatures_.may_begin(places.family, std::span<const TypeId>(types).first(next + 1));
  };
  const auto place = [&](TermId t) {
    const Orders orders = this->orders(primary, t);
    if (orders == Orders::None || (orders == Orders::One && next < places.primary)) return;
    if (first && t < owner_.named_terms_ && owner_.symmetry_.smallest(primary, t, terms_) != t) return;
    if (!may_begin(terms_.type(t))) return;
    places.terms[next] = t;
    fill(places, next + 1, false, body);
  };
  if (terms_.level(primary) == target) {
    for (TermId t = 0; t < owner_.first_of_level_[1]; ++t) place(t);
    std::vector<TermId> parts;
    find_below(primary, parts);
    for (const TermId t : parts) place(t);
  } else {
    for (const Group& group : terms_.groups()) {
      if (group.level > terms_.level(primary) || !may_begin(group.type)) continue;
      for (const TermId t : group.members) place(t);
    }
  }
}

template <class Body>
void Enumerator::Walker::each_long(TermId primary, const Body& body) {
  for (std::uint32_t f = 0; f < signatures_.families().size(); ++f) {
    const std::uint32_t arity = signatures_.families()[f].arity;
    if (arity <= 2 || terms_.level(primary) * arity < owner_.level_ - 1) continue;
    for (std::uint32_t place = 0; place < arity; ++place) {
      Places places{f, place, {}};
      places.terms[place] = primary;
      fill(places, 0, true, body);
    }
  }
}

template <class Body>
void Enumerator::Walker::each_node(const Unit& unit, const Body& body) {
  const auto& families = signatures_.families();
  if (unit.primary == no_id) {
    for (std::uint32_t f = 0; f < families.size(); ++f) {
      if (families[f].constant != nullptr) body(signatures_.constant(f), std::span<const TermId>());
    }
    return;
  }
  if (terms_.level(unit.primary) + 1u == owner_.level_) {
    for (const SignatureId s : owner_.unary_[terms_.type(unit.primary)]) {
      if (owner_.fits(signatures_[s], 0, unit.primary)) body(s, std::span<const TermId>(&unit.primary, 1));
    }
  }
  each_binary(unit.primary, body);
  each_long(unit.primary, body);
}

LevelCounts Enumerator::Walker::count(const Unit& unit) {
  LevelCounts counts;
  each_node(unit, [&](SignatureId signature, std::span<const TermId>) {
    owner_.mark_used(signature);
    ++counts.nodes;
    counts.terms += signatures_[signature].outputs.size();
  });
  return counts;
}

std::uint64_t Enumerator::Walker::count_nodes(const Unit& unit, std::uint64_t row) {
  std::uint64_t nodes = 0, at = unit.first_row;
  each_node(unit, [&](SignatureId signature, std::span<const TermId>) {
    nodes += at < row ? 1 : 0;
    at += signatures_[signature].outputs.size();
  });
  return nodes;
}

void Enumerator::Walker::visit(const Unit& unit, std::uint64_t first, std::uint64_t last, NodeSink& sink) {
  std::uint64_t row = unit.first_row;
  each_node(unit, [&](SignatureId signature, std::span<const TermId> arguments) {
    if (row >= first && row < last) sink.node(signature, arguments, row);
    row += signatures_[signature].outputs.size();
  });
}

}  // namespace rulemill::enumerate
