#include "enumerate/levels/walker.h"

#include <algorithm>
#include <atomic>

namespace rulemill::enumerate {
namespace {

/// Returns the completions of one type. `completions` are sorted by type.
std::span<const Completion> of_type(const std::vector<Completion>& completions, TypeId type) {
  return {std::ranges::lower_bound(completions, type, {}, &Completion::type),
          std::ranges::upper_bound(completions, type, {}, &Completion::type)};
}

/// Counts the common nodes of two short lists.
std::size_t shared_nodes(std::span<const NodeId> a, std::span<const NodeId> b) {
  std::size_t shared = 0;
  for (const NodeId n : a) shared += std::ranges::find(b, n) != b.end() ? 1 : 0;
  return shared;
}

}  // namespace

NodeWalker::ArgumentOrders NodeWalker::orders(TermId primary, TermId other) const {
  const std::uint32_t level = terms_.level(primary), other_level = terms_.level(other);
  if (other_level != level) return other_level < level ? ArgumentOrders::Both : ArgumentOrders::None;
  const TermId canonical = index_.symmetry().canonical(other);
  if (canonical == primary) return ArgumentOrders::One;  // the other order is a renaming of this one
  return canonical > primary ? ArgumentOrders::Both : ArgumentOrders::None;
}

bool NodeWalker::is_mirror(TermId primary, TermId other) const {
  if (primary == other || other >= index_.expanded_terms()) return false;
  const Symmetry& symmetry = index_.symmetry();
  const RenamingList& list = symmetry.renamings().of(terms_.variables(primary));
  std::uint32_t r = 0;
  while (symmetry.rename(primary, list.swaps_of(r)) != other) ++r;
  const auto swaps = list.swaps_of(r);
  const std::vector<std::uint8_t> back(swaps.rbegin(), swaps.rend());
  const TermId mirror = symmetry.rename(primary, back);
  return symmetry.smallest_in_orbit(primary, mirror, terms_) < symmetry.smallest_in_orbit(primary, other, terms_);
}

void NodeWalker::find_overlapping(std::span<const NodeId> nodes, std::uint32_t highest,
                                  std::vector<TermId>& found) const {
  found.clear();
  const std::size_t target = index_.level() - 1;
  for (std::uint32_t level = 1; level <= std::min<std::size_t>(highest, target); ++level) {
    if (level + nodes.size() <= target) continue;  // disjoint
    const std::size_t shared = level + nodes.size() - target;
    if (shared > nodes.size() || shared > level) continue;
    const auto keep = [&](std::span<const TermId> list) {
      for (const TermId t : list) {
        if (shared_nodes(nodes, terms_.closure_of_term(t)) == shared) found.push_back(t);
      }
    };
    if (shared == nodes.size()) {  // all nodes are shared: the users of the node with the fewest users
      std::span<const TermId> shortest = index_.users(nodes[0], level);
      for (const NodeId n : nodes) {
        if (const auto list = index_.users(n, level); list.size() < shortest.size()) shortest = list;
      }
      keep(shortest);
    } else {
      for (const NodeId n : nodes) keep(index_.users(n, level));
    }
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
}

void NodeWalker::find_below(TermId t, std::vector<TermId>& found) const {
  found.clear();
  for (const NodeId n : terms_.closure_of_term(t)) {
    const TermId end = n + 1 < terms_.nodes() ? terms_.first_term(n + 1) : static_cast<TermId>(terms_.terms());
    for (TermId output = terms_.first_term(n); output < end; ++output) {
      if (terms_.is_extended(output)) found.push_back(output);
    }
  }
}

template <class Body>
void NodeWalker::visit_pair(TermId primary, TermId other, const Body& body) {
  const ArgumentOrders orders = this->orders(primary, other);
  if (orders == ArgumentOrders::None) return;
  const bool mirrored = orders == ArgumentOrders::One && is_mirror(primary, other);
  for (const BinaryUse& use : index_.binary_uses(terms_.type(primary))) {
    if (orders == ArgumentOrders::One && use.missing == 0) continue;
    if (mirrored && signatures_.families()[use.family].commutative) continue;
    for (const Completion& completion : of_type(*use.completions, terms_.type(other))) {
      const Signature& signature = signatures_[completion.signature];
      if (!index_.fits(signature, 1 - use.missing, primary) || !index_.fits(signature, use.missing, other)) continue;
      std::array<TermId, 2> arguments{primary, other};
      const bool other_first = signatures_.families()[use.family].commutative ? other < primary : use.missing == 0;
      if (other_first) std::swap(arguments[0], arguments[1]);
      body(completion.signature, std::span<const TermId>(arguments));
    }
  }
}

template <class Body>
void NodeWalker::for_each_binary_node(TermId primary, const Body& body) {
  if (index_.binary_uses(terms_.type(primary)).empty()) return;
  const std::uint32_t level = terms_.level(primary), target = index_.level() - 1;
  const auto nodes = terms_.closure_of_term(primary);
  const Symmetry& symmetry = index_.symmetry();
  if (const std::uint32_t rest = target - level; rest <= level) {
    // In order of types, as completions are; within a group in order of ids.
    for (TypeId type = 0; type < index_.types().size(); ++type) {
      const std::uint32_t group = terms_.find_group(static_cast<std::uint8_t>(rest), type);
      if (group == no_id) continue;
      const bool wanted = std::ranges::any_of(index_.binary_uses(terms_.type(primary)), [&](const BinaryUse& use) {
        return std::ranges::binary_search(*use.completions, type, {}, &Completion::type);
      });
      if (!wanted) continue;
      for (const TermId other : terms_.groups()[group].members) {
        if (symmetry.smallest_in_orbit(primary, other, terms_) != other) continue;
        if (rest != 0 && shared_nodes(nodes, terms_.closure_of_term(other)) != 0) continue;
        visit_pair(primary, other, body);
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
    if (other < index_.expanded_terms()) {
      const TermId smallest = symmetry.smallest_in_orbit(primary, other, terms_);
      if (std::ranges::find(seen_, smallest) != seen_.end()) continue;
      seen_.push_back(smallest);
    }
    visit_pair(primary, other, body);
  }
}

std::size_t NodeWalker::nodes_below(const PartialNode& node, std::uint32_t next) const {
  std::vector<TermId> terms(node.terms.begin(), node.terms.begin() + next);
  if (node.primary >= next) terms.push_back(node.terms[node.primary]);
  return index_.union_of(terms).size();
}

template <class Body>
void NodeWalker::visit_completions(const PartialNode& node, const Body& body) {
  const std::uint32_t arity = signatures_.families()[node.family].arity;
  const auto arguments = std::span<const TermId>(node.terms).first(arity);
  std::vector<TypeId> others;
  for (std::uint32_t i = 0; i + 1 < arity; ++i) others.push_back(terms_.type(arguments[i]));
  const auto& completions = signatures_.completions(node.family, arity - 1, others);
  for (const Completion& completion : of_type(completions, terms_.type(arguments[arity - 1]))) {
    bool fit = true;
    for (std::uint32_t i = 0; i < arity && fit; ++i)
      fit = index_.fits(signatures_[completion.signature], i, arguments[i]);
    if (fit) body(completion.signature, arguments);
  }
}

template <class Body>
void NodeWalker::choose_arguments(PartialNode& node, std::uint32_t next, bool first, const Body& body) {
  if (next == node.primary) return choose_arguments(node, next + 1, first, body);
  const std::uint32_t arity = signatures_.families()[node.family].arity, target = index_.level() - 1;
  const TermId primary = node.terms[node.primary];
  const std::size_t below = nodes_below(node, next);
  if (below > target) return;
  if (next >= arity) {
    if (below == target) visit_completions(node, body);
    return;
  }
  std::array<TypeId, max_arity> types{};
  for (std::uint32_t i = 0; i < next; ++i) types[i] = terms_.type(node.terms[i]);
  const auto can_begin = [&](TypeId type) {
    types[next] = type;
    return next + 1 == arity || signatures_.can_begin(node.family, std::span<const TypeId>(types).first(next + 1));
  };
  const auto choose = [&](TermId t) {
    const ArgumentOrders orders = this->orders(primary, t);
    if (orders == ArgumentOrders::None || (orders == ArgumentOrders::One && next < node.primary)) return;
    if (first && t < index_.expanded_terms() && index_.symmetry().smallest_in_orbit(primary, t, terms_) != t) return;
    if (!can_begin(terms_.type(t))) return;
    node.terms[next] = t;
    choose_arguments(node, next + 1, false, body);
  };
  if (terms_.level(primary) == target) {
    for (TermId t = 0; t < index_.first_of_level(1); ++t) choose(t);
    std::vector<TermId> subterms;
    find_below(primary, subterms);
    for (const TermId t : subterms) choose(t);
  } else {
    for (const TermGroup& group : terms_.groups()) {
      if (group.level > terms_.level(primary) || !can_begin(group.type)) continue;
      for (const TermId t : group.members) choose(t);
    }
  }
}

template <class Body>
void NodeWalker::for_each_nary_node(TermId primary, const Body& body) {
  for (std::uint32_t f = 0; f < signatures_.families().size(); ++f) {
    const std::uint32_t arity = signatures_.families()[f].arity;
    if (arity <= 2 || terms_.level(primary) * arity < index_.level() - 1) continue;
    for (std::uint32_t position = 0; position < arity; ++position) {
      PartialNode node{f, position, {}};
      node.terms[position] = primary;
      choose_arguments(node, 0, true, body);
    }
  }
}

template <class Body>
void NodeWalker::for_each_node(const RowBlock& block, const Body& body) {
  const auto& families = signatures_.families();
  if (block.primary == no_id) {
    for (std::uint32_t f = 0; f < families.size(); ++f) {
      if (families[f].constant != nullptr) body(signatures_.constant(f), std::span<const TermId>());
    }
    return;
  }
  if (terms_.level(block.primary) + 1u == index_.level()) {
    for (const SignatureId s : index_.unary_signatures(terms_.type(block.primary))) {
      if (index_.fits(signatures_[s], 0, block.primary)) body(s, std::span<const TermId>(&block.primary, 1));
    }
  }
  for_each_binary_node(block.primary, body);
  for_each_nary_node(block.primary, body);
}

LevelCounts NodeWalker::count(const RowBlock& block, std::span<std::uint8_t> used) {
  LevelCounts counts;
  for_each_node(block, [&](SignatureId signature, std::span<const TermId>) {
    std::atomic_ref(used[signature]).store(1, std::memory_order_relaxed);
    ++counts.nodes;
    counts.terms += signatures_[signature].outputs.size();
  });
  return counts;
}

std::uint64_t NodeWalker::count_nodes(const RowBlock& block, std::uint64_t row) {
  std::uint64_t nodes = 0, at = block.first_row;
  for_each_node(block, [&](SignatureId signature, std::span<const TermId>) {
    nodes += at < row ? 1 : 0;
    at += signatures_[signature].outputs.size();
  });
  return nodes;
}

void NodeWalker::visit(const RowBlock& block, std::uint64_t first, std::uint64_t last, NodeSink& sink) {
  std::uint64_t row = block.first_row;
  for_each_node(block, [&](SignatureId signature, std::span<const TermId> arguments) {
    if (row >= first && row < last) sink.add_node(signature, arguments, row);
    row += signatures_[signature].outputs.size();
  });
}

}  // namespace rulemill::enumerate
