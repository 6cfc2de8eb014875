// Enumeration of nodes up to renaming, level by level. A node of level k applies a signature to terms whose closures
// together have k − 1 nodes, so that a shared subgraph counts once. A row is a term of the representative of an orbit:
// the node whose largest argument, the primary argument, is canonical. The order of rows is fixed: by primary argument,
// then by operator and the other arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "enumerate/levels/level_index.h"
#include "enumerate/levels/walker.h"
#include "enumerate/terms/symmetry.h"
#include "enumerate/terms/term_table.h"

namespace rulemill::enumerate {

/// A level's nodes with all their renamings. Orbits are in the order of rows; the representative is the first of its
/// orbit.
struct ExpandedNodes {
  std::vector<SignatureId> signatures;     // by orbit
  std::vector<std::uint32_t> first_image;  // by orbit: its first node; and the number of nodes
  std::vector<TermId> arguments;           // arity_stride per node
  std::vector<std::uint32_t> renaming;     // by node: the renaming of the representative's variables
  std::vector<TermId> representatives;     // by term, see TermTable::representative
};

/// A level's representatives only, for the second-to-last level.
struct CanonicalNodes {
  std::vector<SignatureId> signatures;                  // by row
  std::vector<TermId> arguments;                        // arity_stride per row
  std::vector<bool> is_new;                             // by row: no earlier term or renaming of one has the same value
  std::vector<std::vector<std::uint32_t>> stabilizers;  // by new row: renamings that do not change its value
};

class Enumerator {
 public:
  /// Runs body(i) for each i < count in any order, possibly in parallel.
  using ParallelFor = std::function<void(std::size_t count, const std::function<void(std::size_t)>& body)>;
  /// If several processes share the loop: adds their lists element by element.
  using Sum = std::function<std::vector<std::uint64_t>(const std::vector<std::uint64_t>&)>;

  /// With `no_symmetry`, no two variables are interchangeable: every node is a row.
  Enumerator(const Profile& profile, algebra::Library& library, bool no_symmetry = false);
  Enumerator(const Enumerator&) = delete;
  Enumerator& operator=(const Enumerator&) = delete;

  const Profile& profile() const { return profile_; }
  const TypeTable& types() const { return types_; }
  const SignatureTable& signatures() const { return signatures_; }
  const TermTable& terms() const { return terms_; }
  const Symmetry& symmetry() const { return symmetry_; }
  /// Terms with smaller ids are in the table with all their renamings.
  TermId expanded_terms() const { return expanded_terms_; }

  /// Counts and numbers the rows of a level. The lower levels must be complete.
  LevelCounts begin_level(std::uint32_t level, const ParallelFor& parallel_for, const Sum& sum = {});
  /// The level that was begun last.
  std::uint32_t level() const { return index_.level(); }
  /// Returns the signatures that occur on this level, ascending.
  std::vector<SignatureId> signatures_in_use() const;
  /// Visits the terms with rows in [first, last). A node with several outputs is visited if its first row is inside.
  void walk(std::uint64_t first, std::uint64_t last, NodeSink& sink) const;
  /// Returns the number of nodes whose first row is below `row`.
  std::uint64_t nodes_before(std::uint64_t row) const;

  /// Adds the level's nodes to the table. `all` extends every term, not only new ones. All lower levels must be
  /// expanded.
  void end_level(const ExpandedNodes& nodes, bool all);
  /// Adds the level's canonical nodes to the table. Only one more level can follow.
  void end_level(const CanonicalNodes& nodes, bool all);

  /// A row's arguments are stored at [row · arity_stride()].
  std::uint32_t arity_stride() const { return arity_stride_; }

 private:
  void count_blocks(const ParallelFor& parallel_for, const Sum& sum);
  void add_terms(SignatureId signature, std::span<const TermId> arguments, std::span<const NodeId> below);

  const Profile& profile_;
  TypeTable types_;
  SignatureTable signatures_;
  TermTable terms_;
  Symmetry symmetry_;
  LevelIndex index_{types_, signatures_, terms_, symmetry_};
  TermId expanded_terms_ = 0;
  std::uint32_t arity_stride_ = 1;
  std::uint64_t rows_ = 0;
  std::vector<std::uint8_t> used_;  // by signature: whether it occurs on the level
  std::vector<RowBlock> blocks_;
};

/// Returns the number of graphs of exactly `size` nodes with all their renamings, which the enumerated nodes cover, for
/// comparison with generators that enumerate graphs; nothing unless 1 ≤ size ≤ 4. A graph is a set of nodes that
/// contains the arguments of its nodes. Computed by formula from closures, without visiting graphs.
/// `level_nodes[l]` is the number of nodes of level l with all their renamings; the table must contain the levels below
/// `size`.
std::optional<std::uint64_t> count_graphs(std::uint32_t size, const Enumerator& enumerator,
                                          std::span<const std::uint64_t> level_nodes);

}  // namespace rulemill::enumerate
