// A window of a model in general form: sizes in place of numbers, and operators in place of constants that only one
// side has. Windows of other dimensions have the same general form.
#pragma once

#include <optional>
#include <vector>

#include "algebra/sizes/poly.h"
#include "optimize/equal/prover/constant_agreement.h"
#include "optimize/equal/prover/constant_operators.h"
#include "optimize/search/region.h"

namespace rulemill::optimize {

/// An instance applied to values of a window with smaller numbers.
struct GeneralNode {
  algebra::InstanceId instance{};
  std::vector<std::uint32_t> arguments;
  std::vector<algebra::Poly> sizes;
};

struct GeneralLeaf {
  ValueType type;
  bool constant = false;
  std::optional<GeneralNode> computed;  // a constant that an operator without inputs or a transposition computes
};

/// Values are numbered as in the window.
struct GeneralWindow {
  std::vector<GeneralLeaf> leaves;
  std::vector<GeneralNode> nodes;
};

/// `names` are the sizes that stand for numbers, shared by all windows; it grows.
GeneralWindow generalize(GraphBank& bank, ConstantComparison& constants, ConstantOperators& operators,
                         const Region& window, std::vector<algebra::Poly>& names);

}  // namespace rulemill::optimize
