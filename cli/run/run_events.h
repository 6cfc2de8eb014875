// The runs recorded in the event logs of an output folder. Incomplete lines, the last ones of a killed run, are
// skipped.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/text/json.h"

namespace rulemill::cli {

/// One rank's record of one run. Times are seconds since 1970.
struct RankRun {
  struct Stage {
    std::string name;
    double begin = 0, end = 0;  // end: of its last event if it is unfinished
    bool finished = false;
    runtime::Json statistics = runtime::Json::object();  // of its end event: seconds, bytes_sent, …
    runtime::Json tasks = runtime::Json::array();        // on the first rank: task statistics by rank
  };
  int rank = 0;
  double begin = 0, last = 0;  // its first and its last event
  runtime::Json begin_event;   // of its begin event: ranks, host, pid, job
  std::string end_event;       // "end" or "stopped"; empty if it is running or was killed
  std::string message;         // of "stopped"
  std::vector<Stage> stages;
  runtime::Json progress;  // the last one of the current stage: what, done, total, seconds
};

/// Returns the runs by rank, then time. Empty if the folder has no events.
std::vector<RankRun> read_runs(const std::filesystem::path& out);

}  // namespace rulemill::cli
