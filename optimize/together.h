// Nodes that a runtime computes in one pass though the model says them one by one, and nodes whose result it reads in
// another layout instead of making it: a product takes a transposed operand as it is. Read from a file of patterns, so
// that no operator is named here.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "optimize/graph.h"

namespace rulemill::optimize {

/// A term over operators' names; without arguments, any value, the same one wherever the name stands again.
struct NamedTerm {
  std::string name;
  std::vector<NamedTerm> arguments;
  std::map<std::string, std::vector<std::int64_t>> lists;  // parameters that the operator must have
};

class Together {
 public:
  /// Lines "NAME: TERM", and "NAME takes: TERM" for an operator over one other; `#` begins a comment. Throws InputError
  /// with the place of what is wrong.
  static Together load(const std::filesystem::path& file);
  static Together parse(const std::string& text, const std::string& file);

  /// The other nodes of a pattern whose last node this is; of the first pattern that fits, empty if none does.
  std::vector<NodeId> with(const GraphBank& bank, NodeId last) const;
  /// Whether the runtime computes `user` from what `inner` is made of, where that is its argument at this place.
  bool takes(const algebra::Instance& user, std::size_t place, const algebra::Instance& inner) const;

 private:
  std::vector<NamedTerm> patterns_, taken_;
};

}  // namespace rulemill::optimize
