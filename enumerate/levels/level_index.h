// The terms below a level, indexed for enumerating the nodes of the level.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "enumerate/terms/symmetry.h"
#include "enumerate/terms/term_table.h"

namespace rulemill::enumerate {

/// A binary family that accepts a given type as one argument.
struct BinaryUse {
  std::uint32_t family = 0;
  std::uint32_t missing = 0;  // the other argument
  const std::vector<Completion>* completions = nullptr;
};

class LevelIndex {
 public:
  /// The tables must outlive the index.
  LevelIndex(const TypeTable& types, const SignatureTable& signatures, const TermTable& terms, const Symmetry& symmetry)
      : types_(types), signatures_(signatures), terms_(terms), symmetry_(symmetry) {}

  /// Indexes all terms in the table for a level. Terms with ids below `expanded_terms` are expanded.
  void rebuild(std::uint32_t level, TermId expanded_terms);

  const TypeTable& types() const { return types_; }
  const SignatureTable& signatures() const { return signatures_; }
  const TermTable& terms() const { return terms_; }
  const Symmetry& symmetry() const { return symmetry_; }
  std::uint32_t level() const { return level_; }
  TermId expanded_terms() const { return expanded_terms_; }
  /// Returns the first term of a level. The level after the last complete one begins at the end of the table.
  TermId first_of_level(std::uint32_t level) const { return first_of_level_[level]; }

  /// Returns the unary signatures that accept a type.
  const std::vector<SignatureId>& unary_signatures(TypeId type) const { return unary_signatures_[type]; }
  const std::vector<BinaryUse>& binary_uses(TypeId type) const { return binary_uses_[type]; }
  /// Returns the extended and expanded terms of a level whose closure contains the node, in id order.
  std::span<const TermId> users(NodeId n, std::uint32_t level) const;

  /// Whether the term satisfies the signature's restrictions on the argument.
  bool fits(const Signature& signature, std::uint32_t argument, TermId t) const;
  /// Returns the union of the terms' closures.
  std::vector<NodeId> union_of(std::span<const TermId> terms) const;

 private:
  void index_signatures();
  void index_users();

  const TypeTable& types_;
  const SignatureTable& signatures_;
  const TermTable& terms_;
  const Symmetry& symmetry_;
  std::uint32_t level_ = 0;
  TermId expanded_terms_ = 0;
  std::vector<TermId> first_of_level_;
  std::vector<std::vector<SignatureId>> unary_signatures_;  // by type
  std::vector<std::vector<BinaryUse>> binary_uses_;         // by type
  std::vector<std::uint64_t> first_user_;                   // by node: its first term in users_
  std::vector<TermId> users_;
};

}  // namespace rulemill::enumerate
