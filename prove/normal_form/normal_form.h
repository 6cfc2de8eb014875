// The normal form of one tensor element in proofs: a sum of products
//     coefficient · Σ over bound indices [guards] · Π factors,
// where indices are integer polynomials. Zero outside a tensor and loop ranges are guards like any other; a bound index
// runs over all integers.
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

/// Read: variable[index]. Apply: function(arguments...). Max: the maximum of arguments[0] over those values of `bound`
/// for which `guards` hold, 0 if there are none. Inverse: 1 / index[0]. Whole: index[0], in a checker's proofs alone.
struct Factor {
  enum class Kind : std::uint8_t { Read, Apply, Max, Inverse, Whole };
  Kind kind = Kind::Read;
  std::uint32_t symbol = 0;  // Read: the variable's TermId; Apply: the function
  std::vector<Poly> index;
  std::vector<Sum> arguments;
  std::vector<Atom> bound;
  Guards guards;
};

/// Fresh index atoms for one proof, the same ones in every proof.
class IndexSupply {
 public:
  explicit IndexSupply(Symbols& symbols) : symbols_(&symbols) {}
  Atom next();

 private:
  Symbols* symbols_;
  std::uint32_t count_ = 0;
};

/// Applies `f` to every polynomial: guards, read indices and nested sums. Bound indices are left as they are.
void for_each_poly(Product& product, const std::function<void(Poly&)>& f);
void for_each_poly(Factor& factor, const std::function<void(Poly&)>& f);
void for_each_poly(const Product& product, const std::function<void(const Poly&)>& f);
void for_each_poly(const Factor& factor, const std::function<void(const Poly&)>& f);

/// Replaces indices at any depth. The substitution must not capture: bound indices are unique within a proof.
void substitute(Product& product, const Substitution& substitution, Symbols& symbols);
void substitute(Factor& factor, const Substitution& substitution, Symbols& symbols);

/// Gives every bound index, nested ones too, a fresh name.
void rename_bound(Product& product, IndexSupply& supply, Symbols& symbols);
void rename_bound(Factor& factor, IndexSupply& supply, Symbols& symbols);

/// The product of two sums; bound indices are renamed apart.
Sum multiply(const Sum& a, const Sum& b, IndexSupply& supply, Symbols& symbols);
Sum negated(Sum sum);

/// True if any of the atoms occurs in the polynomial at any depth.
bool mentions(const Poly& poly, const std::vector<Atom>& atoms, const Symbols& symbols);

/// What two factors must share to be comparable: kind, symbol, and how many things are bound.
std::uint64_t head(const Factor& factor);

std::string to_string(const Product& product, const algebra::TermBank& bank, const Symbols& symbols);

}  // namespace rulemill::prove
