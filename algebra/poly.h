// Integer polynomials over named sizes and indices, with floor divisions, minima and maxima as interned atoms.
// Sizes, split positions, tensor indices and guards are all polynomials; equal polynomials have equal terms, always.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace rulemill::algebra {

/// An atom of a Symbols table: a size, an index, or an interned floor division, minimum or maximum.
enum class Atom : std::uint32_t {};

/// A product of atoms: sorted, repeated for powers; empty for the constant monomial.
using Monomial = std::vector<Atom>;

/// Sum of coefficient · monomial, terms sorted by monomial, no zero coefficient. Overflow of a coefficient throws.
class Poly {
 public:
  struct Term {
    Monomial monomial;
    std::int64_t coefficient;
    bool operator==(const Term&) const = default;
    auto operator<=>(const Term&) const = default;
  };

  Poly() = default;
  Poly(std::int64_t constant);  // NOLINT(google-explicit-constructor): numbers are polynomials
  explicit Poly(Atom atom);
  static Poly of_terms(std::vector<Term> terms);  // sorts, merges, drops zeros

  const std::vector<Term>& terms() const { return terms_; }
  bool is_zero() const { return terms_.empty(); }
  /// The value, if no atom occurs.
  std::optional<std::int64_t> constant() const;
  /// The atom, if the polynomial is just one atom with coefficient one.
  std::optional<Atom> atom() const;
  /// Coefficient of the monomial that is `atom` alone; 0 if absent.
  std::int64_t coefficient(Atom atom) const;

  Poly& operator+=(const Poly& other);
  Poly& operator-=(const Poly& other);
  friend Poly operator+(Poly a, const Poly& b) { return a += b; }
  friend Poly operator-(Poly a, const Poly& b) { return a -= b; }
  friend Poly operator*(const Poly& a, const Poly& b);
  Poly operator-() const;

  bool operator==(const Poly&) const = default;
  auto operator<=>(const Poly&) const = default;
  std::size_t hash() const;

 private:
  std::vector<Term> terms_;
};

/// The dimensions of a tensor, outermost first.
using Shape = std::vector<Poly>;

using Substitution = std::unordered_map<Atom, Poly>;

/// Owns the atoms. Not for sharing between threads.
class Symbols {
 public:
  enum class Kind : std::uint8_t { Size, Index, FloorDiv, Min, Max };

  /// Interned by name: a size is an integer of at least 1, an index any integer.
  Atom size(const std::string& name);
  Atom index(const std::string& name);
  /// A new atom whose name no other has: prefix and a number.
  Atom fresh_size(const std::string& prefix);
  Atom fresh_index(const std::string& prefix);

  /// floor(a / b), exact for whole multiples: floor((q·b + r) / b) = q + floor(r / b). b must not be zero.
  Poly floor_div(const Poly& a, const Poly& b);
  /// a − b · floor(a / b)
  Poly mod(const Poly& a, const Poly& b);
  Poly min(const Poly& a, const Poly& b);
  Poly max(const Poly& a, const Poly& b);

  Kind kind(Atom atom) const;
  const std::string& name(Atom atom) const;  // sizes and indices only
  /// The operands of a floor division, minimum or maximum.
  const Poly& left(Atom atom) const;
  const Poly& right(Atom atom) const;

  /// Replaces sizes and indices at any depth; divisions, minima and maxima are rebuilt and simplified.
  Poly substitute(const Poly& poly, const Substitution& substitution);
  /// Sizes and indices that occur at any depth, sorted, each once; with `compound`, the compound atoms too.
  std::vector<Atom> atoms(const Poly& poly, bool compound = false) const;
  bool contains(const Poly& poly, Atom atom) const;
  /// The integer that it stands for. Throws Error on a division by zero.
  std::int64_t evaluate(const Poly& poly, const std::function<std::int64_t(Atom)>& value) const;
  /// True if non-negative for all sizes of at least 1 by inspection of coefficients; false means "not shown".
  bool nonnegative(const Poly& poly) const;

  std::string to_string(const Poly& poly) const;
  std::string to_string(const Shape& shape) const;  // "[m, 2*k]"

 private:
  struct Entry {
    Kind kind;
    std::string name;
    Poly left, right;
  };
  Atom intern(Kind kind, std::string name, Poly left, Poly right);

  std::vector<Entry> entries_;
  std::unordered_map<std::string, Atom> by_name_;
  std::unordered_map<std::size_t, std::vector<Atom>> compounds_;
};

}  // namespace rulemill::algebra
