// Proves rules from the operators' definitions, for all sizes: types them, searches for a counterexample and for a
// proof that the checker accepts, and searches for equations between sizes if a rule holds only under some.
#pragma once

#include <cstdint>

#include "prove/elaboration/elaboration.h"
#include "prove/prover/condition.h"
#include "prove/prover/verdict.h"
#include "prove/refuter/refute.h"

namespace rulemill::prove {

struct ProverOptions {
  std::uint64_t seed = 1;
  RefuteLimits refute;
  ConditionLimits condition;
  std::uint64_t steps = 400'000'000;  // of work for one verdict, a few seconds; ElaborationLimits limits each proof
  bool find_conditions = true;
  ElaborationLimits elaboration;
};

struct ProofResult {
  bool proved = false;
  std::string reason;  // if it was not proved
};

class Prover {
 public:
  /// `bank` and `symbols` hold the rules and must outlive the prover, which adds typed copies of their terms.
  Prover(algebra::TermBank& bank, algebra::Symbols& symbols, ProverOptions options = {});

  /// Returns the verdict on a rule, typed or not. A rule that holds only under a condition is narrowed to it. With an
  /// example (a candidate's concrete shapes), numbers among its sizes are examples of sizes, and only
  /// equations that the example satisfies are considered as conditions.
  Verdict prove(const algebra::Rule& rule, const std::vector<std::vector<std::int64_t>>* example = nullptr);

  /// Proves that the sides of a typed rule are equal for all its sizes.
  ProofResult prove_equal(const algebra::TypedRule& rule);
  /// Proves that the sides are undefined at the same points. Derivations compare values only and do not show this.
  ProofResult prove_same_domain(const algebra::TypedRule& rule);
  /// Returns what the text of a proved rule does not state: the equations found, and what the types require, as far as
  /// it follows neither from these equations nor from the types of both sides.
  std::vector<algebra::SizeCondition> narrowing(const algebra::TypedRule& typed,
                                                const std::vector<algebra::SizeCondition>& found);
  /// Returns the work that the last verdict or proof took.
  std::uint64_t steps() const { return budget_.spent(); }
  /// Returns the number of questions about integers that all searches asked.
  std::uint64_t queries() const { return queries_; }
  const ProverOptions& options() const { return options_; }

 private:
  /// Quick: by simplification and cancellation. Full: also by laws. Domains: only where the sides are defined.
  enum class Search : std::uint8_t { Quick, Full, Domains };
  /// Searches for a proof of the rule's statement. Its work is spent from the verdict's budget.
  ProofResult search(const algebra::TypedRule& typed, Search kind);
  Verdict decide(const algebra::TypedRule& typed);
  std::optional<algebra::TypedRule> split_sizes(const algebra::TypedRule& typed);
  std::optional<Proved> prove_under_condition(const algebra::TypedRule& typed,
                                              const std::vector<std::vector<std::int64_t>>* example);
  bool is_implied(const algebra::SizeCondition& condition, std::span<const algebra::SizeCondition> known);

  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  ProverOptions options_;
  Budget budget_;
  std::uint64_t queries_ = 0;
};

}  // namespace rulemill::prove
