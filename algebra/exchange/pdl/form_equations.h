// Attributes of StableHLO compared with those of a form whose parameters are not known yet.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algebra/sizes/poly.h"

namespace rulemill::algebra {

/// Equations between sizes, with unknown numbers. Each must have at most one unknown number once the others are solved,
/// and be linear in it.
class FormEquations {
 public:
  explicit FormEquations(Symbols& symbols) : symbols_(symbols) {}

  /// Adds an unknown number.
  Poly unknown();
  void equate(const Poly& a, const Poly& b) { open_.push_back(a - b); }
  /// Adds the equations under which two attributes are equal. The texts are filled templates (fill_template): MLIR's
  /// syntax with {expressions of sizes}. False if they differ in anything but numbers.
  bool equate(const std::string& a, const std::string& b);
  /// Solves the equations. False if they contradict each other, or do not follow one by one.
  bool solve();
  /// The value of an expression after solve(); nullopt if it has unknown numbers.
  std::optional<Poly> value(const Poly& poly);

 private:
  Symbols& symbols_;
  std::vector<Atom> unknowns_;
  std::vector<Poly> open_;
  Substitution solved_;
};

/// Whether an attribute has no effect on real numbers at this value.
bool is_neutral(const std::string& name, const std::string& text);

/// The numbers of array<i64: 0, 1>; nullopt for another text.
std::optional<std::vector<std::int64_t>> numbers_of(const std::string& text);

/// Reads an expression of sizes in Python's syntax (python_expression). Throws InputError with `place`.
Poly parse_python_size(const std::string& text, const std::string& place, Symbols& symbols);

}  // namespace rulemill::algebra
