#include "enumerate/levels/enumerator.h"

#include <algorithm>

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

}  // namespace rulemill::enumerate
