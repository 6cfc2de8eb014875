// A window of a model in general form: sizes in place of numbers, and operators in place of constants that only one
// side has. Windows of other dimensions have the same general form.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "algebra/sizes/poly.h"
#include "optimize/equal/prover/constant_agreement.h"
#include "optimize/equal/prover/constant_operators.h"
#include "optimize/equal/prover/constant_terms.h"
#include "optimize/equal/prover/window_prover.h"
#include "optimize/search/region.h"

namespace rulemill::optimize {

struct GeneralLeaf {
  bool depends_on_leaves() const { return !computed.empty() && !computed[0].arguments.empty(); }

  ValueType type;
  bool constant = false;
  std::vector<TermNode> computed{};           // a constant that operators compute, without inputs or from other leaves
  std::optional<algebra::Rational> number{};  // an integer divided by a power of two, that stays a number
  bool positive = false;                      // a number that stands for any positive one
};

/// Values are numbered as in the window.
struct GeneralWindow {
  std::vector<GeneralLeaf> leaves;
  std::vector<std::uint32_t> leaf_order;                 // arguments of computed leaves before these
  std::vector<TermNode> nodes;                           // arguments are values of the window; all outputs are
  algebra::Substitution actual;                          // what the sizes stand for
  std::map<std::uint32_t, std::vector<TermNode>> terms;  // of leaves computed from others, in the window's own sizes
  std::uint32_t constants = 0;                           // computed leaves that were compared by value, within rounding
  double constant_difference = 0;                        // the largest, in units of the bound of their errors
};

/// What stands for the numbers of a window. A size above 16 that a parameter has, such as the begin
/// of a slice, always stays.
enum class NumberForm : std::uint8_t {
  Products,      // a size each; a number that is a product of two smaller ones is their product; constants may be sizes
  SmallLiteral,  // the same for those above 16; smaller ones stay, because operators such as splits relate them
  Independent,   // a size each: 64 may be the square of 8 by chance
  Literals,      // as Products, and scalar constants such as -1 and 0.25 are these numbers, others are positive
  Multiples,     // numbers among the parameters, such as strides, stay; sizes of inputs may be multiples of them
  Numbers,       // all stay: a statement that is true of them need not be true of other sizes
};

/// `names`: the sizes that stand for numbers, shared by all windows; it grows. `known`: terms that are not searched.
GeneralWindow generalize(GraphBank& bank, ConstantComparison& constants, ConstantOperators& operators,
                         const Region& window, NumberForm form, std::vector<algebra::Poly>& names,
                         std::span<const KnownConstant> known = {});

}  // namespace rulemill::optimize
