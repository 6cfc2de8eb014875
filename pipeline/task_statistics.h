// Statistics of the tasks of a stage as JSON, for the event log and for reports.
#pragma once

#include <vector>

#include "prove/distributed/task_scheduler.h"
#include "runtime/text/json.h"

namespace rulemill::pipeline {

/// The sum over all ranks.
prove::RankStatistics total(const std::vector<prove::RankStatistics>& ranks);

/// Average milliseconds; 0 without a count.
double average_milliseconds(double seconds, std::uint64_t count);
double queries_per_proof(const prove::TaskStatistics& tasks);

runtime::Json task_statistics_json(const std::vector<prove::RankStatistics>& ranks);

}  // namespace rulemill::pipeline
