// Numbers for the evaluation of definitions: a real number approximately, and its residues modulo primes exactly. The
// reals decide which of two numbers is larger, the residues whether they are equal: different polynomials differ at
// random points almost surely. Roots and logarithms are compared by the reals.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "algebra/library/library.h"

namespace rulemill::check {

/// Residue i is modulo prime i. Residue i of exp(t) is a power with residue i + 1 of t as the exponent, so that
/// exp(s + t) = exp(s) · exp(t) in all residues but the last, where exp is a hash. Comparisons use the first residue.
struct Number {
  std::array<std::uint64_t, 3> residue{};
  long double real = 0;
  bool has_roots = false;  // or logarithms: residues do not tell that log(s · t) = log(s) + log(t)
  bool operator==(const Number& other) const { return residue[0] == other.residue[0]; }
  std::strong_ordering operator<=>(const Number& other) const { return residue[0] <=> other.residue[0]; }
};

/// Whether two values of one expression are equal: by their residues, or by their reals if these have roots.
/// Throws Undecided.
bool agree(const Number& a, const Number& b);

/// Thrown where the residues differ and the reals are too close to decide which is larger.
struct Undecided {};

/// A random number between -2 and 2.
Number random_number(std::uint64_t bits);
Number multiply(const Number& a, const Number& b);
Number add(const Number& a, const Number& b);
Number negate(const Number& a);
Number from_integer(std::int64_t n);
/// The number, if it is a whole one from 0 to 1,000.
std::optional<std::int64_t> to_natural(const Number& a);
/// 1/a, and 0 of 0.
Number reciprocal(const Number& a);
/// Throws Undecided.
bool is_less(const Number& a, const Number& b);

/// Evaluates a scalar function by its formula. Roots, logarithms, tanh, sin and the like are hashes with the true
/// values at 0 and 1 and the true parity; powers of other exponents than whole numbers are compared by the reals. A
/// function with assumed laws is a hash with these laws. The value is 0 outside of the domain. Throws Undecided.
Number apply(const algebra::Function& f, std::uint32_t number, std::vector<Number> arguments);

}  // namespace rulemill::check
