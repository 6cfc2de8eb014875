#include "prove/solver/lemma_context.h"

#include <algorithm>

#include "algebra/sizes/checked.h"

namespace rulemill::prove {

using algebra::Monomial;
using check::Atoms;
using check::ProductLemma;

namespace {

/// True if the polynomial is nonnegative because products of sizes are at least 1, which is all that a script states.
bool is_stated_nonnegative(const Poly& poly, const Atoms& atoms) {
  const auto is_size = [&](Atom atom) { return atoms.kind(atom) == Atoms::Kind::Size; };
  std::int64_t least = 0;
  for (const Poly::Term& term : poly.terms()) {
    if (!term.monomial.empty() && (term.coefficient < 0 || !std::ranges::all_of(term.monomial, is_size))) return false;
    least = algebra::checked_add(least, term.coefficient);
  }
  return least >= 0;
}

}  // namespace

LiteralLemmas to_lemmas(const std::vector<ProductLemma>& products, const Atoms& atoms) {
  LiteralLemmas result;
  for (const auto& [a, b] : products) {
    result.lemmas.push_back({{}, {false, a * b}});
    for (const Poly& factor : {a, b}) {
      if (!is_stated_nonnegative(factor, atoms)) result.lemmas.back().premises.push_back({false, factor});
    }
  }
  return result;
}

void LemmaContext::add_poly(const Poly& poly) {
  for (const Poly::Term& term : poly.terms()) {
    if (!term.monomial.empty() && monomials_.insert(term.monomial).second) pending_.push_back(term.monomial);
  }
}

void LemmaContext::add_guard(const check::Guard& guard) {
  add_poly(guard.poly);
  bounds_.push_back(guard.poly);
  if (guard.equality) bounds_.push_back(-guard.poly);
}

std::vector<Lemma> LemmaContext::definitions() {
  std::vector<Lemma> lemmas;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const Monomial monomial = pending_[i];
    if (only_sizes(monomial)) lemmas.push_back({{}, {false, Poly::from_terms({{monomial, 1}}) - 1}});
    if (monomial.size() > 1) has_products_ = true;
    for (const Atom atom : monomial) {
      if (is_size(atom)) add_poly(Poly(atom));
      if (atoms_.is_compound(atom) && compounds_.insert(atom).second) define(atom, lemmas);
    }
  }
  return lemmas;
}

std::vector<ProductLemma> LemmaContext::candidates() {
  bound_quotients();
  split_common_sizes();
  multiply_bounds();
  multiply_size_bounds();
  return std::move(times_);
}

std::set<Poly> LemmaContext::products_of_sizes(const std::vector<ProductLemma>& lemmas) const {
  std::set<Poly> products;
  const auto collect = [&](const Poly& poly) {
    for (const Poly::Term& term : poly.terms()) {
      if (!term.monomial.empty() && only_sizes(term.monomial)) products.insert(Poly::from_terms({{term.monomial, 1}}));
    }
  };
  for (const auto& [a, b] : lemmas) collect(a), collect(b);
  return products;
}

bool LemmaContext::only_sizes(const Monomial& monomial) const {
  return std::all_of(monomial.begin(), monomial.end(), [&](Atom atom) { return is_size(atom); });
}

void LemmaContext::define(Atom atom, std::vector<Lemma>& lemmas) {
  const Poly value(atom);
  const Poly &l = atoms_.left(atom), &r = atoms_.right(atom);
  const auto add = [&](Guards premises, const Poly& poly) {
    add_poly(poly);
    lemmas.push_back({std::move(premises), {false, poly}});
  };
  if (atoms_.kind(atom) == Atoms::Kind::Quotient) {
    Guards premises;
    if (!is_stated_nonnegative(r - 1, atoms_)) premises.push_back({false, r - 1});
    add(premises, l - r * value);
    add(premises, r * value + r - 1 - l);
    return;
  }
  const Poly sign(atoms_.kind(atom) == Atoms::Kind::Min ? 1 : -1);
  add({}, (l - value) * sign);
  add({}, (r - value) * sign);
  add({{false, (r - l) * sign}}, (value - l) * sign);
  add({{false, (l - r) * sign}}, (value - r) * sign);
}

void LemmaContext::propose(const Poly& a, const Poly& b) {
  if (times_.size() < max_lemmas && seen_.insert({a, b}).second) times_.emplace_back(a, b);
}

std::optional<Poly> LemmaContext::exact_quotient(const Poly& multiple, const Poly& d) {
  if (d.terms().size() == 1) return multiple.divided_by(d.terms()[0]);
  const Poly g = atoms_.floor_div(multiple, d);
  return g * d == multiple ? std::optional(g) : std::nullopt;
}

