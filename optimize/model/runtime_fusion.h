// Fusions that the runtime performs itself: several nodes computed in one pass, and operands that a node reads in
// another layout (a matrix product absorbs the transposition of an operand). They are read from a file of patterns, so
// that the code names no operator.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "optimize/model/graph.h"

namespace rulemill::optimize {

/// A pattern over operator names. A name without arguments is a variable.
struct NamedTerm {
  std::string name;
  std::vector<NamedTerm> arguments;
  std::map<std::string, std::vector<std::int64_t>> lists;  // required list parameters of the operator
};

class RuntimeFusions {
 public:
  /// Reads patterns "NAME: TERM" (one pass) and "NAME absorbs: TERM" (an operator that absorbs one operand); `#` begins
  /// a comment. Throws InputError with the place.
  static RuntimeFusions load(const std::filesystem::path& file);
  static RuntimeFusions parse(const std::string& text, const std::string& file);

  /// Returns the other nodes that the runtime computes in one pass with their last node, by the first pattern that
  /// matches; empty if none does.
  std::vector<NodeId> fused_nodes(const GraphBank& bank, NodeId last) const;
  /// Returns true if `user` absorbs its operand `inner` at this position: the runtime reads the arguments of `inner`.
  bool absorbs_operand(const algebra::OperatorInstance& user, std::size_t position,
                       const algebra::OperatorInstance& inner) const;

 private:
  std::vector<NamedTerm> one_pass_, absorptions_;
};

}  // namespace rulemill::optimize
