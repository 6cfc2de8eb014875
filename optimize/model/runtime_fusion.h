// Fusions that the runtime performs itself: several nodes computed in one pass, operands that a node reads in another
// layout (a matrix product absorbs the transposition of an operand), and pairs of nodes whose fusion is slower than
// both. They are read from a file of patterns, so that the code names no operator.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "optimize/model/graph.h"

namespace rulemill::optimize {

/// A pattern over operator names. A name without arguments is a variable; with a rank it stands for tensors of it.
struct NamedTerm {
  std::string name;
  std::vector<NamedTerm> arguments;
  std::map<std::string, std::vector<std::int64_t>> lists;  // required list parameters of the operator
  std::optional<std::int64_t> rank;
};

class RuntimeFusions {
 public:
  /// Reads patterns "NAME: TERM" (one pass), "NAME absorbs: TERM" (an operator that absorbs one operand) and
  /// "NAME slows: TERM" (an operator over another as its first argument, computed by the slower NAME); `#` begins a
  /// comment. Throws InputError with the place.
  static RuntimeFusions load(const std::filesystem::path& file);
  static RuntimeFusions parse(const std::string& text, const std::string& file);

  /// Returns the other nodes that the runtime computes in one pass with their last node, by the first pattern that
  /// matches; empty if none does.
  std::vector<NodeId> fused_nodes(const GraphBank& bank, NodeId last) const;
  /// Returns true if `user` absorbs its operand `inner` at this position: the runtime reads the arguments of `inner`.
  bool absorbs_operand(const algebra::OperatorInstance& user, std::size_t position,
                       const algebra::OperatorInstance& inner) const;
  /// Returns the name of what computes `last` and its first argument `inner` instead, and more slowly; null if nothing
  /// does. `inner` must have no other user.
  const std::string* slower_pair(const algebra::OperatorInstance& last, const algebra::OperatorInstance& inner) const;

 private:
  struct SlowerPair {
    std::string name;
    NamedTerm pattern;
  };

  std::vector<NamedTerm> one_pass_, absorptions_;
  std::vector<SlowerPair> slower_pairs_;
};

}  // namespace rulemill::optimize
