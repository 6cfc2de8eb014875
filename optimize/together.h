// Nodes that a runtime computes in one pass though the model says them one by one. Read from a file of patterns, so
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
};

class Together {
 public:
  /// Lines "NAME: TERM"; `#` begins a comment. Throws InputError with the place of what is wrong.
  static Together load(const std::filesystem::path& file);
  static Together parse(const std::string& text, const std::string& file);

  /// The other nodes of a pattern whose last node this is; of the first pattern that fits, empty if none does.
  std::vector<NodeId> with(const GraphBank& bank, NodeId last) const;

 private:
  std::vector<NamedTerm> patterns_;
};

}  // namespace rulemill::optimize
