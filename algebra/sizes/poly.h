// Integer polynomials over named sizes and indices, with floor divisions, minima and maxima as interned atoms.
// Sizes, split positions, tensor indices and guards are polynomials. Equal polynomials have equal terms.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace rulemill::algebra {

/// An atom of a Symbols table: a size, an index, or an interned floor division, minimum or maximum.
enum class Atom : std::uint32_t {};

/// A product of atoms: sorted, repeated for powers; empty for the constant monomial. Stored inline, without allocation.
/// Ordered by degree first, so that multiplication preserves the order and the last term of a polynomial is its leading
/// term.
class Monomial {
 public:
  static constexpr std::size_t max_degree = 16;

  Monomial() = default;
  Monomial(std::initializer_list<Atom> atoms);
  /// Inserts the atom in sorted order. Throws Overflow beyond max_degree, which no rule approaches.
  void push_back(Atom atom);
  /// Removes one occurrence; false if there is none.
  bool remove(Atom atom);
  /// Returns this / divisor if the divisor divides it.
  std::optional<Monomial> divided_by(const Monomial& divisor) const;
  friend Monomial operator*(const Monomial& a, const Monomial& b);

  const Atom* begin() const { return atoms_.data(); }
  const Atom* end() const { return atoms_.data() + size_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Atom operator[](std::size_t i) const { return atoms_[i]; }
  bool contains(Atom atom) const;

  bool operator==(const Monomial& other) const;
  std::strong_ordering operator<=>(const Monomial& other) const;

 private:
  std::array<Atom, max_degree> atoms_{};
  std::uint32_t size_ = 0;
};

/// A sum of coefficient · monomial: terms sorted by monomial, no zero coefficient. Overflow of a coefficient throws.
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
  static Poly from_terms(std::vector<Term> terms);  // sorts, merges, drops zeros

  const std::vector<Term>& terms() const { return terms_; }
  bool is_zero() const { return terms_.empty(); }
  /// The value, if no atom occurs.
  std::optional<std::int64_t> constant() const;
  /// The atom, if the polynomial is a single atom with coefficient 1.
  std::optional<Atom> atom() const;
  /// Coefficient of the monomial that is `atom` alone; 0 if absent.
  std::int64_t coefficient(Atom atom) const;
  /// Coefficient of the constant monomial.
  std::int64_t constant_term() const;
  /// The greatest common divisor of the terms: of their coefficients, times the atoms common to all; 1 for zero.
  Term content() const;
  /// Returns this / divisor if the divisor divides every term.
  std::optional<Poly> divided_by(const Term& divisor) const;
  /// The coefficients of this as a polynomial in `atom`: element i is the coefficient of atom^i.
  std::vector<Poly> coefficients_in(Atom atom) const;

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
  friend Poly operator*(const Poly& poly, const Term& term);
  void add_scaled(const Poly& other, std::int64_t factor);

  std::vector<Term> terms_;
};

Poly operator*(const Poly& poly, const Poly::Term& term);

/// The dimensions of a tensor, outermost first.
using Shape = std::vector<Poly>;

using Substitution = std::unordered_map<Atom, Poly>;

/// The table of atoms. Not thread-safe.
class Symbols {
 public:
  enum class Kind : std::uint8_t { Size, Index, FloorDiv, Min, Max };

  /// Interns by name. A size is an integer of at least 1, an index any integer.
  Atom size(const std::string& name);
  Atom index(const std::string& name);
  /// Creates an atom with an unused name: the prefix and a number.
  Atom fresh_size(const std::string& prefix);
  Atom fresh_index(const std::string& prefix);
  /// Creates a size that a rule leaves to inference: '?' in its text. No text has its name.
  Atom open_size(const std::string& prefix) { return fresh_size(prefix + "?"); }
  bool is_open(Atom atom) const { return name(atom).find('?') != std::string::npos; }

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

  /// Replaces sizes and indices at any depth. Rebuilds and simplifies divisions, minima and maxima.
  Poly substitute(const Poly& poly, const Substitution& substitution);
  /// The sizes and indices at any depth, sorted, each once; with `compound`, the compound atoms too.
  std::vector<Atom> atoms(const Poly& poly, bool compound = false) const;
  bool contains(const Poly& poly, Atom atom) const;
  /// Evaluates the polynomial. Throws Error on a division by zero.
  std::int64_t evaluate(const Poly& poly, const std::function<std::int64_t(Atom)>& value) const;
  /// True if inspection shows the polynomial to be non-negative for all sizes of at least 1. False means "not shown".
  bool is_nonnegative(const Poly& poly) const;
  bool is_positive(const Poly& poly) const { return is_nonnegative(poly - 1); }

  std::string to_string(const Poly& poly) const;
  /// "[d..., m, 2*k]": a pack is followed by dots.
  std::string to_string(const Shape& shape, std::span<const Atom> packs = {}) const;

  /// The state to roll back to. Rolling back removes later atoms; new ones get the same numbers again.
  struct Mark {
    std::size_t atoms = 0;
    std::uint64_t fresh = 0;
  };
  Mark mark() const { return {atoms_.size(), fresh_}; }
  void roll_back(const Mark& mark);

 private:
  struct AtomData {
    Kind kind;
    std::string name;
    Poly left, right;
  };
  Atom intern_named(Kind kind, const std::string& name);
  Poly intern_compound(Kind kind, Poly left, Poly right);
  static std::size_t hash(Kind kind, const Poly& left, const Poly& right) {
    return left.hash() * 31 + right.hash() * 7 + static_cast<std::size_t>(kind);
  }
  static std::string key(Kind kind, const std::string& name) { return (kind == Kind::Size ? "s " : "i ") + name; }
  const AtomData& data_of(Atom atom) const { return atoms_[static_cast<std::uint32_t>(atom)]; }
  bool is_nonnegative(const Poly& poly, int depth) const;
  bool is_nonnegative_by_bounds(const Poly& poly, Atom compound, int depth) const;
  void collect_atoms(const Poly& poly, bool with_compound, std::vector<Atom>& into) const;
  std::string to_string(const Poly::Term& term) const;

  std::deque<AtomData> atoms_;  // a deque: references stay valid
  std::unordered_map<std::string, Atom> by_name_;
  std::unordered_map<std::size_t, std::vector<Atom>> compounds_;
  std::uint64_t fresh_ = 0;
};

}  // namespace rulemill::algebra