/// Proposes (q − g)·d ≥ 0 and (g − 1 − q)·d ≥ 0 for q = floor(n / d) and multiples g·d that n may be compared with.
/// If d is a number, these are no products; then q − g and g − 1 − q may be factors.
void LemmaContext::bound_quotients() {
  for (const Atom atom : compounds_) {
    if (atoms_.kind(atom) != Atoms::Kind::Quotient) continue;
    const Poly q(atom);
    const Poly &n = atoms_.left(atom), &d = atoms_.right(atom);
    const bool by_number = d.constant().has_value();
    std::set<Poly> against;
    for (const Poly& bound : bounds_) {
      for (const Poly& multiple : {bound + 1 + n, n - bound, bound + n, n - bound - 1}) {
        if (const auto g = exact_quotient(multiple, d)) against.insert(*g);
      }
    }
    if (!by_number) {
      derived_.push_back(n - d * q);
      derived_.push_back(d * q + d - 1 - n);
      against.insert({Poly(0), Poly(1)});
    }
    if (!by_number && d.terms().size() == 1) {
      for (const Monomial& monomial : monomials_) {
        const auto factor = monomial.divided_by(d.terms()[0].monomial);
        if (factor && !factor->empty() && only_sizes(*factor)) against.insert(Poly::from_terms({{*factor, 1}}));
      }
    }
    for (const Poly& g : against) {
      for (const Poly& factor : {q - g, g - 1 - q}) {
        if (!by_number) propose(factor, d);
        derived_.push_back(factor);
      }
    }
    if (by_number) continue;
    // Compares q with another quotient p = floor(m / e), where k·e = d.
    for (const Atom other : compounds_) {
      if (other == atom || atoms_.kind(other) != Atoms::Kind::Quotient) continue;
      const Poly p(other), &m = atoms_.left(other), &e = atoms_.right(other);
      const auto k = exact_quotient(d, e);
      if (!k) continue;
      propose(q - p - 1, d);
      if (*k == Poly(1)) continue;
      propose(p - q - 1, d);
      propose(m - e * p, *k);
      propose(e * p + e - 1 - m, *k);
    }
  }
}

/// Proposes lemmas on the sign of r in m·r + c ≥ 0 for a product m of sizes, as in q·n − q·k − 1.
void LemmaContext::split_common_sizes() {
  for (const Poly& bound : bounds_) {
    const Poly rest = bound - bound.constant_term();
    if (rest.terms().size() < 2) continue;
    Monomial common = rest.content().monomial;
    for (const Atom atom : Monomial(common)) {
      if (!is_size(atom)) common.remove(atom);
    }
    if (common.empty()) continue;
    const Poly factor = *rest.divided_by(Poly::Term{common, 1}), sizes = Poly::from_terms({{common, 1}});
    propose(-factor, sizes);
    propose(factor - 1, sizes);
  }
}

/// Proposes p ≥ 0 times sizes that are a cofactor of one of its atoms in some monomial.
void LemmaContext::multiply_bounds() {
  std::set<std::pair<Atom, Monomial>> cofactors;
  for (const Monomial& monomial : monomials_) {
    if (monomial.size() < 2) continue;
    for (const Atom atom : monomial) {
      const Monomial rest = *monomial.divided_by(Monomial{atom});
      if (only_sizes(rest)) cofactors.emplace(atom, rest);
    }
  }
  for (const std::vector<Poly>* list : {&bounds_, &derived_}) {
    for (const Poly& bound : *list) {
      for (const auto& [atom, sizes] : cofactors) {
        if (bound.coefficient(atom) == 0) continue;
        propose(bound, Poly::from_terms({{sizes, 1}}));
        propose(-bound - 1, Poly::from_terms({{sizes, 1}}));
      }
    }
  }
}

/// Proposes p·q ≥ 0 for bounds q ≥ 0 on sizes, as of h − 3 and w − 3, or of v and w − 3 for an index v, whose
/// products divide products that occur. Of bounds that differ by a number, the strongest counts.
void LemmaContext::multiply_size_bounds() {
  const auto divides = [&](const Poly::Term& term) {
    return term.monomial.empty() || std::ranges::any_of(monomials_, [&](const Monomial& product) {
             return product.size() > 1 && product.divided_by(term.monomial);
           });
  };
  std::vector<Poly> bounds;
  const auto add = [&](const Poly& bound) {
    const auto is_used = [&](const Poly::Term& term) { return only_sizes(term.monomial) && divides(term); };
    if (!std::ranges::all_of(bound.terms(), is_used)) return;
    for (Poly& other : bounds) {
      const auto difference = (bound - other).constant();
      if (difference && *difference < 0) other = bound;
      if (difference) return;
    }
    bounds.push_back(bound);
  };
  for (const Poly& bound : bounds_) add(bound);
  const std::size_t given = bounds.size();
  for (const Monomial& monomial : monomials_) {
    if (monomial.size() == 1) add(Poly(monomial[0]) - 1);
  }
  const auto multiply = [&](const Poly& p, const Poly& q) {
    const Poly product = p * q;
    if (!std::ranges::all_of(product.terms(), divides)) return;
    propose(p, q);
    add(product + p + q);  // (p + 1)·(q + 1) ≥ 1
  };
  for (std::size_t i = 1; i < bounds.size() && bounds.size() < max_size_bounds; ++i) {
    for (std::size_t j = 0; j < std::min(i, given); ++j) multiply(bounds[i], bounds[j]);
  }
  for (const Poly& bound : bounds_) {
    for (std::size_t j = 0; j < given; ++j) {
      multiply(bound, bounds[j]);
      multiply(-bound - 1, bounds[j]);
    }
  }
}

}  // namespace rulemill::prove
