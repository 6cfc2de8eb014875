// The minimal core: proved rules of which none is implied by the others, within the limits of derivations, and which
// imply all other rules. Runs on the first rank, with tasks for all ranks.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "prove/distributed/task_scheduler.h"
#include "prove/tasks/candidate_result.h"

namespace rulemill::prove {

/// By candidate: specializations of its rule in text form, with names of their own. They may be used in derivations as
/// long as the rule is core.
using SpecializationsByRule = std::map<std::string, std::vector<std::string>>;

class MinimalCore {
 public:
  /// `statement_of` returns the statement of a rule's certificate, as in the database.
  MinimalCore(std::vector<CandidateResult> results, TaskScheduler& scheduler, algebra::Library& library,
              std::function<std::string(const CandidateResult&)> statement_of,
              SpecializationsByRule specializations = {});

  /// Makes every rule core or derived, each with its certificate, or unknown if no checkable proof is found.
  void find();

  /// Returns the rules, in the order of the candidates.
  std::vector<CandidateResult>& rules() { return rules_; }

 private:
  using Positions = std::vector<std::size_t>;  // in rules_

  Positions eliminate_all();
  void derive_inactive();
  Positions eliminate(TaskKind kind, Positions& core);
  void add_names(std::size_t rule, std::set<std::string>& names) const;
  bool derive_all(Positions rules);
  Positions derive(TaskKind kind, const Positions& rules);
  Positions without_derivation(const Positions& rules);
  Positions compose_derivations(const Positions& rules);
  std::map<std::string, std::string> derivations_of_premises(const Positions& rules);
  Positions add_to_core(const Positions& rules);
  Positions depending_on(const Positions& removed) const;
  Positions certify();

  Positions with_status(RuleStatus status) const;
  Positions active_core() const;
  enum class Activate : std::uint8_t { WithSpecializations, RuleOnly };
  void activate(const Positions& rules, Activate what = Activate::WithSpecializations);
  void deactivate(const Positions& rules);
  const std::vector<std::string>& specializations_of(std::size_t rule) const;
  std::vector<std::string> numbers_of(const Positions& rules) const;
  std::vector<std::string> texts_of(const Positions& rules) const;

  TaskScheduler& scheduler_;
  algebra::Library& library_;
  std::function<std::string(const CandidateResult&)> statement_of_;
  std::vector<CandidateResult> rules_;
  SpecializationsByRule specializations_;
  std::vector<KnownRule> known_;                         // by position: the numbers of the rule for workers
  std::unordered_map<std::string, std::size_t> owners_;  // positions, by name of a rule or of a specialization
  std::vector<int> eliminations_;                        // by position: how often the rule was eliminated
  Positions eliminated_;                                 // rules that are out of the core, in order of elimination
  std::uint32_t known_rules_ = 0;                        // rules that workers know, enabled or not
};

}  // namespace rulemill::prove
