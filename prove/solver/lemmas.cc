// Lemmas about floor divisions, extrema and products of sizes, which are opaque to linear arithmetic.
#include <algorithm>
#include <set>

#include "prove/solver/query.h"

namespace rulemill::prove {

namespace {

using algebra::Monomial;

class LemmaBuilder {
 public:
  explicit LemmaBuilder(Symbols& symbols) : symbols_(symbols) {}

  void read(const Guard& guard) {
    if (!guard.equality) {
      derived_.push_back({{guard}, guard.poly});
      bounds_.push_back(guard);
    }
    add_monomials(guard.poly);
  }

  std::vector<Lemma> finish() {
    // Definitions of compound atoms introduce new monomials, and these may introduce new atoms.
    for (std::size_t i = 0; i < compounds_.size(); ++i) define(compounds_[i]);
    bound_quotients();
    multiply_by_sizes();
    for (const Monomial& monomial : monomials_) {
      if (only_sizes(monomial)) lemmas_.push_back({{}, {false, Poly::from_terms({{monomial, 1}}) - 1}});
    }
    return std::move(lemmas_);
  }

 private:
  /// A polynomial that is nonnegative where the premises hold.
  struct Derived {
    Guards premises;
    Poly poly;
  };

  bool is_size(Atom atom) const { return symbols_.kind(atom) == Symbols::Kind::Size; }
  bool only_sizes(const Monomial& monomial) const {
    return std::all_of(monomial.begin(), monomial.end(), [&](Atom atom) { return is_size(atom); });
  }

  void add_monomials(const Poly& poly) {
    for (const Poly::Term& term : poly.terms()) {
      if (term.monomial.empty() || !monomials_.insert(term.monomial).second) continue;
      for (const Atom atom : term.monomial) {
        const Symbols::Kind kind = symbols_.kind(atom);
        if (is_size(atom)) monomials_.insert(Monomial{atom});
        if (kind == Symbols::Kind::Size || kind == Symbols::Kind::Index) continue;
        if (std::find(compounds_.begin(), compounds_.end(), atom) == compounds_.end()) compounds_.push_back(atom);
      }
    }
  }

  void add(Guards premises, Poly is_nonnegative) {
    add_monomials(is_nonnegative);
    lemmas_.push_back({std::move(premises), {false, std::move(is_nonnegative)}});
  }

  void define(Atom atom) {
    const Poly value(atom);
    const Poly l = symbols_.left(atom);
    const Poly r = symbols_.right(atom);
    switch (symbols_.kind(atom)) {
      case Symbols::Kind::FloorDiv: {
        // b ≥ 1 ⇒ 0 ≤ a − b·floor(a / b) ≤ b − 1
        Guards premises;
        if (!symbols_.is_positive(r)) premises.push_back({false, r - 1});
        add(premises, l - r * value);
        add(premises, r * value + r - 1 - l);
        break;
      }
      case Symbols::Kind::Min:
        add({}, l - value);
        add({}, r - value);
        add({{false, r - l}}, value - l);
        add({{false, l - r}}, value - r);
        break;
      case Symbols::Kind::Max:
        add({}, value - l);
        add({}, value - r);
        add({{false, r - l}}, r - value);
        add({{false, l - r}}, l - value);
        break;
      case Symbols::Kind::Size:
      case Symbols::Kind::Index:
        break;
    }
  }

