// Inner values of a window that may be equal, found by evaluating the window at small sizes: pairs that split it into
// smaller windows, whatever their names.
#pragma once

#include <unordered_set>
#include <vector>

#include "algebra/sizes/poly.h"
#include "optimize/equal/prover/constant_agreement.h"
#include "optimize/equal/prover/constant_operators.h"
#include "optimize/equal/prover/window.h"

namespace rulemill::optimize {

class WindowSplit {
 public:
  WindowSplit(GraphBank& bank, ConstantComparison& constants, ConstantOperators& operators)
      : bank_(bank), constants_(constants), operators_(operators) {}

  /// Returns pairs with a value that only the second model has, in the order of these. The first value is one of the
  /// first model, or a reshaped one, so that both have one type. `common` are the nodes of the first model.
  std::vector<ValuePair> inner_pairs(const EqualityWindow& window, const std::unordered_set<NodeId>& common);

 private:
  std::optional<ValueId> with_type_of(ValueId before, ValueId after);

  GraphBank& bank_;
  ConstantComparison& constants_;
  ConstantOperators& operators_;
  std::vector<algebra::Poly> sizes_;  // that stand for numbers
};

}  // namespace rulemill::optimize
