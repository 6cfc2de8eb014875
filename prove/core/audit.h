// The checks of a finished rule set: of its certificates, and, optionally, that the prover and the deriver agree, and
// that the core is minimal.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "algebra/rules/rule_set_file.h"
#include "prove/certificate/check.h"
#include "prove/distributed/task_scheduler.h"

namespace rulemill::prove {

/// Derived rules proved from the definitions. A refuted rule shows a bug of the deriver, an unknown one a weakness of
/// the prover.
struct CrossCheckReport {
  std::uint64_t rules = 0, proved = 0;
  std::vector<std::pair<std::string, std::string>> refuted, unknown;  // rule, counterexample or reason
  double seconds = 0;
};
/// Proves each rule, typed and in text form, from the definitions only. On the first rank, in
/// TaskScheduler::run_collective.
CrossCheckReport cross_check(const std::vector<std::string>& rules, TaskScheduler& scheduler);

/// The core, with its specializations, compared with itself and with the derived rules.
struct MinimalityReport {
  std::uint64_t core = 0;
  std::uint64_t specializations = 0;  // of general core rules, at ranks and parameters that occur in the set
  std::uint64_t independent = 0;      // saturation showed that the other core rules do not imply it
  std::vector<std::string> at_limit;  // core rules whose derivation hit a limit
  std::vector<std::string> implied;   // core rules that the others imply
  std::uint64_t derived = 0;
  std::vector<std::string> not_implied;  // derived rules that the core does not imply
  double seconds_core = 0, seconds_derived = 0;
};
/// On the first rank, in TaskScheduler::run_collective, with workers that know no rules yet. A derived rule with a
/// derivation counts as implied, because its certificate has been checked before.
MinimalityReport check_minimality(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                                  algebra::Symbols& symbols, TaskScheduler& scheduler);

// The check of a rule database on disk by worker processes on all ranks, with bounded memory.

/// A record that is no rule, with its place: the file cannot be loaded.
struct MalformedRecord {
  std::string what;
};

using DatabaseCheck = std::variant<CheckReport, MalformedRecord>;

/// Checks all rules. A rule whose worker exceeds a limit, or is killed, twice has a finding with the reason. The report
/// is the same on any number of ranks, except for the times. On the first rank, in TaskScheduler::run_collective.
DatabaseCheck check_database(const algebra::RuleSetFile& rules, algebra::Library& library, TaskScheduler& scheduler,
                             const CheckOptions& options, runtime::ProgressMode progress);

}  // namespace rulemill::prove
