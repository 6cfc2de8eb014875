// Inner values of a window that may be equal, found by evaluating the window at small sizes: pairs that split it into
// smaller windows, whatever their names.
#pragma once

#include <optional>
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

  /// Returns pairs of the values that only the second model has, in their order, with equal elements in row-major
  /// order; their shapes may differ. `common` are the nodes of the first model.
  std::vector<ValuePair> inner_pairs(const EqualityWindow& window, const std::unordered_set<NodeId>& common);
  /// Returns pairs of one shape of which each proves the others, because reshaping loses nothing. The first has the
  /// shape of `pair.after`. None if the values cannot be reshaped.
  std::vector<ValuePair> in_one_shape(ValuePair pair) {
    if (bank_.value(pair.before).type == bank_.value(pair.after).type) return {pair};
    return in_one_form(pair, &WindowSplit::reshaped);
  }
  /// The same for values whose dimensions are in another order; equal sizes keep theirs.
  std::vector<ValuePair> in_one_order(ValuePair pair) { return in_one_form(pair, &WindowSplit::transposed); }

 private:
  using Form = std::optional<ValueId> (WindowSplit::*)(ValueId, const ValueType&);

  std::vector<ValuePair> in_one_form(ValuePair pair, Form form);
  std::optional<ValueId> reshaped(ValueId value, const ValueType& type);
  std::optional<ValueId> transposed(ValueId value, const ValueType& type);

  GraphBank& bank_;
  ConstantComparison& constants_;
  ConstantOperators& operators_;
  std::vector<algebra::Poly> sizes_;  // that stand for numbers
};

}  // namespace rulemill::optimize
