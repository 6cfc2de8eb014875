// The kernel of the checker: the inference rules of proofs, and the obligations that each use of a rule leaves. A step
// replaces a sum by one of equal value wherever its context holds, so a sum that is rewritten to the empty sum was
// zero. The kernel does not search for proofs.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "algebra/operators/function_domain.h"
#include "check/kernel/forms.h"
#include "check/kernel/obligation.h"
#include "check/kernel/statement.h"

namespace rulemill::check {

/// True if the function's formula consists of numbers, arguments, + − ·, quotients by numbers, max, min, abs and
/// comparisons. The kernel uses the formulas of such functions, and the declared laws of all others.
bool is_piecewise(const algebra::Function& function);
/// True for these and for functions with floor, powers and other quotients, except 1/t: the step Order evaluates them.
bool is_evaluated_by_cases(const algebra::Function& function);
/// True if the sum, of products without guards and bound indices, is 0 where `given` holds for all values of factors
/// that are not evaluated. Throws CheckError if that takes too much work.
bool vanishes_in_every_case(const Sum& sum, const Guards& given, const Statement& statement, std::size_t& work);
/// True for the formula 1/t.
bool is_reciprocal(const algebra::Function& function);
/// True for the formula op(s, t).
bool is_operation(const algebra::Function& function, algebra::Function::Op op);

/// The signs that a factor may have, for all values of the variables. Undefined values are 0.
algebra::Signs signs_of(const Factor& factor, const Statement& statement);
/// Returns the obligations under which signs alone imply that the application of a function is defined; nothing if they
/// do not. With `nonempty`, each sum must have a point, an obligation; without, sums may be empty. Undefined arguments
/// are 0, or else they are left out.
std::optional<std::vector<Obligation>> check_by_signs(const Factor& application, bool nonempty, bool undefined_is_zero,
                                                      const Guards& given, const Statement& statement);

/// One use of an inference rule of docs/kernel.md, which has its side conditions. A product is c · Σ_b [G] Π F. In the
/// text of a step P, F, A and D are the positions of a product, of a factor in it, and of an argument or an index of
/// that factor; {…} are nested steps. Rules on G and b also apply to maxima max_{b: G} t.
struct Step {
  enum class Op : std::uint8_t {
    Drop,            // drop P: the product → 0
    Set,             // set P x := p: Σ_x [G] F → ([G] F)(x := p); a free x stays as the guard x = p
    Split,           // split P g: [G] F → [G, g] F + Σ_h [G, h] F, appended for the regions h where g does not hold
    Map,             // map P x := φ(u), … <- u := ψ(x), …: Σ_x F(x) → Σ_u F(φ(u))
    AddGuard,        // add_guard P g: [G] F → [G, g] F
    DropGuard,       // drop_guard P G: [G, g] F → [G] F
    Index,           // index P F D := p: t[…, i, …] → t[…, p, …]
    Within,          // within P F A {…}: the steps rewrite argument A of F
    Same,            // same P F A P F A {…}: the first argument s → the second, t; the steps rewrite s − t to 0
    Zero,            // zero P F: the product → 0
    Idempotent,      // idempotent P F: f(f(t)) → f(t)
    Commute,         // commute P F: f(s, t) → f(t, s)
    InstantiateMax,  // instantiate_max P F p, …: max_{b: H} (s + t) → max_{b: H} s + t
    Cancel,          // cancel P P …: Σ_i c_i Σ_b [G_i] F → 0
    NewIndex,        // new_index P x := p: Σ_b [G] F → Σ_{b, x} [G, x = p] F
    Project,         // projectmax P F b := p, …: max_{b, c: G', H} t → max_{c: G'} t
    CountRange,      // count_range P b := l, h: Σ_b [l ≤ b ≤ h] F → (h + 1 − l) · F
    Expand,          // expand P F: (Σ_j c_j · m_j) · R → Σ_j c_j · m_j · R for an integer with monomials m_j
    CancelReciprocal,  // cancel_reciprocal P F G: p · 1/p → 1
    Constant,          // constant P F: f(c, …) → its value, for numbers c
    Scale,             // scale P F: f(c · t) → c^d · f(t) for the degree d of f; a maximum has d = 1
    SplitExp,          // split_exp P F Q: f(s + t) → f(s) · f(t) for product Q of the argument
    MergeExp,          // merge_exp P F G: f(s) · f(t) → f(s + t)
    Monotone,  // monotone P F p, …: max_{b: H} c · f(t) → c · f(±max_{b: H} ±t); max(f(s), f(t)) → f(max(s, t))
    Flatten,       // flatten P F p, …: max_{b: G'} max_{c: H} t → max_{b, c: G', H} t
    CollectTerms,  // collect_terms P Q …: Σ_i c_i · R → (Σ_i c_i) · R
    Order,         // order P P …: Σ_i c_i Σ_b [G] F_i → 0
    Parity,        // parity P F: f(−t) → −f(t) or f(t)
    CancelSum,     // cancel_sum P F {…}: (Σ_b [G] R) · 1/S → 1; the steps rewrite Σ_b [G] R − S to 0
    Logarithm,     // logarithm P F: log(Π F_i) → Σ log(F_i); log(exp(t)) → t and log(1/t) → −log(t)
    Root,          // root P F Q G {…}: √t → |s|, which is factor G of Q; the steps rewrite t − s² to 0
    RootOfExp,     // root_of_exp P F: √exp(t) → exp(t/2), power(exp(t), s) → exp(t · s)
    LogScale,      // log_scale P F E: log(exp(u) · t) → u + log(t) for factor E of the argument's first product
    Compare,       // compare P F: less(f(s), f(t)) → less(s, t); also of equal
    Shift,         // shift P F A B: less(s + r, t + r) → less(s, t); max(s + r, t + r) → max(s, t) + r
    DivideMax,     // divide_max P F g; p, …; q, …: max_{b: H} t → max(max_{b: H, g} t, max_{b: H, h} t)
    Unfold,        // unfold P F: f(s, …) → its formula in functions of one operation
  };
  Op op = Op::Drop;
  bool targets_maximum = false;        // of Set, Map, AddGuard, DropGuard, NewIndex, Project: factor F, not product P
  std::vector<std::size_t> positions;  // in the order above; a guard's last
  std::optional<Atom> atom;            // Set, NewIndex, CountRange
  std::optional<Guard> guard;          // Split, AddGuard, DivideMax
  std::vector<Poly> polys;             // p; l and h of CountRange
  std::vector<std::pair<Atom, Poly>> images, inverse;  // of Map; Project has `images`
  std::vector<Step> block;                             // nested steps
  std::vector<ProductLemma> lemmas;                    // for the obligations

