// Proves rules from the operators' definitions, for all sizes: types them, looks for a counterexample, compares normal
// forms, and where a rule holds only under equations between sizes, finds them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "prove/condition.h"
#include "prove/elaboration/limits.h"
#include "prove/normal_form/align.h"
#include "prove/refute.h"
#include "prove/solver/solver.h"
#include "prove/verdict.h"

namespace rulemill::prove {

struct ProverOptions {
  std::uint64_t seed = 1;
  RefuteLimits refute;
  SolverLimits solver;
  AlignLimits align;
  ConditionLimits condition;
  std::uint64_t steps = 150'000'000;  // of work for one proof; SolverLimits::steps is for all that one verdict takes
  bool find_conditions = true;
  ElaborationLimits elaboration;
};

class Prover {
 public:
  /// Rules live in `bank` and `symbols`, which outlive this; typed copies of their terms are added.
  Prover(algebra::TermBank& bank, algebra::Symbols& symbols, ProverOptions options = {});
  ~Prover();

  /// The verdict on any rule, typed or not; one that holds under a condition alone is proved with the condition found.
  /// With an example (a candidate's concrete shapes), numbers among its sizes are examples of sizes, and conditions are
  /// looked for among equations that the example satisfies.
  Verdict prove(const algebra::Rule& rule, const std::vector<std::vector<std::int64_t>>* example = nullptr);

  /// One typed rule: whether its sides are equal for all its sizes, and if not, why it was not shown.
  struct Outcome {
    bool proved = false;
    std::string reason;
  };
  Outcome prove_equal(const algebra::TypedRule& rule);
  /// Whether its sides are shown to be undefined at the same points: what derivations, which compare values, leave
  /// open.
  Outcome same_domain(const algebra::TypedRule& rule);
  /// Steps of work that the last verdict or proof took.
  std::uint64_t steps() const { return solver_->budget().spent(); }

  const SolverStatistics& solver_statistics() const;
  const ProverOptions& options() const { return options_; }

 private:
  Outcome equal(const algebra::TypedRule& typed);
  Outcome within_limits(const algebra::TypedRule& typed, const std::function<void(Outcome&)>& compare);
  void compare_output(const algebra::TypedRule& typed, std::size_t output, Outcome& outcome);
  void compare_domains(const algebra::TypedRule& typed, Outcome& outcome);
  Verdict judge(const algebra::TypedRule& typed);
  bool by_steps(const algebra::TypedRule& typed);
  std::optional<algebra::TypedRule> with_parts(const algebra::TypedRule& typed);
  std::optional<Proved> under_condition(const algebra::TypedRule& typed,
                                        const std::vector<std::vector<std::int64_t>>* example);
  Proved proved(algebra::TypedRule typed) const;

  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  ProverOptions options_;
  std::unique_ptr<Solver> solver_;
  std::vector<bool> partial_functions_;  // by function
};

}  // namespace rulemill::prove
