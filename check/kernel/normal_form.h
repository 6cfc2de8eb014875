// One element of a tensor in the checker's normal form: a sum of products
//     coefficient · Σ over bound indices [guards] · Π factors.
// A bound index runs over all integers; loop ranges, and zero outside a tensor, are guards.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "algebra/operators/expression.h"
#include "check/kernel/atoms.h"

namespace rulemill::check {

using algebra::Rational;

struct Product;
using Sum = std::vector<Product>;

/// Read: variable[index]. Inverse: 1 / index[0], where index[0] ≥ 1. Integer: index[0]. Apply: function(arguments...).
/// Max: the maximum of arguments[0] over the values of `bound` for which `guards` hold, 0 if there are none.
struct Factor {
  enum class Kind : std::uint8_t { Read, Inverse, Integer, Apply, Max };
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

/// Thrown where a check cannot continue: the rule or its certificate is wrong, or beyond what the checker supports.
struct CheckError {
  std::string what;
};

Sum subtract(Sum a, const Sum& b);
/// Calls f with every polynomial of the factor or product, at any depth.
void for_each_poly(Product& product, const std::function<void(Poly&)>& f);
void for_each_poly(Factor& factor, const std::function<void(Poly&)>& f);
/// True if one of the atoms occurs in it, at any depth.
bool depends_on(const Product& product, const std::vector<Atom>& atoms, const Atoms& table);
bool depends_on(const Factor& factor, const std::vector<Atom>& atoms, const Atoms& table);
/// The factor with the guards of its maxima sorted, at any depth, so that factors that differ by that order are equal.
Factor with_sorted_guards(Factor factor);
template <class T>
void erase_at(std::vector<T>& list, std::size_t position) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(position));
}

}  // namespace rulemill::check
