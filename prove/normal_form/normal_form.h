// The normal form of one tensor element in proofs: a sum of products
//     coefficient · Σ over bound indices [guards] · Π factors,
// where indices are integer polynomials. A bound index runs over all integers; loop ranges, and zero outside a tensor,
// are guards.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "algebra/terms/term.h"
#include "prove/solver/guard.h"

namespace rulemill::prove {

struct Factor;

struct Product {
  Rational coefficient{1, 1};
  Guards guards;
  std::vector<Atom> bound;
  std::vector<Factor> factors;
};
using Sum = std::vector<Product>;

/// Read: variable[index]. Apply: function(arguments...). Max: the maximum of arguments[0] over the values of `bound`
/// for which `guards` hold, 0 if there are none. Inverse: 1 / index[0]. Integer: index[0], only in proofs of the
/// checker.
struct Factor {
  enum class Kind : std::uint8_t { Read, Apply, Max, Inverse, Integer };
  Kind kind = Kind::Read;
  std::uint32_t symbol = 0;  // Read: the variable's TermId; Apply: the function
  std::vector<Poly> index;
  std::vector<Sum> arguments;
  std::vector<Atom> bound;
  Guards guards;
};

/// A supply of fresh index atoms for one proof, the same sequence in every proof.
class IndexSupply {
 public:
  explicit IndexSupply(Symbols& symbols) : symbols_(&symbols) {}
  Atom next();

 private:
  Symbols* symbols_;
  std::uint32_t count_ = 0;
};

/// Applies `f` to every polynomial: guards, read indices and nested sums, but not to the lists of bound indices.
void for_each_poly(Product& product, const std::function<void(Poly&)>& f);
void for_each_poly(Factor& factor, const std::function<void(Poly&)>& f);
void for_each_poly(const Product& product, const std::function<void(const Poly&)>& f);
void for_each_poly(const Factor& factor, const std::function<void(const Poly&)>& f);

/// Replaces indices at any depth. Nothing is captured, since bound indices are unique within a proof.
void substitute(Product& product, const Substitution& substitution, Symbols& symbols);
void substitute(Factor& factor, const Substitution& substitution, Symbols& symbols);

/// Gives every bound index a fresh name, at any depth.
void rename_bound(Product& product, IndexSupply& supply, Symbols& symbols);
void rename_bound(Factor& factor, IndexSupply& supply, Symbols& symbols);

/// Returns the product of two sums, with the bound indices of the second renamed.
Sum multiply(const Sum& a, const Sum& b, IndexSupply& supply, Symbols& symbols);
Sum negate(Sum sum);

/// Throws LimitReached if the normal form has too many products.
void throw_if_too_large(const Sum& sum);

/// True if any of the atoms occurs in the polynomial at any depth.
bool mentions(const Poly& poly, const std::vector<Atom>& atoms, const Symbols& symbols);

/// A key that equal factors share: the kind, the symbol and the number of bound indices.
std::uint64_t head(const Factor& factor);

std::string to_string(const Product& product, const algebra::TermBank& bank, const Symbols& symbols);

}  // namespace rulemill::prove
