// Performs tasks. An answer depends on the task and on the rule updates so far, not on earlier tasks.
#pragma once

#include "prove/prover/prover.h"
#include "prove/solver/z3_session.h"
#include "prove/tasks/derivation_context.h"
#include "prove/tasks/task.h"

namespace rulemill::prove {

struct WorkerOptions {
  ProverOptions prover;
  egraph::Limits limits;
};

class Worker {
 public:
  Worker(algebra::Library& library, const WorkerOptions& options);

  /// Applies an add_rule_update() or a remove_rule_update().
  void update_rules(const std::string& update);
  Answer answer(const Task& task);

 private:
  /// The rules from which a known rule is derived: all others, or those before it.
  enum class Premises : std::uint8_t { Others, Earlier };
  std::string answer(const Task& task, const std::string& item);
  Implication is_implied(const KnownRule& rule, LimitPolicy policy);
  CandidateResult explain(const KnownRule& rule, Premises premises, LimitPolicy policy);
  template <typename Derive>
  auto derive_from(Premises premises, const KnownRule& rule, const Derive& derive);

  algebra::Library& library_;
  WorkerOptions options_;
  DerivationContext context_;
  Z3Session z3_;               // of checks
  std::vector<bool> enabled_;  // by known rule
  TaskStatistics statistics_;  // of the current task
};

}  // namespace rulemill::prove