  std::size_t position(std::size_t i) const { return at(positions, i, "position"); }
};

/// The positions of products in a step. Throws CheckError unless they are distinct.
std::set<std::size_t> positions(const Sum& sum, const Step& step);
void erase(Sum& sum, const std::set<std::size_t>& positions);

class Kernel {
 public:
  /// `on_obligation` receives each obligation that is not trivial.
  Kernel(const Statement& statement, std::function<void(Obligation)> on_obligation)
      : statement_(statement), atoms_(statement.atoms()), on_obligation_(std::move(on_obligation)) {}

  /// Where a sum occurs: the guards that hold there, and the bound indices around it.
  struct Context {
    Guards given;
    std::set<Atom> scope;
  };
  /// Throws CheckError on a step that does not apply. Then the sum may have changed.
  void apply(Sum& sum, const Context& context, const Step& step);
  void run(Sum& sum, const Context& context, const std::vector<Step>& steps) {
    for (const Step& step : steps) apply(sum, context, step);
  }
  /// The context inside a product or a maximum: its guards hold, and its bound indices are in scope.
  template <class Range>
  static Context within(Context context, const Range& range) {
    context.given = conjunction(std::move(context.given), range.guards);
    context.scope.insert(range.bound.begin(), range.bound.end());
    return context;
  }
  /// The context of the arguments of a factor of the product.
  Context argument_context(const Context& context, const Product& product, const Factor& factor) const {
    return within(within(context, product), factor);
  }
  /// The work of the last case analysis.
  std::size_t work() const { return work_; }
  /// The number of obligations that were trivial.
  std::size_t trivial() const { return trivial_; }
  /// Throws CheckError unless the indices of the sum are in scope and the steps rewrite it to the empty sum.
  void check_vanishes(Sum sum, const Context& context, const std::vector<Step>& steps, const char* what);
  void require(Obligation obligation);
  /// Requires that signs alone imply that the application of a function is defined (check_by_signs).
  void require_defined(const Factor& application, bool nonempty, bool undefined_is_zero, const Guards& given,
                       const std::vector<ProductLemma>& lemmas);
  /// Throws CheckError unless the bound indices are in scope.
  void check_scope(const Poly& poly, const std::set<Atom>& scope) const;
  /// The same for lemmas, which may contain the indices of the product, too.
  void check_scope(const std::vector<ProductLemma>& lemmas, Product product, std::set<Atom> scope) const;

