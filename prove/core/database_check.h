// The check of a rule database on disk by worker processes on all ranks, with bounded memory.
#pragma once

#include <string>
#include <variant>

#include "algebra/rules/rule_set_file.h"
#include "prove/certificate/check.h"
#include "prove/distributed/task_scheduler.h"

namespace rulemill::prove {

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
