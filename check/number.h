// Numbers in which definitions are evaluated: each is a real number, approximately, and the same exactly modulo primes.
// What is the larger of two is asked of the reals, what is equal of the residues: two polynomials that differ do so at
// random points almost surely.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "algebra/library/library.h"

namespace rulemill::check {

/// Residue i is modulo prime i, and exp(t) modulo prime i a power with the residue i + 1 of t as its exponent, so that
/// exp(s + t) = exp(s) · exp(t) in all but the last, where it is a hash. The first one counts.
struct Number {
  std::array<std::uint64_t, 3> residue{};
  long double real = 0;
  bool operator==(const Number& other) const { return residue[0] == other.residue[0]; }
  std::strong_ordering operator<=>(const Number& other) const { return residue[0] <=> other.residue[0]; }
};

/// The reals are too near to each other to tell which is larger, and the residues say that they are not equal.
struct Undecided {};

/// A random number between -2 and 2.
Number drawn(std::uint64_t bits);
Number times(const Number& a, const Number& b);
Number plus(const Number& a, const Number& b);
Number minus(const Number& a);
Number of(std::int64_t n);
/// 1/a, and 0 of 0.
Number inverse(const Number& a);
/// Throws Undecided.
bool less(const Number& a, const Number& b);

/// One function of numbers: what its formula computes, where roots, logarithms, tanh, sin and the like are hashes that
/// have their values at 0 and 1 and are odd or even as these are; 0 outside of its domain. If laws of it are assumed, a
/// hash that has its laws. Throws Undecided.
Number apply(const algebra::Function& f, std::uint32_t number, std::vector<Number> arguments);

}  // namespace rulemill::check