 private:
  void require(const Step& step, const char* what, Guards given, std::optional<Guard> goal);
  /// Requires that the maximum's guards hold at the point, which the step gives in the order of its indices.
  void require_point(const Factor& maximum, const Context& context, const Step& step, std::span<const Poly> point);
  void check_names(const Sum& sum, const Context& context, const Step& step) const;
  void bind(Atom atom, std::set<Atom>& scope) const;
  void check_scope(const Product& product, std::set<Atom> scope) const;
  /// Throws CheckError unless all ranges in the sum are finite by their own guards, wherever it is moved.
  void check_finite(const Sum& sum) const;

  // Steps on a whole sum.
  void take(Sum& sum, const Context& context, const Step& step);
  void cancel(Sum& sum, const Context& context, const Step& step);
  void order(Sum& sum, const Context& context, const Step& step);
  /// Steps on the guards and bound indices of a product or a maximum, which is in the context `outside`.
  template <class Range>
  void change_range(Range& range, const Context& outside, const Step& step);
  template <class Range>
  void map(Range& range, const Step& step) const;
  void count_range(Product& product, const Context& context, const Step& step);

  /// Steps on factor f of product p (laws.cc). They return the products that replace it, or nothing if it is changed.
  std::optional<Sum> change_factor(Product& product, std::size_t f, const Context& context, const Step& step);
  std::optional<Sum> apply_law(Product& product, std::size_t f, const Step& step);
  Sum instantiate_max(Product product, std::size_t f, const Context& inside, const Step& step);
  void scale(Product& product, std::size_t f, const Context& inside, const Step& step);
  void monotone(Product& product, std::size_t f, const Context& inside, const Step& step);
  void cancel_sum(Product& product, std::size_t f, const Context& context, const Step& step);
  Sum logarithm(Product product, std::size_t f, const Context& inside, const Step& step);
  Sum log_scale(Product product, std::size_t f, const Context& inside, const Step& step);
  void divide_max(Factor& factor, const Context& inside, const Step& step);
  Sum unfold(Product product, std::size_t f, const Context& inside, const Step& step);
  /// The first function of the definitions whose formula is op(s) or op(s, t), or 1/t for a quotient.
  std::uint32_t function_of_operation(algebra::Function::Op op) const;
  const algebra::Function* function_of(const Factor& factor) const {
    return factor.kind == Factor::Kind::Apply ? &statement_.function(factor.symbol) : nullptr;
  }
  /// True for op(t) by the function's formula.
  bool applies(const Factor& factor, algebra::Function::Op op) const {
    return function_of(factor) && algebra::applies_only(*function_of(factor), op);
  }

  const Statement& statement_;
  Atoms& atoms_;
  std::function<void(Obligation)> on_obligation_;
  std::size_t trivial_ = 0, work_ = 0;
};

}  // namespace rulemill::check
