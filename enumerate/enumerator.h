// Distinct nodes, level by level. A node of level k applies a signature to terms whose closures together have k − 1
// nodes, so that a shared subgraph counts once. The nodes of a level are numbered in one fixed order, whoever visits
// which part of them: first the dense part (arguments that share no node), in blocks of eight terms of one group, then
// the sparse part (arguments that share nodes), one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "enumerate/term_table.h"

namespace rulemill::enumerate {

/// Members of a group come in blocks of this many.
inline constexpr std::uint32_t group_block = 8;

/// Receives nodes. `row` numbers the terms of the level: a node's outputs are consecutive rows.
class NodeSink {
 public:
  virtual ~NodeSink() = default;
  /// The signature at `fixed` (all arguments but number `open`, in order) and each member of the group's block whose
  /// bit is set in `lanes`. A signature without arguments comes with no group (no_id) and one lane.
  virtual void block(SignatureId signature, std::span<const TermId> fixed, std::uint32_t open, std::uint32_t group,
                     std::uint32_t block, std::uint8_t lanes, std::uint64_t row) = 0;
  /// One node. `arguments` in the signature's order.
  virtual void single(SignatureId signature, std::span<const TermId> arguments, std::uint64_t row) = 0;
};

/// What a level holds.
struct LevelCounts {
  std::uint64_t nodes = 0;
  std::uint64_t terms = 0;
};

class Enumerator {
 public:
  /// Runs body(i) for each i < count, in any order, on as many threads as the caller likes.
  using ParallelFor = std::function<void(std::size_t count, const std::function<void(std::size_t)>& body)>;

  Enumerator(const Profile& profile, algebra::Library& library);

  const Profile& profile() const { return profile_; }
  const TypeTable& types() const { return types_; }
  const SignatureTable& signatures() const { return signatures_; }
  const TermTable& terms() const { return terms_; }

  /// Prepares level k; levels below must be complete. Counts and numbers its nodes.
  LevelCounts begin_level(std::uint32_t level, const ParallelFor& parallel_for);
  /// The level that was begun last.
  std::uint32_t level() const { return level_; }
  /// Signatures that occur on this level, ascending.
  std::vector<SignatureId> signatures_in_use() const;
  /// Visits the terms with rows in [first, last). A node with several outputs is visited if its first row is inside.
  void walk(std::uint64_t first, std::uint64_t last, NodeSink& sink) const;
  /// Nodes whose first row is below `row`.
  std::uint64_t nodes_before(std::uint64_t row) const;

  /// Adds the level's nodes to the table; row r becomes term terms().terms() + r. representatives[row] is the earliest
  /// term of the row's class, itself if the class is new. `all` extends every term, not only new ones.
  void end_level(std::span<const SignatureId> row_signatures, std::span<const TermId> row_arguments,
                 std::span<const TermId> representatives, bool all);

  /// A row's arguments are stored at [row · arity_stride()].
  std::uint32_t arity_stride() const { return arity_stride_; }

 private:
  struct Unit {
    SignatureId signature = 0;    // sparse: the family, or no_id for every family of two arguments
    std::uint32_t group = no_id;  // dense; no_id: no arguments, or sparse
    std::uint32_t prefix = 0;     // first of the fixed terms in prefixes_
    std::uint8_t fixed = 0;       // how many
    std::uint8_t open = 0;
    bool sparse = false;
    std::uint64_t first_row = 0;  // filled by counting
    std::uint64_t first_node = 0;
  };
  class Walker;

  void make_units();
  void make_binary_units(TermId fixed);
  void make_long_units(std::uint32_t family, std::vector<TermId>& prefix);
  void add_dense(std::uint32_t family, std::uint32_t open, std::span<const TermId> fixed, std::uint8_t level);
  void index_users();
  std::uint32_t store_prefix(std::span<const TermId> fixed);
  std::vector<NodeId> union_of(std::span<const TermId> terms) const;
  void mark_used(SignatureId signature) const;
  bool has_position(TermId t, const RequiredPosition& required) const;
  /// Whether the fixed terms may stand where the signature wants them.
  bool fixed_fit(const Signature& signature, std::uint32_t open, std::span<const TermId> fixed) const;
  bool kind_allowed(std::uint32_t family, std::uint32_t argument, TermId t) const {
    return signatures_.families()[family].allowed_kinds[argument] >> terms_.kind(t) & 1;
  }

  const Profile& profile_;
  TypeTable types_;
  SignatureTable signatures_;
  TermTable terms_;
  std::uint32_t arity_stride_ = 1;
  std::uint32_t level_ = 0;
  std::uint64_t rows_ = 0;
  std::vector<TermId> first_of_level_;      // [l]: first term of level l; one more than the complete levels
  mutable std::vector<std::uint8_t> used_;  // by signature; written atomically while counting
  std::vector<Unit> units_;
  std::vector<TermId> prefixes_;
  std::vector<std::uint64_t> first_user_;  // by node: extended terms whose closure has it
  std::vector<TermId> users_;
};

}  // namespace rulemill::enumerate
