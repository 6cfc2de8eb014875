// The steps of a proof: uses of the inference rules of docs/kernel.md.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "check/kernel/obligation.h"

namespace rulemill::check {

/// One use of an inference rule. A product is c · Σ_b [G] Π F and Γ is what its context gives. P, F, A and D are the
/// positions of a product, of a factor in it, and of an argument or an index of that factor; {…} are nested steps.
/// Rules on G and b also apply to the range of a maximum max_{b: G} t.
struct Step {
  enum class Op : std::uint8_t {
    Indicators,  // indicators P P … → …: Σ c·Σ_b [G] F = Σ c'·Σ_b [G'] F if Γ ⊢ Σ c·[G] = Σ c'·[G'], for equal b and F
    Reindex,  // reindex P φ <- ψ: Σ_b [G] F = Σ_u [G(φ), u = ψ(φ), x = φ(x)] F(φ) if Γ, G ⊢ b = φ(ψ), x = φ(x)
    Count,       // count P b := l, h: Σ_b [l ≤ b ≤ h] F = (h + 1 − l) · F if Γ, G ⊢ h + 1 ≥ l
    Equal,       // equal P F D := p: index D becomes p if Γ, G ⊢ it is p
    Within,      // within P F A {…}: the steps rewrite argument A of F, where Γ, G and the guards of F hold
    Replace,     // replace P F A := s {…}: argument A becomes s if the steps rewrite the difference to 0 there
    Expand,      // expand P F: (Σ_j c_j · m_j) · R = Σ_j c_j · m_j · R for an integer with monomials m_j
    Reciprocal,  // reciprocal P F F: p · 1/p = 1 if Γ, G ⊢ p ≥ 1
    Law,         // law NAME P F …: the factors are the left side of a law, or the right one, for given arguments
    Constant,    // constant P F: f(c) is its value, for numbers c at which the formula of f has an exact value
    TakeOut,     // take_out P F p, …: max_{b: H} (s + t) = max_{b: H} s + t if Γ, G ⊢ H(b := p) and b is not in t
    Scale,       // scale P F: max_{b: H} q · t = q · max_{b: H} t for given q and t if the signs of q exclude q < 0
    Monotone,  // monotone P F A p, …: max_{b: H} c·f(t) = c·f(σ·max_{b: H} σ·t) for c·f nondecreasing in σ·t, its
               // argument A
    Flatten,    // flatten P F p, …: max_{b: H} max_{c: H'} t = max_{b, c: H, H'} t if Γ, G, H ⊢ H'(c := p)
    DivideMax,  // divide_max P F g; p, …; q, …: max_{b: H} t = max(max_{b: H, g} t, max_{b: H, not g} t)
    Order,  // order P P … CASES: Σ c·Σ_b [G] F = 0 if it is 0 in every case of the signs that functions ask for
    Signs,  // signs P F: "f(s) is defined" = 1 if the signs of s imply it
    Given,  // given P F C p, …: "f(s) is defined" = 1 if condition C of the other side says so at the indices p;
            // reversed: at −s, for f with a parity law
  };
  /// One of the products that replace others: a coefficient, and the guards of the first of these without some, and
  /// with others.
  struct Indicator {
    std::optional<Rational> coefficient;  // that of the first product, if absent
    std::vector<std::size_t> without;     // positions, ascending
    Guards with;
  };
  using Assignment = std::vector<std::pair<Atom, Poly>>;

  Op op = Op::Indicators;
  bool targets_maximum = false;        // of Indicators, Reindex: factor F, not product P
  std::vector<std::size_t> positions;  // in the order above
  std::vector<Indicator> indicators;   // of Indicators
  Assignment images, inverse;          // φ and ψ of Reindex
  std::vector<Poly> polys;             // p, …; l and h of Count
  std::optional<Atom> atom;            // b of Count
  std::optional<Guard> guard;          // of DivideMax
  std::string name;                    // of Law; the cases of Order
  bool reversed = false;               // of Law, Given
  std::vector<Sum> sums;  // of Law, the values of its variables; of Replace, s, if it is no other argument; q and t
  std::vector<std::vector<Step>> blocks;  // of Within and Replace; of Law, one for each condition e = 0
  std::vector<ProductLemma> lemmas;       // for the obligations

  std::size_t position(std::size_t i) const { return at(positions, i, "position"); }
};

}  // namespace rulemill::check
