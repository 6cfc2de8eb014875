// Proof that the two outputs of a window are equal for all values of its leaves: rules are applied in an e-graph until
// both are in one class. As long as they are not, the smallest graph for both is searched in its place, with a leaf for
// each constant that it computes, so that many rewrites fit into the limits. Constants that agree are merged.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "optimize/equal/prover/constant_agreement.h"
#include "optimize/equal/prover/constant_operators.h"
#include "optimize/search/region.h"

namespace rulemill::optimize {

/// A constant leaf of a window and a computed constant with its elements.
struct KnownConstant {
  std::uint32_t leaf = 0;
  ValueId computed{};
};

struct WindowProof {
  std::vector<std::uint32_t> rules;  // indices in the rule set, in order of application
  std::uint32_t constants = 0;       // that were compared by value
  double constant_difference = 0;    // the largest
  std::vector<KnownConstant> known;  // what leaves were found to be
  bool drops = false;                // a rule drops what may be undefined at some inputs
};

class WindowProver {
 public:
  /// The rules are specialized, and over `terms` and the bank's symbols.
  WindowProver(GraphBank& bank, const algebra::TermBank& terms, const std::vector<algebra::RuleRecord>& rules,
               ConstantComparison& constants, ConstantOperators& operators);
  ~WindowProver();

  /// Returns nullopt if rules do not show within the limits that the region's first two outputs are equal.
  std::optional<WindowProof> prove(const Region& window);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rulemill::optimize
