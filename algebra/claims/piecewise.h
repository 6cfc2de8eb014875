// Continuous piecewise linear functions of one variable with rational breakpoints, in one form each: equal functions
// have equal pieces. Exact; Overflow is thrown where a number exceeds 64 bits.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "algebra/language/expression.h"

namespace rulemill::algebra {

/// slope · t + offset
struct Line {
  Rational slope{0, 1}, offset{0, 1};
  Rational at(Rational t) const { return slope * t + offset; }
  bool operator==(const Line&) const = default;
};

class Piecewise {
 public:
  explicit Piecewise(Line line) : pieces_{line} {}

  Rational at(Rational t) const { return piece(t).at(t); }
  bool operator==(const Piecewise&) const = default;
  /// The line, if there is one piece.
  std::optional<Line> line() const;

  friend Piecewise operator+(const Piecewise& a, const Piecewise& b);
  Piecewise scaled(Rational factor) const;
  static Piecewise max(const Piecewise& a, const Piecewise& b);
  /// t ↦ this(inner(t))
  Piecewise after(const Piecewise& inner) const;
  /// A point at which the two differ, if there is one.
  static std::optional<Rational> difference(const Piecewise& a, const Piecewise& b);

 private:
  Piecewise() = default;
  const Line& piece(Rational t) const;
  /// The function that is line_at(t) around each t between two breakpoints; the points may be in any order.
  static Piecewise build(std::vector<Rational> points, const std::function<Line(Rational)>& line_at);

  std::vector<Rational> breaks_;  // rising
  std::vector<Line> pieces_;      // one more than breakpoints, neighbours differ
};

}  // namespace rulemill::algebra
