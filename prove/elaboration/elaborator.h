// Finds the steps of a proof on the checker's own state: each step is tried on the checker's kernel, and taken if what
// it owes can be shown. In parts: the search as a whole (elaborate.cc), what makes a product simpler (simplify_sum.cc),
// what makes two products cancel (cancel.cc), laws (by_laws.cc), and where sides are defined (domains.cc).
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "prove/elaboration/bridge.h"
#include "prove/elaboration/elaborate.h"
#include "prove/elaboration/oracle.h"
#include "prove/solver/budget.h"

namespace rulemill::prove {

class Elaborator {
 public:
  using Context = check::Kernel::Context;
  using Step = check::Step;
  using Op = Step::Op;
  using Steps = std::vector<Step>;

  Elaborator(check::Statement& statement, const std::vector<SizesByName>& samples, const AlignLimits& align,
             const ElaborationLimits& limits, bool believing);
  Elaboration run();
  Elaboration run_domains(const std::vector<check::Obligation>& owed);
  /// Whether steps are found that empty the sum, which is zero then wherever the context holds.
  bool empties(check::Sum sum, const Context& context);

 private:
  static constexpr int deepest = 12;
  static constexpr std::size_t most_ways = 6;  // to align two products, if the first does not make them cancel

  enum class Change { None, Some, Gone };
  /// A sum, and the steps that have led to it.
  struct Attempt {
    check::Sum sum;
    Steps steps;
  };

  // The search.
  std::vector<Models::Values> in_symbols(const std::vector<SizesByName>& samples);
  /// Lemmas for what the types and divisors owe.
  std::optional<std::string> typing(check::Proof& proof);
  /// False if it is not shown.
  bool add_lemmas(const check::Obligation& obligation, check::Proof& proof);
  Elaboration within_limits(const std::function<std::optional<std::string>(check::Proof&)>& search);
  /// Takes the step if the checker would let it pass.
  bool take(check::Sum& sum, const Context& context, Step step, Steps& steps);
  static Step step(Op op, std::vector<std::size_t> at, bool of_maximum = false);
  bool shown(const check::Guards& given, std::optional<check::Guard> goal);
  static check::Guards joined(check::Guards a, const check::Guards& b);
  /// Steps that empty the sum; false if none are found, and the sum is what is left.
  bool zero(check::Sum& sum, const Context& context, Steps& steps);
  /// Splits a product by a guard that stands in its functions and maxima and that nothing decides. Where none does as
  /// they stand, they are simplified: that may leave guards without the indices that are bound within.
  bool split(check::Sum& sum, const Context& context, Steps& steps);
  std::optional<check::Guard> undecided(const check::Product& product, const Context& context);
  std::optional<check::Guard> undecided(const check::Sum& sum, const std::set<Atom>& scope, const check::Guards& given);

  // Where sides are defined (domains.cc).
  std::optional<std::string> domains(check::Proof& proof);
  /// Why the demand, of the target or else of the source, is met wherever `given` holds.
  std::optional<check::Claim> claim(const check::Demand& demand, bool of_target, const check::Guards& given, int depth);
  std::optional<check::Claim> claim_by_signs(const check::Demand& demand, const check::Guards& given);
  std::optional<check::Claim> claim_by_cases(const check::Demand& demand, bool of_target, const check::Guards& given,
                                             int depth, check::Guards cases, check::Claim where_they_hold);
  std::optional<check::Claim> claim_from(const check::Demand& demand, bool of_target, std::size_t number,
                                         const check::Demand& cell, const check::Guards& given, int depth);
  std::optional<check::Claim> same_value(const check::Demand& demand, const check::Demand& other,
                                         const check::Images& at, const check::Guards& given);
  /// Steps for each argument; of a law's, those at minus the other's argument.
  bool same_arguments(const check::Factor& wanted, const check::Factor& found, const Context& context,
                      check::Claim& claim);
  /// The demand, its arguments simplified, in the regions that the guards within them tell apart.
  std::vector<check::Demand> cells(check::Demand demand, int depth);
  std::vector<check::Images> witnesses(const check::Demand& wanted, const check::Demand& found);

  // Simplification.
  void simplify(check::Sum& sum, const Context& context, Steps& steps, std::size_t from = 0);
  /// False if the product is gone: dropped, or opened into others at the end.
  bool simplify_product(check::Sum& sum, std::size_t p, const Context& context, Steps& steps);
  bool vanishes(const check::Product& product, const Context& context);
  /// Equations that stand among guards: as such, or as two inequalities.
  static std::vector<Poly> equations(const check::Guards& own, const check::Guards& given);
  /// A bound index, or one of the output, that an equation gives.
  bool eliminate(check::Sum& sum, std::size_t p, std::optional<std::size_t> maximum, const Context& context,
                 Steps& steps);
  bool used_elsewhere(check::Product product, Atom atom, const Poly& equation);
  /// A quotient with an index above that can have one value alone.
  bool fix_division(check::Sum& sum, std::size_t p, const Context& context, Steps& steps);
  Change simplify_factor(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps);
  /// Empties all arguments if every product in them vanishes where it stands.
  bool drop_arguments(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps);
  /// Simplifies what an argument's products are, and forgets their guards where they say nothing new.
  bool bare_argument(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps);
  bool simplify_arguments(check::Sum& sum, std::size_t p, const Context& context, Steps& steps);
  bool unwrap(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps);
  /// The maximum of what does not vary, at a point where all its indices are the same small number.
  bool open_constant(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps);

