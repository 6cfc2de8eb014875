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
  std::optional<algebra::Rational> number{};  // an integer divided by a power of two, that stays a number
};

/// Values are numbered as in the window.
struct GeneralWindow {
  std::vector<GeneralLeaf> leaves;
  std::vector<std::uint32_t> leaf_order;  // arguments of computed leaves before these
  std::vector<GeneralNode> nodes;
  algebra::Substitution actual;    // what the sizes stand for
  std::uint32_t constants = 0;     // computed leaves that were compared by value, within rounding
  double constant_difference = 0;  // the largest, in units of the bound of their errors
};

/// What stands for the numbers of a window. A size above 16 that a parameter has, such as the begin
/// of a slice, always stays.
enum class NumberForm : std::uint8_t {
  Products,      // a size each; a number that is a product of two smaller ones is their product
  SmallLiteral,  // the same for those above 16; smaller ones stay, because operators such as splits relate them
  Independent,   // a size each: 64 may be the square of 8 by chance
  Literals,      // as Products, and scalar constants such as -1 and 0.25 are these numbers
};

/// `names` are the sizes that stand for numbers, shared by all windows; it grows.
GeneralWindow generalize(GraphBank& bank, ConstantComparison& constants, ConstantOperators& operators,
                         const Region& window, NumberForm form, std::vector<algebra::Poly>& names);

}  // namespace rulemill::optimize