  /// With q = floor(n / d) and a size G:  n ≥ 0 ⇒ q ≥ 0,  n < G·d ⇒ q ≤ G − 1,  n ≥ G·d ⇒ q ≥ G.
  void bound_quotients() {
    const std::vector<Monomial> known(monomials_.begin(), monomials_.end());
    for (std::size_t i = 0; i < compounds_.size(); ++i) {
      const Atom atom = compounds_[i];
      if (symbols_.kind(atom) != Symbols::Kind::FloorDiv) continue;
      const Poly& n = symbols_.left(atom);
      const Poly& d = symbols_.right(atom);
      if (!symbols_.is_positive(d)) continue;
      derive({{false, n}}, Poly(atom));
      decide_quotient(atom);
      bound_by_guards(atom);
      if (d.constant() || d.terms().size() != 1) continue;
      for (const Monomial& monomial : known) {
        const std::optional<Monomial> factor = monomial.divided_by(d.terms()[0].monomial);
        if (!factor || factor->empty() || !only_sizes(*factor)) continue;
        const Poly g = Poly::from_terms({{*factor, 1}});
        derive({{false, g * d - 1 - n}}, g - 1 - Poly(atom));
        derive({{false, n - g * d}}, Poly(atom) - g);
      }
    }
  }

  /// The same for each G, for example a sum of sizes, such that a guard compares n with G·d.
  void bound_by_guards(Atom atom) {
    const Poly n = symbols_.left(atom);
    const Poly d = symbols_.right(atom);
    for (const Guard& guard : bounds_) {
      const Poly below = symbols_.floor_div(guard.poly + 1 + n, d);
      if (below * d == guard.poly + 1 + n) derive({guard}, below - 1 - Poly(atom));
      const Poly from = symbols_.floor_div(n - guard.poly, d);
      if (from * d == n - guard.poly) derive({guard}, Poly(atom) - from);
    }
  }

  /// Adds case splits on small values of q, which can then be multiplied by a size.
  void decide_quotient(Atom q) {
    for (const std::int64_t bound : {1, 2}) {
      derived_.push_back({{{false, Poly(q) - bound}}, Poly(q) - bound});
      derived_.push_back({{{false, bound - 1 - Poly(q)}}, bound - 1 - Poly(q)});
    }
  }

  void derive(Guards premises, const Poly& poly) {
    const auto same = [&](const Lemma& lemma) { return lemma.premises == premises && lemma.conclusion.poly == poly; };
    if (std::any_of(lemmas_.begin(), lemmas_.end(), same)) return;
    derived_.push_back({premises, poly});
    add(std::move(premises), poly);
  }

  /// Adds p ≥ 0 ⇒ p·s ≥ 0 for sizes s, where the product contains a monomial that occurs.
  void multiply_by_sizes() {
    std::vector<std::pair<Atom, Monomial>> cofactors;  // x·s occurs: x no size, s a product of sizes
    for (const Monomial& monomial : monomials_) {
      if (monomial.size() < 2) continue;
      for (const Atom atom : monomial) {
        const Monomial rest = *monomial.divided_by(Monomial{atom});
        if (!is_size(atom) && only_sizes(rest)) cofactors.emplace_back(atom, rest);
      }
    }
    std::sort(cofactors.begin(), cofactors.end());
    cofactors.erase(std::unique(cofactors.begin(), cofactors.end()), cofactors.end());
    for (const Derived& derived : derived_) {
      std::vector<Monomial> done;
      for (const auto& [atom, sizes] : cofactors) {
        if (derived.poly.coefficient(atom) == 0) continue;
        if (std::find(done.begin(), done.end(), sizes) != done.end()) continue;
        done.push_back(sizes);
        add(derived.premises, derived.poly * Poly::Term{sizes, 1});
      }
    }
  }

  Symbols& symbols_;
  std::set<Monomial> monomials_;
  std::vector<Atom> compounds_;
  std::vector<Derived> derived_;
  Guards bounds_;  // the inequalities of the query
  std::vector<Lemma> lemmas_;
};

}  // namespace

std::vector<Lemma> make_lemmas(const Query& query, Symbols& symbols) {
  LemmaBuilder builder(symbols);
  for (const Guard& guard : query.asserted) builder.read(guard);
  for (const auto& [coefficient, guards] : query.indicators) {
    for (const Guard& guard : guards) builder.read(guard);
  }
  return builder.finish();
}

}  // namespace rulemill::prove
