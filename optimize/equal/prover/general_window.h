// A window of a model in general form: sizes in place of numbers, and operators in place of constants that only one
// side has. Windows of other dimensions have the same general form.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algebra/sizes/poly.h"
#include "optimize/equal/prover/constant_agreement.h"
#include "optimize/equal/prover/constant_operators.h"
#include "optimize/search/region.h"

namespace rulemill::optimize {

/// An instance applied to values of a window.
struct GeneralNode {
  algebra::InstanceId instance{};
  std::vector<std::uint32_t> arguments;
  std::vector<algebra::Poly> sizes;
};

struct GeneralLeaf {
  ValueType type;
  bool constant = false;
  std::optional<GeneralNode> computed;  // a constant that an operator computes, without inputs or from other leaves
};

/// Values are numbered as in the window.
struct GeneralWindow {
  std::vector<GeneralLeaf> leaves;
  std::vector<std::uint32_t> leaf_order;  // arguments of computed leaves before these
  std::vector<GeneralNode> nodes;
  algebra::Substitution actual;    // what the sizes stand for
  std::uint32_t constants = 0;     // computed leaves that were compared by value, within rounding
  double constant_difference = 0;  // the largest, relative to the largest element
};

/// Literal: numbers up to 16 stay, because operators such as splits relate them. Larger ones become sizes
/// unless a parameter has the number, such as the begin of a slice.
enum class SmallNumbers : std::uint8_t { General, Literal };

/// `names` are the sizes that stand for numbers, shared by all windows; it grows.
GeneralWindow generalize(GraphBank& bank, ConstantComparison& constants, ConstantOperators& operators,
                         const Region& window, SmallNumbers small, std::vector<algebra::Poly>& names);

}  // namespace rulemill::optimize
