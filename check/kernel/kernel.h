// The kernel of the checker: it applies steps, and collects the obligations that each leaves. A step replaces a sum by
// one of equal value wherever its context holds, so a sum that is rewritten to the empty sum was zero. The kernel does
// not search for proofs.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algebra/operators/function_domain.h"
#include "check/kernel/obligation.h"
#include "check/kernel/statement.h"

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
    Given,  // given P F C p, …: "f(s) is defined" = 1 if condition C of those that hold says so at the indices p;
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
  std::vector<std::vector<Step>> blocks;  // of Within and Replace; of Law, one for each condition but e > 0
  std::vector<ProductLemma> lemmas;       // for the obligations

  std::size_t position(std::size_t i) const { return at(positions, i, "position"); }
};

/// Where a sum occurs: the guards that hold there, and the bound indices around it.
struct Context {
  Guards given;
  std::set<Atom> scope;
};
/// The context inside a product or a maximum: its guards hold, and its bound indices are in scope.
template <class Range>
Context within(Context context, const Range& range) {
  context.given = conjunction(std::move(context.given), range.guards);
  context.scope.insert(range.bound.begin(), range.bound.end());
  return context;
}
/// The context of the arguments of a factor of the product.
inline Context argument_context(const Context& context, const Product& product, const Factor& factor) {
  return within(within(context, product), factor);
}

/// The signs that a sum or factor may have, for all values of the variables, and whether all functions that are factors
/// of its products are defined then. Undefined values are 0, or left out.
struct SignAnalysis {
  const Statement& statement;
  bool points = false, integers = false;  // `needed` may state that sums have points, and integers are positive
  bool undefined_is_zero = true;
  std::vector<Obligation> needed = {};  // so far

  algebra::FunctionRange range(const Sum& sum, const Guards& given);
  algebra::FunctionRange range(const Factor& factor, const Guards& given);
};

/// Evaluates a sum, of products without bound indices and guards, in cases. At each polynomial whose sign a function
/// asks for, `decide` says "s" to divide the case by that sign, or "x" to claim that there is no such case, of which it
/// can get the script. `on_script` receives scripts that no case has a value other than 0, and that those claimed not
/// to be are not.
void evaluate_in_cases(const Sum& sum, const Guards& given, const Statement& statement,
                       const std::function<char(const std::function<std::string()>& contradiction)>& decide,
                       const std::function<void(std::string)>& on_script);

/// The definedness conditions that hold: those of the other side while one of a side is shown, and of the source in
/// the values of a rule that widens.
struct KnownConditions {
  std::span<const DefinednessCondition> given = {};
  const DefinednessCondition* shown = nullptr;
};

class Kernel {
 public:
  /// `on_obligation` receives each obligation.
  Kernel(const Statement& statement, OnObligation on_obligation, KnownConditions known = {})
      : statement_(statement), atoms_(statement.atoms()), on_obligation_(std::move(on_obligation)), known_(known) {}

  /// Throws CheckError on a step that does not apply. Then the product at the step's first position may have changed,
  /// and products may have been appended.
  void apply(Sum& sum, const Context& context, const Step& step);
  void run(Sum& sum, const Context& context, const std::vector<Step>& steps) {
    for (const Step& step : steps) apply(sum, context, step);
  }
  /// What a condition of a law says to be 0: e, or 1 − "f is defined"; of e > 0 it is e.
  Sum condition_sum(const algebra::LawEquation::Condition& condition, const std::vector<Sum>& values) const;
  /// Throws CheckError unless the steps rewrite the sum, whose indices are in scope, to the empty sum.
  void check_vanishes(Sum sum, const Context& context, const std::vector<Step>& steps, const char* what);

 private:
  // Everything that a step names is checked before it is used. Throws CheckError if a bound index occurs outside its
  // product or maximum, or is bound again inside; with `is_finite`, unless all ranges have finitely many points by
  // their guards alone, as those of the sums that a step names.
  void check_scope(const Poly& poly, const std::set<Atom>& scope) const;
  void check_scope(const Sum& sum, const std::set<Atom>& scope, bool is_finite = false) const;
  template <class Range>
  void enter(const Range& range, std::set<Atom>& scope, bool is_finite) const;
  void check_finite(const std::vector<Atom>& bound, const Guards& guards) const;

  void require(const Step& step, const char* what, const Guards& given, Guard goal) {
    on_obligation_({what, given, std::move(goal), step.lemmas});
  }
  /// Requires that the guards hold at a point in scope, with one polynomial for each index, which it returns.
  Images require_point(const Guards& guards, const std::vector<Atom>& bound, std::span<const Poly> point,
                       const Context& context, const Step& step);
  /// Requires what signs need that show the claim; of a function, that it is defined.
  enum class SignClaim : std::uint8_t { Positive, Nonnegative, Defined };
  void require_by_signs(const Sum& sum, SignClaim claim, const Context& context, const Step& step,
                        bool undefined_is_zero = true);

  // Steps on a whole sum, or on a range (kernel.cc).
  void indicators(Sum& sum, std::set<std::size_t> members, const Context& context, const Step& step);
  void order(Sum& sum, const Context& context, const Step& step);
  bool equal_but_for_guards(Product a, Product b) const;
  bool is_same(const Sum& a, const Sum& b) const { return canonical(a, atoms_) == canonical(b, atoms_); }
  void count(Product& product, const Context& context, const Step& step);
  void reindex(Product& product, const Context& outside, const Step& step);
  void change_maximum(Factor& maximum, const Context& inside, const Step& step);

  // Steps on a factor of a product, which return the products that replace it (factors.cc).
  Sum change_factor(const Sum& sum, const Context& context, const Step& step);
  Sum apply_law(const Product& product, const Context& context, const Step& step);
  Sum instance(const algebra::ScalarExpr& expression, const std::vector<Sum>& values, bool folds) const;
  Sum take_out(Factor maximum, const Context& inside, const Step& step);
  Rational monotone(Factor& maximum, const Context& inside, const Step& step);
  void flatten(Factor& factor, const Context& inside, const Step& step);
  void divide_max(Factor& factor, const Context& inside, const Step& step);
  void show_defined(Factor factor, const Context& inside, const Step& step);

  const Statement& statement_;
  Atoms& atoms_;
  OnObligation on_obligation_;
  KnownConditions known_;
};

}  // namespace rulemill::check
