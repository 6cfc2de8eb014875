// How renamings of variables act on the terms of the table, and which of them leave a term's value alone. Terms that
// the table holds under all their names are named terms; of each orbit of theirs one is canonical, the one with the
// smallest id. A node needs to be considered only with a canonical term for its largest argument, and for another
// argument the smallest of those that renamings which leave the first alone take into each other.
#pragma once

#include <map>
#include <vector>

#include "enumerate/renaming.h"
#include "enumerate/term_table.h"

namespace rulemill::enumerate {

class Symmetry {
 public:
  Symmetry(const Profile& profile, bool none) : renamings_(profile, none) {}

  const Renamings& renamings() const { return renamings_; }

  /// The table holds only variables: they are renamed by the swaps.
  void begin(const TermTable& terms);
  /// Nodes [first, table's end) are one orbit: the renamings of the first of them. Their terms have representatives,
  /// which stand for them unless `all_terms` are told apart.
  void add_orbit(const TermTable& terms, NodeId first, bool commutative, bool all_terms);
  /// Finds canonical terms among those from `first` on, and what leaves them alone.
  void find_canonical(const TermTable& terms, TermId first);
  /// Says of a term that is not named: these renamings of its variables leave its value alone.
  void add_canonical(const TermTable& terms, TermId t, std::span<const std::uint32_t> fixing);
  /// Looks up smallest() for terms below the level once and for all; `limit` is the first term above it.
  void tabulate(const TermTable& terms, TermId limit);

  /// What a named term's value becomes under the swaps: the representative.
  TermId rename(TermId t, std::span<const std::uint8_t> swaps) const {
    for (const std::uint8_t s : swaps) t = term_action_[s][t];
    return t;
  }
  NodeId rename_node(NodeId n, std::span<const std::uint8_t> swaps) const {
    for (const std::uint8_t s : swaps) n = node_action_[s][n];
    return n;
  }

  bool is_canonical(TermId t) const { return canonical_[t] == t; }
  /// The canonical term of an extended term's orbit.
  TermId canonical(TermId t) const { return canonical_[t]; }
  /// Of the named terms that renamings which leave the canonical term alone make of t: the smallest.
  TermId smallest(TermId canonical, TermId t, const TermTable& terms) const;

 private:
  /// The renamings that leave a term alone, by some that generate them. Of relu(x) beside variables y and z: the swap
  /// y ↔ z, which touches none of its variables. Of add(x, y), if it is commutative: x ↔ y besides, which makes another
  /// node of the same value. A term's orbit under them is searched by applying generators until nothing new comes.
  struct Stabilizer {
    std::vector<std::vector<std::uint8_t>> generators;  // by their swaps
    std::vector<VariableSet> moved;
    std::vector<TermId> smallest;  // by term, as far as looked up
  };
  VariableSet moved_by(std::span<const std::uint8_t> swaps) const;
  void set_stabilizer(const TermTable& terms, TermId t, std::span<const std::uint32_t> fixing);
  TermId search_smallest(const Stabilizer& stabilizer, TermId t, const TermTable& terms) const;

  Renamings renamings_;
  std::vector<std::vector<TermId>> term_action_;  // by swap and named term
  std::vector<std::vector<NodeId>> node_action_;  // by swap and node of named terms
  std::vector<TermId> canonical_;                 // by term; no_id: not extended
  std::vector<std::uint32_t> stabilizer_;         // by term
  std::vector<Stabilizer> stabilizers_;
  std::map<std::vector<std::vector<std::uint8_t>>, std::uint32_t> known_;  // by generators
};

}  // namespace rulemill::enumerate
