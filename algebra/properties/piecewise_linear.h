// Continuous piecewise linear functions of one variable with rational breakpoints, in canonical form: equal functions
// have equal pieces. Exact; throws Overflow if a number exceeds 64 bits.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "algebra/operators/expression.h"
#include "algebra/operators/function.h"

namespace rulemill::algebra {

/// slope · t + offset
struct Line {
  Rational slope{0, 1}, offset{0, 1};
  Rational at(Rational t) const { return slope * t + offset; }
  bool operator==(const Line&) const = default;
};

class PiecewiseLinear {
 public:
  explicit PiecewiseLinear(Line line) : pieces_{line} {}

  Rational at(Rational t) const { return piece(t).at(t); }
  bool operator==(const PiecewiseLinear&) const = default;
  /// The line, if there is only one piece.
  std::optional<Line> line() const;

  friend PiecewiseLinear operator+(const PiecewiseLinear& a, const PiecewiseLinear& b);
  PiecewiseLinear scaled(Rational factor) const;
  static PiecewiseLinear max(const PiecewiseLinear& a, const PiecewiseLinear& b);
  /// t ↦ this(inner(t))
  PiecewiseLinear compose(const PiecewiseLinear& inner) const;
  /// A point at which the two differ, if there is one.
  static std::optional<Rational> find_difference(const PiecewiseLinear& a, const PiecewiseLinear& b);

 private:
  PiecewiseLinear() = default;
  const Line& piece(Rational t) const;
  /// The function that equals line_at(t) between the two points around t. The points may be in any order.
  static PiecewiseLinear build(std::vector<Rational> points, const std::function<Line(Rational)>& line_at);

  std::vector<Rational> breakpoints_;  // ascending
  std::vector<Line> pieces_;           // one more than breakpoints; neighbours differ
};

/// The function of one argument, if its formula is piecewise linear.
std::optional<PiecewiseLinear> to_piecewise_linear(const Function& function);

}  // namespace rulemill::algebra
