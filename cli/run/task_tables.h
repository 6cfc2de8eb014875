// Tables of the tasks of a stage: the work of each rank, and the average time of a derivation and of a proof.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "prove/distributed/task_scheduler.h"

namespace rulemill::cli {

/// One row per rank. Empty if there were no tasks.
std::string task_table(const std::vector<prove::RankStatistics>& ranks);
/// "1,046 derivations found, 0.050 ms each; …": one or two lines. Empty if there were no tasks.
std::string task_averages(const std::vector<prove::RankStatistics>& ranks);

/// Prints both, and adds them to the report of the stage.
void print_task_statistics(Context& context, const char* stage, const std::vector<prove::RankStatistics>& ranks);

}  // namespace rulemill::cli
