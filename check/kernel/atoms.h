// The sizes and indices of one rule: algebra::Poly over atoms of the checker's own intern table, with its own floor
// division and text, and guards on them. It is independent of algebra::Symbols, whose simplifications the prover uses.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "algebra/operators/expression.h"

namespace rulemill::check {

using algebra::Atom;
using algebra::Monomial;
using algebra::Poly;

/// Thrown where a check cannot continue: the rule or its certificate is wrong, or beyond what the checker supports.
struct CheckError {
  std::string what;
};

/// Throws CheckError unless the condition holds.
inline void expect(bool condition, const char* what) {
  if (!condition) throw CheckError{what};
}

/// poly ≥ 0, or poly = 0.
struct Guard {
  bool equality = false;
  Poly poly;
  bool operator==(const Guard&) const = default;
  auto operator<=>(const Guard&) const = default;
};
using Guards = std::vector<Guard>;
using Images = std::map<Atom, Poly>;

/// The relation between left and right, which is not ≠. Throws CheckError for ≠.
Guard to_guard(algebra::Relation relation, const Poly& left, const Poly& right);
/// The disjoint regions where the guard does not hold: −poly − 1 ≥ 0 for poly ≥ 0; poly ≥ 1 and poly ≤ −1 for poly = 0.
Guards complement(const Guard& guard);
bool always_holds(const Guard& guard);
/// Appends 0 ≤ index < extent.
void append_range(Guards& guards, const Poly& index, const Poly& extent);
Guards conjunction(Guards a, const Guards& b);
/// Removes guards that always hold or are known, and duplicates.
void remove_redundant(Guards& guards, const Guards& known = {});

class Atoms {
 public:
  /// Size: an integer of at least 1. Output: an index of the output element, any integer. Bound: a bound index, any
  /// integer. Quotient: floor(left / right). Min, Max: of left and right.
  enum class Kind : std::uint8_t { Size, Output, Bound, Quotient, Min, Max };

  /// Throws InputError unless the name is an identifier.
  Poly size(const std::string& name);
  Poly output(std::size_t number) { return Poly(intern({Kind::Output, "@" + std::to_string(number), {}, {}})); }
  Atom bound(std::size_t number) { return intern({Kind::Bound, "#" + std::to_string(number), {}, {}}); }
  Atom fresh_bound() { return bound(bound_++); }
  /// The bound index at a depth, for comparisons only: no text names it.
  Atom level(std::size_t depth) { return intern({Kind::Bound, "." + std::to_string(depth), {}, {}}); }

  /// floor(n / d). Records d: a proof must show that all divisors() are at least 1.
  Poly floor_div(Poly n, Poly d);
  Poly min(const Poly& a, const Poly& b) { return compound(Kind::Min, a, b); }
  Poly max(const Poly& a, const Poly& b) { return compound(Kind::Max, a, b); }
  /// The quotient, minimum or maximum.
  Poly compound(Kind kind, const Poly& a, const Poly& b);
  const std::set<Poly>& divisors() const { return divisors_; }
  void add_divisor(const Poly& d) { divisors_.insert(d); }

  Kind kind(Atom atom) const { return info(atom).kind; }
  const Poly& left(Atom atom) const { return info(atom).left; }
  const Poly& right(Atom atom) const { return info(atom).right; }
  bool is_compound(Atom atom) const { return kind(atom) >= Kind::Quotient; }

  /// Substitutes all images simultaneously, at any depth.
  Poly substitute(const Poly& poly, const Images& images);
  Guard substitute(const Guard& guard, const Images& images) {
    return {guard.equality, substitute(guard.poly, images)};
  }
  /// Collects all atoms that occur, at any depth, including compound ones.
  void collect(const Poly& poly, std::set<Atom>& into) const;
  bool occurs(const Poly& poly, Atom atom) const;
  /// True for polynomials in sizes only whose coefficients are ≥ 0 after substituting 1 + s' for every size s.
  bool is_nonnegative(const Poly& poly) const;

  std::string text(const Poly& poly) const;
  std::string text(const Guard& guard) const { return text(guard.poly) + (guard.equality ? " = 0" : " >= 0"); }

 private:
  struct Info {
    Kind kind;
    std::string name;
    Poly left, right;
    auto operator<=>(const Info&) const = default;
  };
  const Info& info(Atom atom) const { return infos_[static_cast<std::uint32_t>(atom)]; }
  Atom intern(Info info);

  std::deque<Info> infos_;  // a deque, so that references stay valid
  std::map<Info, Atom> atoms_;
  std::set<Poly> divisors_;
  std::size_t bound_ = 0;
};

}  // namespace rulemill::check
