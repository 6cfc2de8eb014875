#include "cli/run/run_events.h"

#include <algorithm>
#include <fstream>

#include "runtime/process/event_log.h"

namespace rulemill::cli {
namespace {

using runtime::Json;

void add_event(const Json& event, std::vector<RankRun>& runs, int rank) {
  const auto kind = event.value("event", "");
  const double time = event.value("time", 0.0);
  if (kind == "begin") {
    RankRun run;
    run.rank = rank;
    run.begin = time;
    run.begin_event = event;
    runs.push_back(std::move(run));
  }
  if (runs.empty() || runs.back().rank != rank) return;
  RankRun& run = runs.back();
  run.last = time;
  const auto name = event.value("stage", "");
  if (kind == "stage") {
    run.stages.push_back({name, time, time, false, Json::object()});
    run.progress = nullptr;
  } else if (kind == "stage end" && !run.stages.empty()) {
    run.stages.back().finished = true;
    run.stages.back().statistics = event;
    run.progress = nullptr;
  } else if (kind == "task_statistics" && !run.stages.empty()) {
    run.stages.back().tasks = event.at("report").at("ranks");
  } else if (kind == "progress") {
    run.progress = event;
  } else if (kind == "end" || kind == "stopped") {
    run.end_event = kind;
    run.message = event.value("message", "");
  }
  if (!run.stages.empty() && (!run.stages.back().finished || kind == "stage end")) run.stages.back().end = time;
}

}  // namespace

std::vector<RankRun> read_runs(const std::filesystem::path& out) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(out / runtime::event_folder, error)) {
    if (entry.path().extension() == ".jsonl" && entry.is_regular_file(error)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<RankRun> runs;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string stem = files[i].stem().string();
    const auto digits = stem.find_last_not_of("0123456789") + 1;
    const int rank = digits < stem.size() && stem.size() - digits < 9 ? std::stoi(stem.substr(digits)) : 0;
    std::ifstream file(files[i]);
    for (std::string line; std::getline(file, line);) {
      const Json event = runtime::parse_json_or_discard(line);
      if (!event.is_object()) continue;
      try {
        add_event(event, runs, rank);
      } catch (const Json::exception&) {
        // A damaged line: a field has another type.
      }
    }
  }
  return runs;
}

}  // namespace rulemill::cli
