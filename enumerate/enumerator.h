// Distinct nodes up to renaming, level by level. A node of level k applies a signature to terms whose closures together
// have k − 1 nodes, so that a shared subgraph counts once. A row is one term of one node of each orbit: the node whose
// largest argument, the primary, is canonical. Rows are numbered in one fixed order, whoever visits which part of them:
// by primary, then by operator and the other arguments.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "enumerate/symmetry.h"
#include "enumerate/term_table.h"

namespace rulemill::enumerate {

/// Receives nodes. `row` numbers the terms of the level: a node's outputs are consecutive rows.
class NodeSink {
 public:
  virtual ~NodeSink() = default;
  /// `arguments` in the signature's order; those of a commutative operator ascending.
  virtual void node(SignatureId signature, std::span<const TermId> arguments, std::uint64_t row) = 0;
};

/// What a level holds, one of each orbit.
struct LevelCounts {
  std::uint64_t nodes = 0;
  std::uint64_t terms = 0;
};

/// A level's nodes under all their names, orbit by orbit in the order of rows, the row's own node first.
struct NamedNodes {
  std::vector<SignatureId> signatures;     // by orbit
  std::vector<std::uint32_t> first_image;  // by orbit, one more: its nodes
  std::vector<TermId> arguments;           // arity_stride a node
  std::vector<std::uint32_t> renaming;     // by node: which renaming of the first node's variables it is
  std::vector<TermId> representatives;     // by term, see TermTable::representative
};

/// A level of which only canonical nodes are kept: the last one that later nodes build on.
struct CanonicalNodes {
  std::vector<SignatureId> signatures;             // by row
  std::vector<TermId> arguments;                   // arity_stride a row
  std::vector<bool> is_new;                        // by row: no earlier term or renaming of one has its value
  std::vector<std::vector<std::uint32_t>> fixing;  // by row that is new: renamings that leave its value alone
};

class Enumerator {
 public:
  /// Runs body(i) for each i < count, in any order, on as many threads as the caller likes.
  using ParallelFor = std::function<void(std::size_t count, const std::function<void(std::size_t)>& body)>;
  /// Where several processes share the loop: adds the lists of all up, place by place.
  using Sum = std::function<std::vector<std::uint64_t>(const std::vector<std::uint64_t>&)>;

  /// With `every_renaming`, no two variables are taken for each other: every node is a row.
  Enumerator(const Profile& profile, algebra::Library& library, bool every_renaming = false);

  const Profile& profile() const { return profile_; }
  const TypeTable& types() const { return types_; }
  const SignatureTable& signatures() const { return signatures_; }
  const TermTable& terms() const { return terms_; }
  const Symmetry& symmetry() const { return symmetry_; }
  /// Terms that the table holds under all names: ids below this.
  TermId named_terms() const { return named_terms_; }

  /// Prepares level k; levels below must be complete. Counts and numbers its rows.
  LevelCounts begin_level(std::uint32_t level, const ParallelFor& parallel_for, const Sum& sum = {});
  /// The level that was begun last.
  std::uint32_t level() const { return level_; }
  /// Signatures that occur on this level, ascending.
  std::vector<SignatureId> signatures_in_use() const;
  /// Visits the terms with rows in [first, last). A node with several outputs is visited if its first row is inside.
  void walk(std::uint64_t first, std::uint64_t last, NodeSink& sink) const;
  /// Nodes whose first row is below `row`.
  std::uint64_t nodes_before(std::uint64_t row) const;

  /// Adds the level's nodes to the table. `all` extends every term, not only new ones. Only named levels may lie below.
  void end_level(const NamedNodes& nodes, bool all);
  /// Adds the level's canonical nodes to the table; one more level can be built on them.
  void end_level(const CanonicalNodes& nodes, bool all);

  /// A row's arguments are stored at [row · arity_stride()].
  std::uint32_t arity_stride() const { return arity_stride_; }

 private:
  struct Unit {
    TermId primary = no_id;  // no_id: the constants
    std::uint64_t first_row = 0;
    std::uint64_t first_node = 0;
  };
  /// A family of two arguments of which one has a given type.
  struct Opening {
    std::uint32_t family = 0;
    std::uint32_t open = 0;
    const std::vector<Completion>* completions = nullptr;
  };
  class Walker;

  void index_users();
  void index_openings();
  void count_units(const ParallelFor& parallel_for, const Sum& sum);
  void add_terms(SignatureId signature, std::span<const TermId> arguments, std::span<const NodeId> below);
  std::vector<NodeId> union_of(std::span<const TermId> terms) const;
  void mark_used(SignatureId signature) const;
  bool fits(const Signature& signature, std::uint32_t argument, TermId t) const;

  const Profile& profile_;
  TypeTable types_;
  SignatureTable signatures_;
  TermTable terms_;
  Symmetry symmetry_;
  TermId named_terms_ = 0;
  std::uint32_t arity_stride_ = 1;
  std::uint32_t level_ = 0;
  std::uint64_t rows_ = 0;
  std::vector<TermId> first_of_level_;      // [l]: first term of level l; one more than the complete levels
  mutable std::vector<std::uint8_t> used_;  // by signature; written atomically while counting
  std::vector<Unit> units_;
  std::vector<std::vector<SignatureId>> unary_;  // by type
  std::vector<std::vector<Opening>> openings_;   // by type
  std::vector<std::uint64_t> first_user_;        // by node: extended named terms whose closure has it
  std::vector<TermId> users_;
};

}  // namespace rulemill::enumerate
