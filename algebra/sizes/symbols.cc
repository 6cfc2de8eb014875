#include <algorithm>
#include <numeric>

#include "algebra/sizes/checked.h"
#include "algebra/sizes/poly.h"

namespace rulemill::algebra {
namespace {

struct Division {
  Poly quotient, remainder;
};

/// Divides with remainder: a = quotient · b + remainder, where no term of the remainder is a multiple of b's leading
/// term. Then floor(a / b) = quotient + floor(remainder / b) for either sign of b, and equal numerators give equal
/// remainders.
Division divide(Poly a, const Poly& b) {
  const Poly::Term& leading = b.terms().back();
  Division result;
  std::vector<Poly::Term> kept;
  while (!a.is_zero()) {
    const Poly::Term term = a.terms().back();
    const std::optional<Monomial> monomial = term.monomial.divided_by(leading.monomial);
    const std::int64_t factor = monomial ? floor_quotient(term.coefficient, leading.coefficient) : 0;
    if (factor != 0) {
      const Poly::Term step{*monomial, factor};
      result.quotient += Poly::from_terms({step});
      a -= b * step;
      if (a.is_zero() || a.terms().back().monomial != term.monomial) continue;
    }
    kept.push_back(a.terms().back());
    a -= Poly::from_terms({a.terms().back()});
  }
  result.remainder = Poly::from_terms(std::move(kept));
  return result;
}

}  // namespace

Atom Symbols::intern_named(Kind kind, const std::string& name) {
  const auto [found, inserted] = by_name_.try_emplace(key(kind, name), static_cast<Atom>(atoms_.size()));
  if (inserted) atoms_.push_back({kind, name, {}, {}});
  return found->second;
}

Atom Symbols::size(const std::string& name) { return intern_named(Kind::Size, name); }
Atom Symbols::index(const std::string& name) { return intern_named(Kind::Index, name); }

Atom Symbols::fresh_size(const std::string& prefix) {
  std::string name;
  do name = prefix + std::to_string(++fresh_);
  while (by_name_.contains("s " + name));
  return size(name);
}

Atom Symbols::fresh_index(const std::string& prefix) {
  std::string name;
  do name = prefix + std::to_string(++fresh_);
  while (by_name_.contains("i " + name));
  return index(name);
}

Poly Symbols::intern_compound(Kind kind, Poly left, Poly right) {
  std::vector<Atom>& bucket = compounds_[hash(kind, left, right)];
  for (const Atom atom : bucket) {
    const AtomData& known = data_of(atom);
    if (known.kind == kind && known.left == left && known.right == right) return Poly(atom);
  }
  const Atom atom = static_cast<Atom>(atoms_.size());
  atoms_.push_back({kind, {}, std::move(left), std::move(right)});
  bucket.push_back(atom);
  return Poly(atom);
}

Poly Symbols::floor_div(const Poly& a, const Poly& b) {
  if (b.is_zero()) throw runtime::Error("polynomial", "division by zero in div(" + to_string(a) + ", 0)");
  if (b.constant() == 1) return a;
  const bool sum_of_sizes = std::ranges::all_of(b.terms(), [&](const Poly::Term& term) {
    return term.coefficient > 0 &&
           std::ranges::all_of(term.monomial, [&](Atom atom) { return kind(atom) == Kind::Size; });
  });
  const bool positive_divisor = sum_of_sizes || is_positive(b);
  if (!positive_divisor && is_positive(-b)) return floor_div(-a, -b);
  auto [quotient, r] = divide(a, b);
  if (r.is_zero()) return quotient;
  if (is_nonnegative(r) && is_nonnegative(b - r - 1)) return quotient;
  if (is_nonnegative(-r - 1) && is_nonnegative(b + r)) return quotient - 1;
  // floor((g·r + s) / (g·b)) = floor(r / b) for 0 ≤ s < g if b is positive, and for s = 0 whatever b's sign.
  Poly divisor = b;
  std::int64_t g = b.content().coefficient;
  for (const Poly::Term& term : r.terms()) {
    if (!term.monomial.empty() || !positive_divisor) g = std::gcd(g, term.coefficient);
  }
  const std::int64_t constant = r.constant_term();
  r -= constant - checked_multiply(g, floor_quotient(constant, g));
  // Common factors that are sizes cancel, because sizes are positive.
  const Poly::Term common = divisor.content();
  const Poly::Term of_remainder = r.content();
  Monomial shared;
  Monomial rest = of_remainder.monomial;
  for (const Atom atom : common.monomial) {
    if (kind(atom) == Kind::Size && rest.remove(atom)) shared.push_back(atom);
  }
  if (g > 1 || !shared.empty()) {
    divisor = *divisor.divided_by({shared, g});
    return quotient + floor_div(*r.divided_by({shared, g}), divisor);
  }
  // floor((floor(x / b) + k) / c) = floor((x + k·b) / (b·c)) for positive b and c.
  const Poly shift = r.constant_term();
  if (const std::optional<Atom> inner = (r - shift).atom();
      inner && positive_divisor && kind(*inner) == Kind::FloorDiv) {
    const Poly denominator = right(*inner);
    const Poly numerator = left(*inner) + shift * denominator;
    if (is_positive(denominator)) return quotient + floor_div(numerator, denominator * divisor);
  }
  return quotient + intern_compound(Kind::FloorDiv, std::move(r), std::move(divisor));
}

Poly Symbols::mod(const Poly& a, const Poly& b) { return a - b * floor_div(a, b); }

Poly Symbols::min(const Poly& a, const Poly& b) {
  if (is_nonnegative(b - a)) return a;
  if (is_nonnegative(a - b)) return b;
  const Poly shift = std::min(a.constant_term(), b.constant_term());
  return shift + intern_compound(Kind::Min, std::min(a, b) - shift, std::max(a, b) - shift);
}

Poly Symbols::max(const Poly& a, const Poly& b) {
  if (is_nonnegative(a - b)) return a;
  if (is_nonnegative(b - a)) return b;
  const Poly shift = std::min(a.constant_term(), b.constant_term());
  return shift + intern_compound(Kind::Max, std::min(a, b) - shift, std::max(a, b) - shift);
}

void Symbols::roll_back(const Mark& mark) {
  while (atoms_.size() > mark.atoms) {
    const AtomData& last = atoms_.back();
    if (last.kind == Kind::Size || last.kind == Kind::Index)
      by_name_.erase(key(last.kind, last.name));
    else
      compounds_[hash(last.kind, last.left, last.right)].pop_back();
    atoms_.pop_back();
  }
  fresh_ = mark.fresh;
}

Symbols::Kind Symbols::kind(Atom atom) const { return data_of(atom).kind; }
const std::string& Symbols::name(Atom atom) const { return data_of(atom).name; }
const Poly& Symbols::left(Atom atom) const { return data_of(atom).left; }
const Poly& Symbols::right(Atom atom) const { return data_of(atom).right; }

Poly Symbols::substitute(const Poly& poly, const Substitution& substitution) {
  const auto untouched = [&](Atom atom) {
    const AtomData& e = data_of(atom);
    if (e.kind == Kind::Size || e.kind == Kind::Index) return !substitution.contains(atom);
    for (const auto& [replaced, by] : substitution) {
      if (contains(e.left, replaced) || contains(e.right, replaced)) return false;
    }
    return true;
  };
  const auto replacement = [&](Atom atom) -> Poly {
    const Kind k = kind(atom);
    if (k == Kind::Size || k == Kind::Index) return substitution.at(atom);
    const Poly l = substitute(left(atom), substitution);
    const Poly r = substitute(right(atom), substitution);
    return k == Kind::FloorDiv ? floor_div(l, r) : k == Kind::Min ? min(l, r) : max(l, r);
  };
  std::vector<Poly::Term> kept;
  std::vector<Poly> changed;
  for (const Poly::Term& term : poly.terms()) {
    Poly::Term fixed{{}, term.coefficient};
    Poly product;
    bool touched = false;
    for (const Atom atom : term.monomial) {
      if (untouched(atom)) {
        fixed.monomial.push_back(atom);
      } else {
        product = touched ? product * replacement(atom) : replacement(atom);
        touched = true;
      }
    }
    if (touched)
      changed.push_back(product * fixed);
    else
      kept.push_back(fixed);
  }
  if (changed.empty()) return poly;
  Poly result = Poly::from_terms(std::move(kept));
  for (const Poly& term : changed) result += term;
  return result;
}

void Symbols::collect_atoms(const Poly& poly, bool with_compound, std::vector<Atom>& into) const {
  for (const Poly::Term& term : poly.terms()) {
    for (const Atom atom : term.monomial) {
      const AtomData& e = data_of(atom);
      const bool plain = e.kind == Kind::Size || e.kind == Kind::Index;
      if (plain || with_compound) into.push_back(atom);
      if (!plain) {
        collect_atoms(e.left, with_compound, into);
        collect_atoms(e.right, with_compound, into);
      }
    }
  }
}

std::vector<Atom> Symbols::atoms(const Poly& poly, bool compound) const {
  std::vector<Atom> result;
  collect_atoms(poly, compound, result);
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

bool Symbols::contains(const Poly& poly, Atom atom) const {
  for (const Poly::Term& term : poly.terms()) {
    for (const Atom a : term.monomial) {
      if (a == atom) return true;
      const AtomData& e = data_of(a);
      if (e.kind == Kind::Size || e.kind == Kind::Index) continue;
      if (contains(e.left, atom) || contains(e.right, atom)) return true;
    }
  }
  return false;
}

std::int64_t Symbols::evaluate(const Poly& poly, const std::function<std::int64_t(Atom)>& value) const {
  std::int64_t sum = 0;
  for (const Poly::Term& term : poly.terms()) {
    std::int64_t product = term.coefficient;
    for (const Atom atom : term.monomial) {
      const AtomData& e = data_of(atom);
      if (e.kind == Kind::Size || e.kind == Kind::Index) {
        product = checked_multiply(product, value(atom));
        continue;
      }
      const std::int64_t l = evaluate(e.left, value);
      const std::int64_t r = evaluate(e.right, value);
      if (e.kind == Kind::FloorDiv && r == 0)
        throw runtime::Error("polynomial", "division by zero in " + to_string(Poly(atom)));
      product = checked_multiply(product, e.kind == Kind::FloorDiv ? floor_quotient(l, r)
                                          : e.kind == Kind::Min    ? std::min(l, r)
                                                                   : std::max(l, r));
    }
    sum = checked_add(sum, product);
  }
  return sum;
}

}  // namespace rulemill::algebra
