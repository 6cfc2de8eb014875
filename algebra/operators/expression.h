// The body of an operator instance: one output element as an expression tree over index expressions and reads. Ranks
// and parameters are fixed and names are resolved to slots. All consumers (plans, proofs, reference execution) use this
// form.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algebra/sizes/poly.h"

namespace rulemill::algebra {

/// num / den in lowest terms, den > 0.
struct Rational {
  std::int64_t num = 0;
  std::int64_t den = 1;
  bool operator==(const Rational&) const = default;
  auto operator<=>(const Rational&) const = default;
};
Rational make_rational(std::int64_t num, std::int64_t den);
inline Rational operator-(Rational a) { return {-a.num, a.den}; }
/// `value` is not 0.
inline Rational reciprocal(Rational value) { return make_rational(value.den, value.num); }
Rational operator+(Rational a, Rational b);
Rational operator*(Rational a, Rational b);
/// Numeric order; operator<=> is only some total order.
bool is_less(Rational a, Rational b);
std::string to_string(Rational value);

/// An integer expression over the instance's size slots and index slots. Division and modulo are floor division.
struct IndexExpr {
  enum class Kind : std::uint8_t { Constant, Size, Index, Add, Sub, Mul, Div, Mod, Min, Max };
  Kind kind = Kind::Constant;
  std::int64_t value = 0;  // Constant
  std::uint32_t slot = 0;  // Size, Index
  std::shared_ptr<const IndexExpr> a, b;
};
using IndexExprPtr = std::shared_ptr<const IndexExpr>;

/// The concrete value. `sizes` and `indices` are addressed by slot.
std::int64_t evaluate(const IndexExpr& expr, std::span<const std::int64_t> sizes,
                      std::span<const std::int64_t> indices);
/// The symbolic value.
Poly evaluate(const IndexExpr& expr, std::span<const Poly> sizes, std::span<const Poly> indices, Symbols& symbols);

enum class Relation : std::uint8_t { Eq, Ne, Lt, Le };
bool holds(Relation relation, std::int64_t a, std::int64_t b);

/// a relation b. The parser swaps the sides of ≥ and >.
struct Comparison {
  Relation relation = Relation::Eq;
  IndexExprPtr a, b;
};

/// A bound index of a sum or maximum: 0 ≤ index < extent. The extent does not use inner indices.
struct BoundIndex {
  std::uint32_t slot = 0;
  IndexExprPtr extent;
};

struct ScalarExpr;
using ScalarExprPtr = std::shared_ptr<const ScalarExpr>;

/// A scalar expression, such as an element of an output.
struct ScalarExpr {
  enum class Kind : std::uint8_t {
    Constant,     // value
    InverseSize,  // 1 / indices[0], a positive size expression
    Read,         // tensor[indices]; zero outside the tensor
    Add,          // sum of operands
    Mul,          // product of operands
    Sum,          // sum over bound of operands[0]
    Max,          // maximum over bound of operands[0] at the points where `guard` holds, which excludes
                  // padding; 0 if there is no such point
    Apply,        // function(operands...)
    Case,         // operands[0] where every comparison of guard holds, operands[1] elsewhere
  };
  Kind kind = Kind::Constant;
  Rational value;
  std::uint32_t tensor = 0;    // Read: inputs first, then the instance's intermediates
  std::uint32_t function = 0;  // Apply: index into the library's functions
  std::vector<IndexExprPtr> indices;
  std::vector<BoundIndex> bound;
  std::vector<Comparison> guard;
  std::vector<ScalarExprPtr> operands;
};

}  // namespace rulemill::algebra
