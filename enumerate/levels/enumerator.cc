#include "enumerate/levels/enumerator.h"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/text/error.h"

namespace rulemill::enumerate {

Enumerator::Enumerator(const Profile& profile, algebra::Library& library, bool no_symmetry)
    : profile_(profile), signatures_(profile, library, types_), symmetry_(profile, no_symmetry) {
  for (const Family& family : signatures_.families()) arity_stride_ = std::max(arity_stride_, family.arity);
  for (const Variable& variable : profile.variables)
    terms_.extend(terms_.add_variable(types_.intern(variable.shape), variable.role));
  expanded_terms_ = static_cast<TermId>(terms_.terms());
  symmetry_.add_variables(terms_);
}

void Enumerator::count_blocks(const ParallelFor& parallel_for, const Sum& sum) {
  // The numbers of rows and nodes of each block, then flags of the signatures that occur.
  std::vector<std::uint64_t> counts(2 * blocks_.size() + signatures_.size(), 0);
  used_.assign(signatures_.size(), 0);
  constexpr std::size_t chunk = 256;
  const std::size_t chunks = (blocks_.size() + chunk - 1) / chunk;
  parallel_for(chunks, [&](std::size_t c) {
    NodeWalker walker(index_);
    for (std::size_t u = c * chunk; u < std::min(blocks_.size(), (c + 1) * chunk); ++u) {
      const LevelCounts here = walker.count(blocks_[u], used_);
      counts[2 * u] = here.terms;
      counts[2 * u + 1] = here.nodes;
    }
  });
  std::copy(used_.begin(), used_.end(), counts.end() - static_cast<std::ptrdiff_t>(used_.size()));
  if (sum) counts = sum(counts);
  for (std::size_t u = 0; u < blocks_.size(); ++u) {
    blocks_[u].first_row = counts[2 * u];
    blocks_[u].first_node = counts[2 * u + 1];
  }
  for (std::size_t s = 0; s < used_.size(); ++s) used_[s] = counts[2 * blocks_.size() + s] != 0 ? 1 : 0;
}

LevelCounts Enumerator::begin_level(std::uint32_t level, const ParallelFor& parallel_for, const Sum& sum) {
  std::vector<Positions> positions(types_.size());
  for (TermId t = 0; t < terms_.terms(); ++t) {
    const Positions& here = terms_.positions(t);
    if (here.empty() || !terms_.is_extended(t)) continue;
    Positions& all = positions[terms_.type(t)];
    all.resize(here.size());
    for (std::size_t d = 0; d < here.size(); ++d) {
      for (const std::int64_t position : here[d]) {
        const auto at = std::ranges::lower_bound(all[d], position);
        if (at == all[d].end() || *at != position) all[d].insert(at, position);
      }
    }
  }
  signatures_.extend(positions);
  if (level == 1) signatures_.check_variables();
  index_.rebuild(level, expanded_terms_);
  // An argument that shares no node with the primary one has at most half of the level's nodes.
  symmetry_.precompute_smallest(terms_, index_.first_of_level(std::min((level - 1) / 2 + 1, level)));

  blocks_.clear();
  if (level == 1) blocks_.push_back({});
  for (TermId t = 0; t < terms_.terms(); ++t) {
    const bool large_enough = terms_.level(t) * arity_stride_ >= level - 1;
    if (large_enough && terms_.is_extended(t) && symmetry_.is_canonical(t)) blocks_.push_back({t, 0, 0});
  }
  count_blocks(parallel_for, sum);
  std::erase_if(blocks_, [](const RowBlock& block) { return block.first_row == 0; });
  LevelCounts total;
  for (RowBlock& block : blocks_) {
    const LevelCounts here{block.first_node, block.first_row};
    block.first_row = total.terms;
    block.first_node = total.nodes;
    total.terms += here.terms;
    total.nodes += here.nodes;
  }
  rows_ = total.terms;
  return total;
}

std::vector<SignatureId> Enumerator::signatures_in_use() const {
  std::vector<SignatureId> result;
  for (SignatureId s = 0; s < used_.size(); ++s) {
    if (used_[s]) result.push_back(s);
  }
  return result;
}

void Enumerator::walk(std::uint64_t first, std::uint64_t last, NodeSink& sink) const {
  NodeWalker walker(index_);
  auto block = std::ranges::upper_bound(blocks_, first, {}, &RowBlock::first_row);
  if (block != blocks_.begin()) --block;
  for (; block != blocks_.end() && block->first_row < last; ++block) walker.visit(*block, first, last, sink);
}

std::uint64_t Enumerator::nodes_before(std::uint64_t row) const {
  auto block = std::ranges::upper_bound(blocks_, row, {}, &RowBlock::first_row);
  if (block == blocks_.begin()) return 0;
  --block;
  NodeWalker walker(index_);
  return block->first_node + walker.count_nodes(*block, row);
}

void Enumerator::add_terms(SignatureId s, std::span<const TermId> arguments, std::span<const NodeId> below) {
  const Signature& signature = signatures_[s];
  std::uint8_t role = 0;
  std::vector<const Positions*> positions;
  for (const TermId t : arguments) {
    role = std::max<std::uint8_t>(role, terms_.argument_class(t) / 2);
    positions.push_back(&terms_.positions(t));
  }
  terms_.add_node(s, arguments, below);
  for (std::size_t o = 0; o < signature.outputs.size(); ++o) {
    const Positions here =
        output_positions(*signature.facts, o, types_.shape(signature.outputs[o]), signature.slots, positions);
    terms_.add_output(static_cast<std::uint8_t>(o), signature.outputs[o], role, terms_.intern_positions(here));
  }
}

void Enumerator::end_level(const ExpandedNodes& nodes, bool all) {
  const auto first_term = static_cast<TermId>(terms_.terms());
  std::vector<NodeId> below, renamed;
  for (std::size_t orbit = 0; orbit < nodes.signatures.size(); ++orbit) {
    const Signature& signature = signatures_[nodes.signatures[orbit]];
    const auto arguments_of = [&](std::uint32_t image) {
      return std::span(nodes.arguments).subspan(std::size_t{image} * arity_stride_, signature.arguments.size());
    };
    const std::uint32_t first = nodes.first_image[orbit], last = nodes.first_image[orbit + 1];
    below = index_.union_of(arguments_of(first));
    VariableSet variables = 0;
    for (const TermId t : arguments_of(first)) variables |= terms_.variables(t);
    const RenamingList& list = symmetry_.renamings().of(variables);
    const auto first_node = static_cast<NodeId>(terms_.nodes());
    // The closure of a renamed node is the renamed closure.
    for (std::uint32_t image = first; image < last; ++image) {
      renamed.clear();
      for (const NodeId n : below) renamed.push_back(symmetry_.rename_node(n, list.swaps_of(nodes.renaming[image])));
      std::ranges::sort(renamed);
      add_terms(nodes.signatures[orbit], arguments_of(image), renamed);
    }
    for (TermId t = terms_.first_term(first_node); t < terms_.terms(); ++t) {
      terms_.set_representative(t, nodes.representatives[t - first_term]);
      if (all || terms_.representative(t) == t) terms_.extend(t);
    }
    symmetry_.add_orbit(terms_, first_node, signatures_.families()[signature.family].commutative, all);
  }
  expanded_terms_ = static_cast<TermId>(terms_.terms());
  symmetry_.find_canonical(terms_, first_term);
}

void Enumerator::end_level(const CanonicalNodes& nodes, bool all) {
  RM_CHECK(nodes.signatures.size() == rows_ && nodes.is_new.size() == rows_, "a level must end with all of its rows");
  for (std::uint64_t row = 0; row < rows_;) {
    const Signature& signature = signatures_[nodes.signatures[row]];
    const auto arguments = std::span(nodes.arguments).subspan(row * arity_stride_, signature.arguments.size());
    const auto first = static_cast<TermId>(terms_.terms());
    add_terms(nodes.signatures[row], arguments, index_.union_of(arguments));
    for (TermId t = first; t < terms_.terms(); ++t, ++row) {
      if (!all && !nodes.is_new[row]) continue;
      terms_.extend(t);
      symmetry_.add_canonical(terms_, t, nodes.stabilizers[row]);
    }
  }
}

namespace {

std::uint64_t choose2(std::uint64_t n) { return n < 2 ? 0 : n * (n - 1) / 2; }
std::uint64_t choose3(std::uint64_t n) { return n < 3 ? 0 : n * (n - 1) * (n - 2) / 6; }
std::uint64_t choose4(std::uint64_t n) { return n < 4 ? 0 : choose3(n) * (n - 3) / 4; }

/// Calls body(nodes) for every node of the level, with all its renamings. `nodes` is the closure without the node.
template <class Body>
void for_each_closure(std::uint32_t level, const Enumerator& enumerator, const Body& body) {
  const TermTable& terms = enumerator.terms();
  const Symmetry& symmetry = enumerator.symmetry();
  for (NodeId n = 0; n < terms.nodes(); ++n) {
    const auto below = terms.closure(n).first(terms.closure(n).size() - 1);
    if (below.size() + 1 != level) continue;
    const TermId t = terms.first_term(n);
    if (t < enumerator.expanded_terms()) {
      body(std::vector<NodeId>(below.begin(), below.end()));
      continue;
    }
    // The table contains only the representative of the orbit.
    const RenamingList& list = symmetry.renamings().of(terms.variables(t));
    const bool commutative = enumerator.signatures().is_commutative(terms.signature(n));
    std::set<std::vector<TermId>> known;
    for (std::uint32_t r = 0; r < list.count; ++r) {
      std::vector<TermId> arguments;
      for (const TermId argument : terms.arguments(n)) arguments.push_back(symmetry.rename(argument, list.swaps_of(r)));
      if (commutative) std::ranges::sort(arguments);
      if (!known.insert(std::move(arguments)).second) continue;
      std::vector<NodeId> nodes;
      for (const NodeId b : below) nodes.push_back(symmetry.rename_node(b, list.swaps_of(r)));
      std::ranges::sort(nodes);
      body(nodes);
    }
  }
}

}  // namespace

std::optional<std::uint64_t> count_graphs(std::uint32_t size, const Enumerator& enumerator,
                                          std::span<const std::uint64_t> level_nodes) {
  const TermTable& terms = enumerator.terms();
  if (size == 0 || size > 4 || size >= level_nodes.size()) return std::nullopt;
  const std::uint64_t n1 = level_nodes[1];
  if (size == 1) return n1;
  const std::uint64_t n2 = level_nodes[2];
  // {a, b}, both of level 1, or {a, b(a)}
  if (size == 2) return choose2(n1) + n2;

  std::vector<std::uint64_t> above(terms.nodes(), 0);  // by node of level 1: its users of level 2
  for_each_closure(2, enumerator, [&](const std::vector<NodeId>& below) { ++above[below[0]]; });
  std::uint64_t two_above = 0, three_above = 0, squares = 0;
  for (const std::uint64_t count : above) {
    two_above += choose2(count);
    three_above += choose3(count);
    squares += count * count;
  }
  const std::uint64_t n3 = level_nodes[3];
  // Three nodes of level 1; one of level 2 with its argument and another of level 1; two of level 2 with a common
  // argument; one of level 3.
  if (size == 3) return choose3(n1) + n2 * (n1 - 1) + two_above + n3;

  std::map<std::vector<NodeId>, std::uint64_t> pairs;  // number of level-3 nodes with this closure
  for_each_closure(3, enumerator, [&](const std::vector<NodeId>& below) { ++pairs[below]; });
  // The closure of a node of level 3 is {p, q}, where q uses p, or both are of level 1.
  std::uint64_t same_pair = 0, adjacent = 0, separate = 0;
  for (const auto& [pair, count] : pairs) {
    const NodeId p = pair[0], q = pair[1];
    const bool chain = terms.closure(q).size() == 2;
    same_pair += choose2(count);
    adjacent += count * (chain ? above[p] - 1 : above[p] + above[q]);  // with a node of level 2 that uses p or q
    separate += count * (n1 - (chain ? 1 : 2));                        // with another node of level 1
  }
  return choose4(n1) + n2 * choose2(n1 - 1) + two_above * (n1 - 1) + (n2 * n2 - squares) / 2 + three_above + same_pair +
         adjacent + separate + level_nodes[4];
}

}  // namespace rulemill::enumerate
