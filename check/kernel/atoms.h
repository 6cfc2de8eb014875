// Sizes and indices of one rule as the checker knows them: algebra::Poly over atoms of its own table, with its own
// floor division and its own text. Shares nothing with algebra::Symbols, whose simplifications are on trial.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/sizes/poly.h"

namespace rulemill::check {

using algebra::Atom;
using algebra::Monomial;
using algebra::Poly;

/// poly ≥ 0, or poly = 0.
struct Guard {
  bool equality = false;
  Poly poly;
  bool operator==(const Guard&) const = default;
  auto operator<=>(const Guard&) const = default;
};
using Guards = std::vector<Guard>;
using Images = std::map<Atom, Poly>;

class Atoms {
 public:
  /// Size: an integer of at least 1. Output, Bound: any integer; an index of the element, one that is summed over.
  /// Quotient: floor(left / right). Min, Max: of left and right.
  enum class Kind : std::uint8_t { Size, Output, Bound, Quotient, Min, Max };

  Poly size(const std::string& name);  // an identifier, else InputError
  Poly output(std::size_t number) { return Poly(named(Kind::Output, "@" + std::to_string(number))); }
  Atom bound(std::size_t number) { return named(Kind::Bound, "#" + std::to_string(number)); }
  Atom fresh_bound() { return bound(bound_++); }

  /// floor(n / d). What is divided by is remembered: a proof is one only if all of divisors() are shown to be ≥ 1.
  Poly quotient(Poly n, Poly d);
  Poly minimum(const Poly& a, const Poly& b) { return extremum(Kind::Min, a, b); }
  Poly maximum(const Poly& a, const Poly& b) { return extremum(Kind::Max, a, b); }
  const std::set<Poly>& divisors() const { return divisors_; }
  void divides(const Poly& d) { divisors_.insert(d); }

  Kind kind(Atom atom) const { return entry(atom).kind; }
  const Poly& left(Atom atom) const { return entry(atom).left; }
  const Poly& right(Atom atom) const { return entry(atom).right; }
  bool is_compound(Atom atom) const { return kind(atom) >= Kind::Quotient; }

  /// All images at once, at any depth.
  Poly substitute(const Poly& poly, const Images& images);
  /// Every atom that occurs, at any depth, compound ones too.
  void collect(const Poly& poly, std::set<Atom>& into) const;
  bool occurs(const Poly& poly, Atom atom) const;
  /// ≥ 0 by inspection: a polynomial of sizes alone, whose coefficients are ≥ 0 once every size s is written as 1 + s'.
  bool nonnegative(const Poly& poly) const;

  /// The same polynomial of a rule's symbols in these atoms; with `values`, at these values of its sizes.
  using ByName = std::map<std::string, Poly>;
  Poly import(const Poly& poly, const algebra::Symbols& symbols, const ByName* values = nullptr);

  std::string text(const Poly& poly) const;
  std::string text(const Guard& guard) const { return text(guard.poly) + (guard.equality ? " = 0" : " >= 0"); }
  /// Reads what text() writes. Throws InputError at `place` on anything else.
  Poly parse(std::string_view text, const std::string& place);
  Guard parse_guard(std::string_view text, const std::string& place);

 private:
  struct Entry {
    Kind kind;
    std::string name;
    Poly left, right;
  };
  const Entry& entry(Atom atom) const { return entries_[static_cast<std::uint32_t>(atom)]; }
  Atom named(Kind kind, const std::string& name);
  Poly compound(Kind kind, const Poly& left, const Poly& right);
  Poly extremum(Kind kind, const Poly& a, const Poly& b);

  std::deque<Entry> entries_;  // references to entries stay valid
  std::map<std::string, Atom> by_name_;
  std::map<std::tuple<Kind, Poly, Poly>, Atom> compounds_;
  std::set<Poly> divisors_;
  std::size_t bound_ = 0;
};

}  // namespace rulemill::check
