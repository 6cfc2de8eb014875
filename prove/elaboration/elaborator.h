// The search for the steps of a proof, on the state of the checker: each step is tried on the checker's kernel, and
// committed if its obligations can be shown. The implementation is in elaborate.cc (search), simplify_sum.cc
// (simplification), cancel.cc (alignment and cancellation), laws.cc, order.cc,
// name_quotients.cc and last_resorts.cc (laws), and domains.cc (definedness).
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "prove/elaboration/align.h"
#include "prove/elaboration/elaboration.h"
#include "prove/elaboration/oracle.h"
#include "prove/elaboration/steps.h"
#include "prove/refuter/size_sampler.h"
#include "prove/solver/budget.h"
#include "prove/solver/z3_session.h"

namespace rulemill::prove {

class Elaborator {
 public:
  using Context = check::Context;
  using Step = check::Step;
  using Op = Step::Op;
  using Steps = std::vector<Step>;
  using Place = std::vector<std::size_t>;  // of a product, or of a factor of it

  Elaborator(const check::Statement& statement, const std::vector<SizesByName>& samples,
             const ElaborationLimits& limits, bool assume_obligations);
  Elaboration run();
  Elaboration run_domains(const std::vector<check::Obligation>& obligations);

 private:
  static constexpr int max_depth = 12;
  static constexpr std::size_t max_alignments = 6;  // of two products that are tried
  static constexpr std::size_t max_named_quotients = 12;

  enum class Change { None, Some, Gone };
  /// A sum that is rewritten where its context holds, and the steps so far.
  struct State {
    check::Sum& sum;
    const Context& context;
    Steps& steps;
  };
  /// A copy of a sum, and the steps that led to it.
  struct Attempt {
    check::Sum sum;
    Steps steps;
    State in(const Context& context) { return {sum, context, steps}; }
  };
  /// A product that has the bound indices and factors of another, and the steps that led to it.
  struct Alignment {
    check::Product product;
    Steps steps;
  };

  // Search.
  /// Adds lemmas for the obligations of typing and of divisors. Returns a reason on failure.
  std::optional<std::string> prove_typing(check::Proof& proof);
  /// Returns false if the obligation is not shown.
  bool add_lemmas(const check::Obligation& obligation, check::Proof& proof);
  Elaboration run_within_limits(const std::function<std::optional<std::string>(check::Proof&)>& search);
  /// Applies the step and records it if the kernel accepts it and its obligations can be shown.
  bool try_step(State state, Step step);
  bool is_shown(const check::Guards& given, std::optional<check::Guard> goal);
  /// Rewrites the sum to 0. Returns false if that fails; the sum is then what remains.
  bool rewrite_to_zero(State state);
  /// Splits a product by an undecided guard in the arguments of its factors. If there is none, simplifies the
  /// arguments, which may remove inner bound indices from guards.
  bool split(State state);
  std::optional<check::Guard> undecided_guard(const check::Product& product, const Context& context);
  std::optional<check::Guard> undecided_guard(const check::Sum& sum, const std::set<Atom>& scope,
                                              const check::Guards& given);

  // Definedness (domains.cc).
  std::optional<std::string> prove_domains(check::Proof& proof);
  /// Rewrites 1 − "a function is defined" to 0: by signs, by cases of guards, and by conditions of the other side.
  bool show_defined(State state);
  bool show_positive(State state, std::size_t p);
  bool show_defined_by_others(State state, std::size_t p);
  bool show_defined_by_other(State state, std::size_t p, std::size_t number, const check::DefinednessCondition& cell);
  /// Replaces the arguments of the factor by those of another with the same function.
  bool replace_arguments(State state, std::size_t p, const check::Factor& other);
  /// Simplifies the sums and the arguments in them, without steps: for the search for witnesses only.
  void simplify_all_levels(std::vector<check::Sum>& sums, const Context& context);
  /// Splits the condition by the guards in its arguments, and simplifies these in each cell.
  std::vector<check::DefinednessCondition> cells(check::DefinednessCondition condition, int depth);
  std::vector<check::Images> witnesses(const check::DefinednessCondition& wanted,
                                       const check::DefinednessCondition& found);

