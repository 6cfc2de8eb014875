// One element of a tensor as the checker writes it: a sum of products
//     coefficient · Σ over bound indices [guards] · Π factors.
// A bound index runs over all integers; ranges, and zero outside a tensor, are guards like any other.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "algebra/language/expression.h"
#include "check/kernel/atoms.h"

namespace rulemill::check {

using algebra::Rational;

struct Product;
using Sum = std::vector<Product>;

/// Read: variable[index]. Inverse: 1 / index[0], which is at least 1. Whole: index[0]. Apply: function(arguments...).
/// Max: the maximum of arguments[0] over those values of `bound` for which `guards` hold, 0 if there are none.
struct Factor {
  enum class Kind : std::uint8_t { Read, Inverse, Whole, Apply, Max };
  Kind kind = Kind::Read;
  std::uint32_t symbol = 0;  // Read: the variable's place in the rule; Apply: the function
  std::vector<Poly> index;
  std::vector<Sum> arguments;
  std::vector<Atom> bound;
  Guards guards;
  bool operator==(const Factor&) const = default;
};

struct Product {
  Rational coefficient{1, 1};
  Guards guards;
  std::vector<Atom> bound;
  std::vector<Factor> factors;
  bool operator==(const Product&) const = default;
};

/// What cannot go on: the rule, or its certificate, is wrong or beyond the checker.
struct Objection {
  std::string what;
};

Sum difference_of(Sum a, const Sum& b);
/// Calls f with every polynomial of the factor or product, at any depth.
void for_each_poly(Product& product, const std::function<void(Poly&)>& f);
void for_each_poly(Factor& factor, const std::function<void(Poly&)>& f);
/// Whether one of the atoms occurs in it, at any depth.
bool has_any(const Product& product, const std::vector<Atom>& atoms, const Atoms& table);
bool has_any(const Factor& factor, const std::vector<Atom>& atoms, const Atoms& table);
/// The factor with the guards of its maxima in order, at any depth: equal text, equal value.
Factor sorted(Factor factor);

}  // namespace rulemill::check
