#include "prove/solver/lemma_scheme.h"

#include <algorithm>
#include <optional>

namespace rulemill::prove {

using algebra::Monomial;

namespace {

/// Negation of "premises imply conclusion" over integers, with q = floor(n / d) where the scheme speaks of one.
LemmaScheme scheme(const char* name, const std::string& names, const std::string& assumed,
                   const std::string& conclusion) {
  std::string text = "(set-logic QF_NIA)\n";
  for (const char c : names) text += std::string("(declare-const ") + c + " Int)\n";
  text += "(assert (and true " + assumed + "))\n(assert (not " + conclusion + "))\n(check-sat)\n";
  return {name, text};
}

const std::string quotient = "(>= d 1) (<= (* d q) n) (< n (+ (* d q) d))";

}  // namespace

const std::vector<LemmaScheme>& lemma_schemes() {
  static const std::vector<LemmaScheme> all = {
      scheme("division is not above", "ndq", quotient, "(>= (- n (* d q)) 0)"),
      scheme("division is not below", "ndq", quotient, "(>= (- (+ (* d q) d) 1 n) 0)"),
      scheme("quotient of a non-negative number", "ndq", quotient + " (>= n 0)", "(>= q 0)"),
      // With the bound g = q + e: a solver need not multiply two unknown differences.
      scheme("quotient below a bound", "ndqe", quotient + " (< n (+ (* d q) (* d e)))", "(>= e 1)"),
      scheme("quotient from a bound", "ndqe", quotient + " (>= n (+ (* d q) (* d e)))", "(<= e 0)"),
      scheme("minimum", "abm", "(= m (ite (<= a b) a b))",
             "(and (<= m a) (<= m b) (=> (<= a b) (>= m a)) (=> (<= b a) (>= m b)))"),
      scheme("maximum", "abm", "(= m (ite (>= a b) a b))",
             "(and (>= m a) (>= m b) (=> (>= b a) (<= m b)) (=> (>= a b) (<= m a)))"),
      scheme("product of sizes", "st", "(>= s 1) (>= t 1)", "(>= (* s t) 1)"),
      scheme("product with sizes", "ps", "(>= p 0) (>= s 1)", "(>= (* p s) 0)"),
  };
  return all;
}

namespace {

class SchemeMatch {
 public:
  SchemeMatch(const Lemma& lemma, const Symbols& symbols) : premises_(lemma.premises), symbols_(symbols) {}

  const char* match(const Poly& conclusion) const {
    if (const char* name = direct(conclusion)) return name;
    // conclusion = p · s with sizes s, and p ≥ 0 is a lemma or the premise itself.
    std::vector<Atom> sizes;
    for (const Atom atom : conclusion.content().monomial) {
      if (is_size(atom)) sizes.push_back(atom);
    }
    for (std::size_t chosen = 1; chosen < (std::size_t{1} << std::min<std::size_t>(sizes.size(), 6)); ++chosen) {
      Monomial s;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        if ((chosen >> i) & 1) s.push_back(sizes[i]);
      }
      const std::optional<Poly> p = conclusion.divided_by({s, 1});
      if (p && (is_premise(*p) || direct(*p))) return "product with sizes";
    }
    return nullptr;
  }

 private:
  const char* direct(const Poly& p) const {
    if (premises_.empty() && is_size_product(p + 1)) return "product of sizes";
    for (const Atom atom : symbols_.atoms(p, true)) {
      switch (symbols_.kind(atom)) {
        case Symbols::Kind::FloorDiv:
          if (const char* name = division(p, atom)) return name;
          break;
        case Symbols::Kind::Min:
          if (extremum(p, atom, 1)) return "minimum";
          break;
        case Symbols::Kind::Max:
          if (extremum(p, atom, -1)) return "maximum";
          break;
        case Symbols::Kind::Size:
        case Symbols::Kind::Index:
          break;
      }
    }
    return nullptr;
  }

  const char* division(const Poly& p, Atom atom) const {
    const Poly q(atom);
    const Poly& n = symbols_.left(atom);
    const Poly& d = symbols_.right(atom);
    const bool positive = symbols_.positive(d);
    if (premises_.empty() ? positive : only_premise(d - 1)) {
      if (p == n - d * q) return "division is not above";
      if (p == d * q + d - 1 - n) return "division is not below";
    }
    if (!positive) return nullptr;
    if (p == q && only_premise(n)) return "quotient of a non-negative number";
    const Poly below = p + q + 1;
    if (only_premise(below * d - 1 - n)) return "quotient below a bound";
    const Poly from = q - p;
    if (only_premise(n - from * d)) return "quotient from a bound";
    return nullptr;
  }

  /// m = min(a, b), or with sign −1 the maximum: m is on one side of both, and equal to the one that decides.
  bool extremum(const Poly& p, Atom atom, std::int64_t sign) const {
    const Poly m(atom);
    const Poly& a = symbols_.left(atom);
    const Poly& b = symbols_.right(atom);
    const auto times = [&](const Poly& poly) { return poly * Poly(sign); };
    for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)}) {
      if (premises_.empty() && p == times(one - m)) return true;
      if (only_premise(times(other - one)) && p == times(m - one)) return true;
    }
    return false;
  }

  bool is_size(Atom atom) const { return symbols_.kind(atom) == Symbols::Kind::Size; }
  bool is_size_product(const Poly& p) const {
    if (p.terms().size() != 1 || p.terms()[0].coefficient != 1 || p.terms()[0].monomial.empty()) return false;
    const Monomial& monomial = p.terms()[0].monomial;
    return std::all_of(monomial.begin(), monomial.end(), [&](Atom atom) { return is_size(atom); });
  }
  bool only_premise(const Poly& poly) const { return premises_.size() == 1 && premises_[0] == Guard{false, poly}; }
  bool is_premise(const Poly& poly) const {
    return std::find(premises_.begin(), premises_.end(), Guard{false, poly}) != premises_.end();
  }

  const Guards& premises_;
  const Symbols& symbols_;
};

}  // namespace

const char* scheme_of(const Lemma& lemma, const Symbols& symbols) {
  if (lemma.conclusion.equality) return nullptr;
  return SchemeMatch(lemma, symbols).match(lemma.conclusion.poly);
}

}  // namespace rulemill::prove
