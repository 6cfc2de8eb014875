// The runs of an output folder as its log of events tells them. Lines that are torn are left out: what a killed run
// wrote last.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/json_report.h"

namespace rulemill::cli {

/// One process's part in one run. Times are seconds since 1970.
struct RankRun {
  struct Stage {
    std::string name;
    double begin = 0, end = 0;  // as far as it is known
    bool finished = false;
    runtime::Json figures = runtime::Json::object();  // of its end: seconds, bytes_sent, …
    runtime::Json helpers = runtime::Json::array();   // on the first rank: what those of each rank did
  };
  int rank = 0;
  double begin = 0, last = 0;  // its first event, and the last one that was heard
  runtime::Json facts;         // of its start: ranks, host, pid, job
  std::string outcome;         // "end", "stopped"; empty: it goes on, or was killed
  std::string message;         // why it stopped
  std::vector<Stage> stages;
  runtime::Json progress;  // the last one: what, done, total, seconds
};

/// By rank, then time. Empty if the folder has no events.
std::vector<RankRun> read_runs(const std::filesystem::path& out);

}  // namespace rulemill::cli
