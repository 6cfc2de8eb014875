// One element of a tensor in the checker's normal form: a sum of products
//     coefficient · Σ over bound indices [guards] · Π factors.
// A bound index runs over all integers; loop ranges, and zero outside a tensor, are guards.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "check/kernel/atoms.h"

namespace rulemill::check {

using algebra::Rational;

struct Product;
using Sum = std::vector<Product>;

/// Read: variable[index]. Inverse: 1 / index[0]. Integer: index[0]. Apply: function(arguments...), 0 where it is not
/// defined. Defined: 1 where function(arguments...) is defined, else 0. Max: the maximum of arguments[0] over the
/// values of `bound` for which `guards` hold, 0 if there are none.
struct Factor {
  enum class Kind : std::uint8_t { Read, Inverse, Integer, Apply, Defined, Max };
  Kind kind = Kind::Read;
  std::uint32_t symbol = 0;  // Read: the number of the variable; Apply, Defined: of the function
  std::vector<Poly> index;
  std::vector<Sum> arguments;
  std::vector<Atom> bound;
  Guards guards;
  bool operator==(const Factor&) const = default;
  std::strong_ordering operator<=>(const Factor&) const;
};

struct Product {
  Rational coefficient{1, 1};
  Guards guards;
  std::vector<Atom> bound;
  std::vector<Factor> factors;
  bool operator==(const Product&) const = default;
  std::strong_ordering operator<=>(const Product&) const = default;
};
inline std::strong_ordering Factor::operator<=>(const Factor&) const = default;

/// Throws CheckError if a sum would have too many products, or too many cases are to be decided.
inline void check_size(std::size_t count) { expect(count <= 4096, "it has more than 4096 products or cases"); }

inline Factor integer_factor(Poly poly) { return {Factor::Kind::Integer, 0, {std::move(poly)}, {}, {}, {}}; }
inline Product number(Rational value) { return {value, {}, {}, {}}; }
/// The sum of the one product 1 · factor, and that of a number, which is empty for 0.
inline Sum to_sum(Factor factor) { return {Product{{1, 1}, {}, {}, {std::move(factor)}}}; }
inline Sum number_sum(Rational value) { return value.num == 0 ? Sum{} : Sum{number(value)}; }
inline Sum negated(Sum sum) {
  for (Product& product : sum) product.coefficient = -product.coefficient;
  return sum;
}
inline Sum add(Sum a, const Sum& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
inline Sum subtract(Sum a, const Sum& b) { return add(std::move(a), negated(b)); }
/// The product of both, without guards that are repeated. Throws CheckError unless their bound indices are distinct.
Product multiply(Product a, const Product& b);
/// The sum of the products of each two.
Sum multiply(const Sum& a, const Sum& b);
/// Calls f with every polynomial of the factor or product, at any depth.
void for_each_poly(Product& product, const std::function<void(Poly&)>& f);
void for_each_poly(Factor& factor, const std::function<void(Poly&)>& f);
/// True if one of the atoms occurs in the product or factor, at any depth.
template <class Part>
bool depends_on(Part part, const std::vector<Atom>& atoms, const Atoms& table) {
  bool found = false;
  for_each_poly(part, [&](const Poly& poly) {
    for (const Atom atom : atoms) found = found || table.occurs(poly, atom);
  });
  return found;
}

/// The sum in a form that does not depend on the order of products, factors and guards, nor on the names of bound
/// indices, which become levels. Sums with equal forms have equal values. `names` are those of indices around it.
Sum canonical(Sum sum, Atoms& atoms, const Images& names = {}, std::size_t level = 0);

/// The element at a position. Throws CheckError if there is none.
template <class List>
auto& at(List& list, std::size_t position, const char* what) {
  if (position >= list.size()) throw CheckError{"there is no " + std::string(what) + " " + std::to_string(position)};
  return list[position];
}
template <class T>
void erase_at(std::vector<T>& list, std::size_t position) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(position));
}
template <class T>
void erase(std::vector<T>& list, const std::set<std::size_t>& positions, const char* what) {
  if (!positions.empty()) at(list, *positions.rbegin(), what);
  for (auto p = positions.rbegin(); p != positions.rend(); ++p) erase_at(list, *p);
}

}  // namespace rulemill::check
