// The steps by which a proof goes, and what each of them must be shown. A step replaces a sum by one of the same value
// wherever its context holds, so that a sum that ends empty was zero. Nothing here looks for a proof.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check/kernel/statement.h"

namespace rulemill::check {

/// a ≥ 0 and b ≥ 0 imply a·b ≥ 0: the one lemma about products, true of all integers.
using Times = std::pair<Poly, Poly>;

/// Wherever `given` holds: `goal` holds, or Σ coefficient · [guards] = 0, or, without either, given cannot hold.
struct Obligation {
  std::string what;
  Guards given;
  std::optional<Guard> goal;
  std::vector<std::pair<Rational, Guards>> indicators;
  std::vector<Times> times;
};

/// Whether its formula is made of numbers, its arguments, + − ·, quotients by numbers, max, min and abs: of such
/// functions the formula counts, of others their laws.
bool is_piecewise(const algebra::Function& function);

/// Whether it is seen without a solver: the goal stands among what is given up to a number, two givens contradict each
/// other, indicators of the same guards cancel.
bool is_plain(const Obligation& obligation);

/// P, F, A, D are positions: product, factor of it, argument or index of that. What a step must be shown stands in [ ].
struct Step {
  enum class Op : std::uint8_t {
    Drop,   // drop P                    the product is zero [its guards cannot hold]
    Set,    // set P atom := poly        [guards ⊢ atom = poly] a bound index goes; else the equality becomes a guard
    Split,  // split P guard             into where the guard holds, and where it does not (at the end)
    Map,  // map P x := poly, … <- u := poly, …   bound indices by others, and back: one-to-one between all integers
    Know,    // know P guard              [guards ⊢ guard] becomes a guard
    Forget,  // forget P G                [the other guards ⊢ guard G] is left out
    Index,   // index P F D := poly       [guards ⊢ index D of factor F = poly]
    Within,  // within P F A {steps}      on argument A of factor F, where the guards hold
    Same,    // same P F A = P F A {steps}  the first argument becomes the second; the steps make their difference empty
    Zero,    // zero P F                  the product goes: a maximum of nothing, or a function with f(0) = 0 of nothing
    Unwrap,  // unwrap P F                f(f(t)) = f(t), by the function's law
    Swap,    // swap P F                  f(s, t) = f(t, s), by the function's law
    Open,    // open P F poly, …          what does not vary leaves a maximum, at a point of its range [which it is]
    Cancel,  // cancel P P …              products with the same bound indices and factors [Σ coefficient · [guards] =
             // 0]
    Name,   // name P atom := poly     a fresh bound index, which has one value: atom = poly becomes a guard
    Leave,  // leavemax P F atom := poly, …  bound indices that the body lacks go, with the guards that have them [the
            // other guards ⊢ those, at the polys]
    Count,  // count P atom := low, high  Σ over an index that only its range has: the product times high + 1 − low
            // [which is ≥ 0]
    Expand,    // expand P F              a whole number Σ c·m: the product times each c·m
    Reduce,    // reduce P F G            p · 1/p = 1 [p ≥ 1]
    Constant,  // constant P F            a function of numbers alone: its value
    Scale,     // scale P F               what all products of the arguments have in common and is positive [it is]
               // leaves a maximum, or a function whose law says so
    Part,  // part P F Q              f(s + t) = f(s) · f(t): product Q of the argument goes into a factor of its own
    Join,  // join P F G              f(s) · f(t) = f(s + t): factor G goes into factor F
    Lift,  // lift P F poly, …        max f(t) = f(max t) of a function that does not fall [the range has the point]; of
           // a maximum or minimum of two values f(s) and f(t), or of f(t) and a number that f leaves as it is, likewise
    Flatten,  // flatten P F poly, …     a maximum of maxima over both ranges [the inner range has the point]
    Gather,   // gather P Q              products that differ by their coefficients alone: one with the sum of these
    Order,    // order P P …             products of the same guards and bound indices add up to nothing, whichever of
              // their values is the larger: functions made of max, min, abs and arithmetic are what their formulas say
    Turn,     // turn P F                f(−t) = −f(t), or f(t), by the function's law
    Unit,     // unit P F {steps}        Σ t · 1/(Σ t) = 1 [the sum's signs say that it is not 0]; the steps make the
              // difference of what factor F does not have and what it divides by empty
  };
  Op op = Op::Drop;
  bool of_maximum = false;      // set, map, know, forget and name: on the maximum that factor F is, not on product P
  std::vector<std::size_t> at;  // positions, in the order above; G last
  std::optional<Atom> atom;     // set, name, count
  std::optional<Guard> guard;   // split, know
  std::vector<Poly> polys;      // set, name, index; a point: open, lift, flatten; low and high: count
  std::vector<std::pair<Atom, Poly>> to, back;  // map; leave has `to`
  std::vector<Step> block;                      // within, same
  std::vector<Times> times;                     // for the solver, on what must be shown
};

class Kernel {
 public:
  /// `owed` receives what must be shown, unless it is plain.
  Kernel(const Statement& statement, std::function<void(Obligation)> owed)
      : statement_(statement), atoms_(statement.atoms()), owed_(std::move(owed)) {}