  // Simplification.
  void simplify(State state, std::size_t from = 0);
  /// Returns false if the product was removed: dropped, or replaced by others at the end of the sum.
  bool simplify_product(State state, std::size_t p);
  bool vanishes(const check::Product& product, const Context& context);
  /// Returns the equations among guards, including those that are two inequalities.
  static std::vector<Poly> equations(const check::Guards& own, const check::Guards& given);
  /// Eliminates a bound index, or one of the output, that an equation determines.
  bool eliminate(State state, std::size_t p, std::optional<std::size_t> maximum);
  bool is_used_elsewhere(check::Product product, Atom atom, const Poly& equation);
  /// Replaces a quotient with an index in its numerator that has only one value.
  bool fix_division(State state, std::size_t p);
  Change simplify_factor(State state, std::size_t p, std::size_t f);
  /// Empties all arguments if every product in them is 0 there.
  bool drop_arguments(State state, std::size_t p, std::size_t f);
  /// Simplifies the first argument, and drops redundant guards of its products.
  bool strip_argument_guards(State state, std::size_t p, std::size_t f);
  bool simplify_arguments(State state, std::size_t p);
  bool apply_idempotence(State state, std::size_t p, std::size_t f);
  /// Replaces a maximum whose body is constant, at a point where all its indices are the same small number.
  bool instantiate_constant_max(State state, std::size_t p, std::size_t f);

  // Alignment and cancellation.
  static void commit(Attempt attempt, State state);
  bool cancel(State state);
  bool cancel_pair(State state, std::size_t onto);
  /// Returns up to `max_results` ways to rewrite product p to the bound indices and factors of `onto`.
  std::vector<Alignment> alignments(const check::Sum& sum, std::size_t p, std::size_t onto, const Context& context,
                                    std::size_t max_results);
  static void commit(Alignment alignment, std::size_t p, check::Sum& sum, Steps& steps);
  /// The step Reindex of a map, with its inverse; nothing if there is no inverse.
  std::optional<Step> reindex(const Images& map, const std::vector<Atom>& old, const std::vector<Atom>& fresh,
                              const std::vector<Atom>& onto);
  bool try_map(Attempt& attempt, Place at, const Images& map, const std::vector<Atom>& old,
               const std::vector<Atom>& fresh, const std::vector<Atom>& onto, const Context& context);
  /// Rewrites factor f of product p to factor g of `onto`.
  bool equate(Attempt& attempt, std::size_t p, std::size_t f, std::size_t onto, std::size_t g, const Context& context);
  bool equate_argument(Attempt& attempt, std::size_t p, std::size_t f, std::size_t onto, std::size_t g, std::size_t a,
                       const Context& context);
  bool equate_maxima(Attempt& attempt, std::size_t p, std::size_t f, std::size_t onto, std::size_t g,
                     const Context& context);
  bool equate_ranges(Attempt& trial, std::size_t p, std::size_t f, const check::Guards& wanted, const Context& context);

  // Laws of functions and maxima, applied last.
  /// Applies laws to all products. Returns false if none applies.
  bool apply_laws(State state);
  bool apply_laws(State state, std::size_t p);
  using Laws = std::vector<const algebra::LawEquation*>;
  /// The laws of this function; none without a name.
  const Laws& laws_of(const check::Factor& factor) const;
  const algebra::LawEquation* law_of(const check::Factor& factor, const char* name) const;
  bool try_law(State state, std::size_t p, std::size_t f, const algebra::LawEquation& law);
  /// Finds the blocks of a law: for conditions e = 0, with the inverse of c for the variable after it, and for those
  /// that an application is defined.
  bool show_conditions(const algebra::LawEquation& law, Step& step, const Context& context);
  /// The same for a law of this name, which is then applied.
  bool try_law_step(State state, Step step);
  static void set_inverse(Step& step);
  bool take_square(State state, std::size_t p, std::size_t f);
  bool divide_by_root(State state, std::size_t p, std::size_t f);
  bool scale_maximum(State state, std::size_t p, std::size_t f);
  /// Cancels products whose sum is 0 for every order of the values that they compare.
  bool apply_order(State state);
  /// Gives product p the bound indices of `onto`, in their order, if the ranges are equal then.
  bool rename_bound(Attempt& attempt, std::size_t p, std::size_t onto, const Context& context);
  /// Finds the cases of a step Order, which vanish; nothing if the sum does not, or if it has too many.
  std::optional<std::string> find_cases(const check::Sum& products, const check::Guards& given);