  // Alignment and cancellation.
  void accept(Attempt attempt, check::Sum& sum, Steps& steps);
  bool cancel(check::Sum& sum, const Context& context, Steps& steps);
  bool cancel_pair(check::Sum& sum, std::size_t onto, const Context& context, Steps& steps);
  /// Ways to give product p the bound indices and factors of `onto`.
  std::vector<Attempt> alignments(const Attempt& from, std::size_t p, std::size_t onto, const Context& context,
                                  std::size_t most);
  bool take_map(Attempt& attempt, std::vector<std::size_t> at, const Substitution& map, const std::vector<Atom>& old,
                const std::vector<Atom>& fresh, const std::vector<Atom>& onto, const Context& context);
  /// Makes factor f of product p what factor g of `onto` is.
  bool equate(Attempt& attempt, std::size_t p, std::size_t f, std::size_t onto, std::size_t g, const Context& context);
  bool equate_argument(Attempt& attempt, std::size_t p, std::size_t f, std::size_t onto, std::size_t g, std::size_t a,
                       const Context& context);
  bool equate_maxima(Attempt& attempt, std::size_t p, std::size_t f, std::size_t onto, std::size_t g,
                     const Context& context);
  bool equate_ranges(Attempt& trial, std::size_t p, std::size_t f, const check::Guards& wanted, const Context& context);

  // Laws of functions and maxima, where nothing else is left to do.
  /// Changes products by all laws that apply; false if none does.
  bool by_laws(check::Sum& sum, const Context& context, Steps& steps);
  bool by_laws(check::Sum& sum, std::size_t p, const Context& context, Steps& steps);
  /// Products that add up to nothing whichever of their values is the larger.
  bool by_order(check::Sum& sum, const Context& context, Steps& steps);
  /// A sum times its reciprocal.
  bool unit(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps);
  /// Whether the sum or its negative is the one that functions with f(−t) = ±f(t) are to be applied to.
  bool is_turned(const check::Sum& argument) const;
  /// Whole numbers: what a product does not depend on is counted, and p · 1/p is 1.
  void forget_windows(check::Sum& sum, std::size_t p, Atom atom, const Context& context, Steps& steps);
  bool count(check::Sum& sum, std::size_t p, const Context& context, Steps& steps);
  bool multiply_out(check::Sum& sum, std::size_t p, const Context& context, Steps& steps);
  /// Adds up what differs by coefficients alone.
  void gather(check::Sum& sum, const Context& context, Steps& steps);
  /// The arguments of factor f simplified, by laws too; what cancels in them goes.
  bool tidy_arguments(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps);
  /// Splits values of f(s + t) = f(s) · f(t) so that what all products have in common is a factor.
  void part_common(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps);
  bool at_some_point(check::Sum& sum, Step step, const std::vector<Atom>& bound, const check::Guards& guards,
                     const Context& context, Steps& steps);
  /// The largest of the lower bounds that guards set to an index.
  std::optional<Poly> least(Atom atom, const check::Guards& guards, const std::set<Atom>& without) const;
  /// Products over other indices: one is given the indices of the other.
  bool match_indices(check::Sum& sum, const Context& context, Steps& steps);
  bool coarsen(Attempt& attempt, std::size_t p, std::size_t onto, const Context& context);
  bool cover(Attempt& attempt, std::size_t p, std::size_t f, std::size_t onto, std::size_t g, const Context& context);
  bool set_one(Attempt& attempt, std::vector<std::size_t> at, std::vector<Atom>& left, const Context& context);
  bool name_all(Attempt& attempt, std::vector<std::size_t> at, const std::vector<Atom>& names,
                const std::vector<Poly>& equations, const Context& context);

  check::Statement& statement_;
  check::Atoms& atoms_;
  AlignLimits align_;
  ElaborationLimits limits_;
  Budget budget_;
  Bridge bridge_;
  Oracle oracle_;
  std::vector<bool> commutative_;
  std::size_t taken_ = 0;
  int depth_ = 0;
  std::set<std::pair<check::Guards, std::string>> different_;  // differences that did not come out as zero
};

}  // namespace rulemill::prove