  /// Where a sum stands: what holds there, and the bound indices around it.
  struct Context {
    Guards given;
    std::set<Atom> scope;
  };
  /// Throws Objection on a step that does not fit; the sum is then of no use.
  void apply(Sum& sum, const Context& context, const Step& step);
  void run(Sum& sum, const Context& context, const std::vector<Step>& steps) {
    for (const Step& step : steps) apply(sum, context, step);
  }
  /// The context of the arguments of factor F of product P.
  Context inside(const Context& context, const Product& product, const Factor& factor) const;
  std::size_t plain() const { return plain_; }
  /// Follows steps that must empty the sum, whose indices must be in scope.
  void empty(Sum sum, const Context& context, const std::vector<Step>& steps, const char* what);
  void owe(Obligation obligation);
  void check_scope(const Poly& poly, const std::set<Atom>& scope) const;

 private:
  void owe(const Step& step, const char* what, Guards given, Guard goal);
  void owe(const Step& step, Obligation obligation);
  void set(Product& product, Factor* maximum, const Context& context, const Step& step);
  void map(Product& product, Factor* maximum, const Context& context, const Step& step);
  void guards(Product& product, Factor* maximum, const Context& context, const Step& step);
  void same(Sum& sum, const Context& context, const Step& step);
  void open(Sum& sum, std::size_t p, std::size_t f, const Context& context, const Step& step);
  void cancel(Sum& sum, const Context& context, const Step& step);

  // By counting, and by what functions and maxima are (laws.cc).
  void by_law(Sum& sum, std::size_t p, std::size_t f, const Context& context, const Step& step);
  void name(Product& product, Factor* maximum, const Context& context, const Step& step);
  void leave(Product& product, Factor& maximum, const Context& context, const Step& step);
  void count(Product& product, const Context& context, const Step& step);
  void gather(Sum& sum, std::size_t p, std::size_t q);
  void order(Sum& sum, const Step& step);
  void expand(Sum& sum, std::size_t p, std::size_t f);
  void reduce(Product& product, std::size_t f, std::size_t g, const Context& context, const Step& step);
  void constant(Sum& sum, std::size_t p, std::size_t f);
  void scale(Product& product, std::size_t f, const Context& context, const Step& step);
  void lift(Product& product, Factor& factor, const Context& context, const Step& step);
  void lift_from_two(Factor& factor) const;
  void unit(Sum& sum, std::size_t p, std::size_t f, const Context& context, const Step& step);
  void flatten(Product& product, Factor& factor, const Context& context, const Step& step);
  /// Owes that the guards hold at the point, wherever `given` holds; the point's indices are in scope.
  void owe_point(const std::vector<Atom>& bound, const Guards& guards, const Guards& given, const std::set<Atom>& scope,
                 const Step& step);
  void owe_positive(const Poly& number, const Guards& given, const Step& step);
  const algebra::Function* function_of(const Factor& factor) const {
    return factor.kind == Factor::Kind::Apply ? &statement_.function(factor.symbol) : nullptr;
  }
  void check_scope(const Product& product, std::set<Atom> scope) const;
  void replace(Product& product, const Images& images);

  const Statement& statement_;
  Atoms& atoms_;
  std::function<void(Obligation)> owed_;
  std::size_t plain_ = 0;
};

}  // namespace rulemill::check
