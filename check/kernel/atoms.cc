#include "check/kernel/atoms.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "algebra/sizes/checked.h"
#include "runtime/text/error.h"

namespace rulemill::check {

using runtime::InputError;

namespace {

bool is_identifier(std::string_view name) {
  const auto inside = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 && std::ranges::all_of(name, inside);
}

/// The quotient of coefficients in a long division: rounded down; by a negative leading one only if it divides, else 0.
std::int64_t quotient_of_coefficients(std::int64_t coefficient, std::int64_t leading) {
  return leading > 0 || coefficient % leading == 0 ? algebra::floor_quotient(coefficient, leading) : 0;
}

/// The polynomial with each atom replaced by its value.
template <class Value>
Poly map_atoms(const Poly& poly, const Value& value) {
  Poly result;
  for (const Poly::Term& term : poly.terms()) {
    Poly product(term.coefficient);
    for (const Atom atom : term.monomial) product = product * value(atom);
    result += product;
  }
  return result;
}

}  // namespace

Guard to_guard(algebra::Relation relation, const Poly& left, const Poly& right) {
  expect(relation != algebra::Relation::Ne, "a condition with != is no guard");
  return {relation == algebra::Relation::Eq, right - left - (relation == algebra::Relation::Lt ? 1 : 0)};
}

Guards complement(const Guard& guard) {
  if (guard.equality) return {{false, guard.poly - 1}, {false, -guard.poly - 1}};
  return {{false, -guard.poly - 1}};
}

bool always_holds(const Guard& guard) {
  const auto constant = guard.poly.constant();
  return constant && (guard.equality ? *constant == 0 : *constant >= 0);
}

void append_range(Guards& guards, const Poly& index, const Poly& extent) {
  guards.push_back({false, index});
  guards.push_back({false, extent - 1 - index});
}

Guards conjunction(Guards a, const Guards& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void remove_redundant(Guards& guards, const Guards& known) {
  Guards kept;
  for (const Guard& guard : guards) {
    const auto is_in = [&](const Guards& list) { return std::ranges::find(list, guard) != list.end(); };
    if (!always_holds(guard) && !is_in(kept) && !is_in(known)) kept.push_back(guard);
  }
  guards = std::move(kept);
}

Atom Atoms::intern(Info info) {
  const auto [found, is_new] = atoms_.try_emplace(std::move(info), static_cast<Atom>(infos_.size()));
  if (is_new) infos_.push_back(found->first);
  return found->second;
}

Poly Atoms::size(const std::string& name) {
  if (!is_identifier(name)) throw InputError("size", "the name is not an identifier");
  return Poly(intern({Kind::Size, name, {}, {}}));
}

Poly Atoms::compound(Kind kind, const Poly& a, const Poly& b) {
  if (kind == Kind::Quotient) return floor_div(a, b);
  if (a == b) return a;
  return Poly(intern({kind, {}, std::min(a, b), std::max(a, b)}));
}

/// For d ≥ 1 and any e:  floor((d·e + r) / d) = e + floor(r / d),  floor(c·r / (c·d)) = floor(r / d) for c ≥ 1,
/// floor(floor(x / a) / d) = floor(x / (a·d)) for a ≥ 1,  floor(r / d) = 0 for 0 ≤ r < d,  and −1 for −d ≤ r < 0.
Poly Atoms::floor_div(Poly n, Poly d) {
  add_divisor(d);
  if (d.is_zero()) throw InputError("floor division", "by zero");
  if (d == Poly(1)) return n;
  // The common factor c: a number times sizes.
  Poly::Term common{{}, std::gcd(n.content().coefficient, d.content().coefficient)};
  Monomial rest = n.content().monomial;
  for (const Atom atom : d.content().monomial) {
    if (kind(atom) == Kind::Size && rest.remove(atom)) common.monomial.push_back(atom);
  }
  if (n.is_zero()) return n;
  if (common.coefficient > 1 || !common.monomial.empty())
    return floor_div(*n.divided_by(common), *d.divided_by(common));
  // e by long division by the leading term of d; the remainder is r.
  const Poly::Term leading = d.terms().back();
  Poly e, r;
  while (!n.is_zero()) {
    const Poly::Term term = n.terms().back();
    const auto monomial = term.monomial.divided_by(leading.monomial);
    const std::int64_t factor = monomial ? quotient_of_coefficients(term.coefficient, leading.coefficient) : 0;
    if (factor != 0) {
      e += Poly::from_terms({{*monomial, factor}});
      n -= d * Poly::Term{*monomial, factor};
      if (n.is_zero() || n.terms().back().monomial != term.monomial) continue;
    }
    const Poly kept = Poly::from_terms({n.terms().back()});
    r += kept;
    n -= kept;
  }
  if (is_nonnegative(r) && is_nonnegative(d - 1 - r)) return e;
  if (is_nonnegative(-r - 1) && is_nonnegative(d + r)) return e - 1;
  if (!e.is_zero()) return e + floor_div(r, d);
  const auto inner = r.atom();
  if (inner && kind(*inner) == Kind::Quotient && is_nonnegative(d - 1))
    return floor_div(Poly(left(*inner)), right(*inner) * d);
  return Poly(intern({Kind::Quotient, {}, r, d}));
}

bool Atoms::is_nonnegative(const Poly& poly) const {
  const auto is_size = [&](Atom atom) { return kind(atom) == Kind::Size; };
  const auto is_of_sizes = [&](const Poly::Term& term) { return std::ranges::all_of(term.monomial, is_size); };
  const auto is_added = [](const Poly::Term& term) { return term.coefficient >= 0; };
  if (!std::ranges::all_of(poly.terms(), is_of_sizes)) return false;
  if (std::ranges::all_of(poly.terms(), is_added)) return true;
  const Poly shifted = map_atoms(poly, [](Atom atom) { return Poly(atom) + 1; });
  return std::ranges::all_of(shifted.terms(), is_added);
}

Poly Atoms::substitute(const Poly& poly, const Images& images) {
  return map_atoms(poly, [&](Atom atom) {
    if (const auto image = images.find(atom); image != images.end()) return image->second;
    if (!is_compound(atom)) return Poly(atom);
    const Poly l = substitute(Poly(left(atom)), images), r = substitute(Poly(right(atom)), images);
    return l == left(atom) && r == right(atom) ? Poly(atom) : compound(kind(atom), l, r);
  });
}

void Atoms::collect(const Poly& poly, std::set<Atom>& into) const {
  for (const Poly::Term& term : poly.terms()) {
    for (const Atom atom : term.monomial) {
      if (!into.insert(atom).second || !is_compound(atom)) continue;
      collect(left(atom), into);
      collect(right(atom), into);
    }
  }
}

bool Atoms::occurs(const Poly& poly, Atom atom) const {
  std::set<Atom> all;
  collect(poly, all);
  return all.contains(atom);
}

}  // namespace rulemill::check