  // Last resorts, at any depth (last_resorts.cc).
  /// Divides a maximum by a guard in its body, or replaces a function by its formula.
  bool replace_anywhere(State state, bool unfolds);
  bool divide_maximum(State state, std::size_t p, std::size_t f);
  bool divide_maximum(State state, std::size_t p, std::size_t f, const check::Guard& guard);
  bool unfold(State state, std::size_t p, std::size_t f);
  /// Cancels a sum with its reciprocal.
  bool cancel_reciprocal(State state, std::size_t p, std::size_t f);
  bool cancel_sum(State state, std::size_t p, std::size_t f);
  /// Takes an exponential that all products in a logarithm have out of it.
  bool take_power_out(State state, std::size_t p, std::size_t f);
  /// Replaces a square root by an absolute value in the sum.
  bool take_root(State state, std::size_t p, std::size_t f);
  /// True if a function with a parity law should be applied to the negated argument instead.
  bool is_negated(const check::Sum& argument) const;
  void drop_window_guards(State state, std::size_t p, Atom atom);
  /// Replaces a sum over an index that the product does not depend on by the size of its range.
  bool count_range(State state, std::size_t p);
  /// Replaces p · 1/p by 1, and expands integer factors.
  bool multiply_out(State state, std::size_t p);
  /// Adds up products that differ only in coefficients.
  void collect_terms(State state);
  /// Simplifies the arguments of factor f, also by laws and cancellation.
  bool simplify_arguments_by_laws(State state, std::size_t p, std::size_t f);
  /// Splits values of exponential functions so that the common part of all products becomes a factor.
  void split_common_exponents(State state, std::size_t p, std::size_t f);
  bool try_points(State state, Step step, const std::vector<Atom>& bound, const check::Guards& guards);
  /// Returns the largest lower bound of an index by guards.
  std::optional<Poly> largest_lower_bound(Atom atom, const check::Guards& guards, const std::set<Atom>& without) const;
  /// Rewrites a product over more bound indices than another to the indices of that one.
  bool match_indices(State state);
  bool coarsen(Attempt& attempt, std::size_t p, std::size_t onto, const Context& context);
  bool cover(Attempt& attempt, std::size_t p, std::size_t f, std::size_t onto, std::size_t g, const Context& context);
  bool set_index(Attempt& attempt, const Place& at, std::vector<Atom>& left, const Context& context);
  bool name_indices(Attempt& attempt, const Place& at, const std::vector<Atom>& names,
                    const std::vector<Poly>& equations, const Context& context);

  // Sums and maxima over quotients (name_quotients.cc).
  bool name_quotients(State state);
  bool name_quotients(State state, bool reversed);
  /// Names a quotient in the body of the range at that place.
  template <class Range>
  bool name_quotient(Attempt& attempt, const Place& at, const Range& range, bool reversed, const Context& context);
  bool name_quotient(Attempt& attempt, const Place& at, Atom quotient, Atom index, const Context& context);
  bool replace_quotient(Attempt& attempt, const Place& at, Atom quotient, const std::vector<Atom>& indices,
                        const Context& context);

  const check::Statement& statement_;
  check::Atoms& atoms_;
  ElaborationLimits limits_;
  Budget budget_;
  Oracle oracle_;
  std::vector<bool> commutative_;
  std::vector<Laws> laws_;  // by the number of the function that the left side applies
  check::KnownConditions known_;
  Z3Session z3_;
  std::size_t tried_steps_ = 0;
  int depth_ = 0;
  std::set<std::pair<check::Guards, std::string>> unequal_;  // differences that were not shown to be zero
};

}  // namespace rulemill::prove
