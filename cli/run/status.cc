// `rulemill status OUT`: the progress of the run in an output folder, or the results of an array of optimizations.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>

#include "cli/command.h"
#include "cli/number_option.h"
#include "cli/run/run_report.h"
#include "cli/shipped_files.h"
#include "cli/text_table.h"
#include "fingerprint/shards.h"
#include "pipeline/run.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/json_file.h"
#include "runtime/files/manifest.h"
#include "runtime/process/log.h"
#include "runtime/text/error.h"
#include "runtime/text/printable.h"
#include "runtime/text/quantity.h"

namespace rulemill::cli {
namespace {

using runtime::format_count;
using runtime::Json;

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

/// Returns the runs in the event logs of an output folder by rank, then time. Empty if it has no events. Incomplete
/// lines, the last ones of a killed run, are skipped.
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

constexpr double max_start_delay = 60;  // seconds between the starts of the ranks of a run
constexpr double max_silence = 120;     // seconds without events after which a run on another machine counts as ended

struct StatusOptions {
  std::string out;
  std::string html;
  std::string required_stage;
};

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::string at(double time) {
  const auto seconds = static_cast<std::time_t>(time);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof text, "%F %T", &local);
  return text;
}

/// True if the first rank is running. On another machine this is a guess from its last event.
bool is_running(const RankRun& run) {
  if (!run.end_event.empty()) return false;
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  if (run.begin_event.value("host", "") != host) return now() - run.last < max_silence;
  const int pid = run.begin_event.value("pid", 0);
  return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM);
}

const RankRun* last_run(const std::vector<RankRun>& runs) {
  const RankRun* last = nullptr;
  for (const RankRun& run : runs) {
    if (run.rank == 0) last = &run;
  }
  return last;
}

std::string describe_state(const RankRun& run, bool running) {
  const int ranks = run.begin_event.value("ranks", 1);
  const std::string job = run.begin_event.value("job", "");
  const std::string where =
      fmt::format("{}{}, {}", job.empty() ? "" : "job " + job + ", ", run.begin_event.value("host", ""),
                  ranks == 1 ? "1 rank" : fmt::format("{} ranks", ranks));
  const double seconds = run.last - run.begin;
  if (running) {
    return fmt::format("running since {} ({}), last event {} ago", at(run.begin), where,
                       runtime::format_seconds(std::max(0.0, now() - run.last)));
  }
  if (run.end_event == "end")
    return fmt::format("done at {} after {} ({})", at(run.last), runtime::format_seconds(seconds), where);
  if (run.end_event == "stopped") return fmt::format("stopped at {} ({}): {}", at(run.last), where, run.message);
  return fmt::format("stopped responding after {} ({}): killed, or its node failed", at(run.last), where);
}

/// "423 of 1,227 (34%), about 12 s left".
std::string describe_progress(const Json& progress) {
  const auto done = progress.value("done", std::uint64_t{0}), total = progress.value("total", std::uint64_t{0});
  const double seconds = progress.value("seconds", 0.0);
  std::string text = format_count(done);
  if (total > 0) text += fmt::format(" of {} ({}%)", format_count(total), 100 * done / total);
  if (total > done && done > 0)
    text += ", about " +
            runtime::format_seconds(seconds * static_cast<double>(total - done) / static_cast<double>(done)) + " left";
  return text;
}

/// The task statistics of a rank and stage. The first rank logs those of all ranks, so find its run: the one that began
/// at about the same time.
Json tasks_of(const std::vector<RankRun>& runs, const RankRun& run, const std::string& stage) {
  const auto rank = static_cast<std::size_t>(run.rank);
  for (const RankRun& first : runs) {
    if (first.rank != 0 || std::abs(first.begin - run.begin) > max_start_delay) continue;
    for (const RankRun::Stage& logged : first.stages) {
      if (logged.name == stage && logged.tasks.is_array() && rank < logged.tasks.size()) return logged.tasks[rank];
    }
  }
  return Json::object();
}

/// Time, bytes and idle time by rank and stage, without stages that were already done.
Json balance(const std::vector<RankRun>& runs) {
  Json rows = Json::array();
  for (const RankRun& run : runs) {
    for (const RankRun::Stage& stage : run.stages) {
      if (stage.statistics.value("already_done", false)) continue;
      Json row = {{"stage", stage.name},
                  {"rank", run.rank},
                  {"run", run.begin},
                  {"begin", stage.begin},
                  {"seconds", stage.end - stage.begin},
                  {"finished", stage.finished}};
      for (const char* key : {"waiting", "bytes_sent", "memory", "idle"}) {
        if (stage.statistics.contains(key)) row[key] = stage.statistics[key];
      }
      const Json tasks = tasks_of(runs, run, stage.name);
      for (const char* key : {"busy_seconds", "idle_seconds"}) {
        if (tasks.contains(key)) row[key] = tasks[key];
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

void print_balance(Context& context, const Json& rows, double since) {
  TextTable table({"stage", "rank", "time", "waiting", "workers busy", "idle", "sent", "peak memory"});
  const auto seconds_or_nothing = [](const Json& row, const char* key) {
    return row.contains(key) ? runtime::format_seconds(row[key]) : std::string();
  };
  for (const Json& row : rows) {
    if (row["run"] < since || !row.contains("memory")) continue;
    table.add({row["stage"], std::to_string(row["rank"].get<int>()), runtime::format_seconds(row["seconds"]),
               runtime::format_seconds(row.value("waiting", 0.0)), seconds_or_nothing(row, "busy_seconds"),
               seconds_or_nothing(row, "idle_seconds"),
               runtime::format_bytes(row.value("bytes_sent", std::uint64_t{0})),
               runtime::format_bytes(row.value("memory", std::uint64_t{0}))});
  }
  if (!table.empty()) context.print("\n" + table.text());
}

std::string stage_state(const runtime::Manifest& manifest, const std::string& stage, const RankRun* run, bool running) {
  if (!manifest.statistics(stage).empty()) return "done";
  const bool is_current =
      running && !run->stages.empty() && run->stages.back().name == stage && !run->stages.back().finished;
  std::string state = is_current ? "running" : manifest.inputs_digest(stage).empty() ? "not started" : "unfinished";
  if (is_current && run->progress.is_object()) state += ", " + describe_progress(run->progress);
  return state;
}

/// Seconds of the first rank in a stage, in all runs; without events, those in the manifest.
std::optional<double> stage_seconds(const Json& rows, const runtime::Manifest& manifest, const std::string& stage) {
  double all = 0;
  for (const Json& row : rows) {
    if (row["rank"] == 0 && row["stage"] == stage) all += row["seconds"].get<double>();
  }
  if (all > 0) return all;
  const auto statistics = manifest.statistics(stage);
  const auto found = statistics.find("seconds");
  if (found == statistics.end() || !std::holds_alternative<double>(found->second)) return std::nullopt;
  return std::get<double>(found->second);
}

void show_run(Context& context, const StatusOptions& options) {
  const runtime::Manifest manifest(options.out);
  const std::vector<RankRun> runs = read_runs(options.out);
  const RankRun* run = last_run(runs);
  const bool running = run != nullptr && is_running(*run);
  Json& report = context.report;
  report["folder"] = options.out;
  if (run != nullptr) {
    report["profile"] = run->begin_event.value("profile", "");
    report["state"] = describe_state(*run, running);
    report["running"] = running;
    context.print(options.out + ": " + run->begin_event.value("profile", "") +
                  fmt::format(", {} operators\n", run->begin_event.value("max_ops", 0)) +
                  describe_state(*run, running) + "\n\n");
  }
  report["ranks"] = balance(runs);
  TextTable table({"stage", "state", "time"});
  std::map<std::string, std::uint64_t> cut_proofs;
  for (const auto& [stage, run_stage] : pipeline::stages) {
    const std::string state = stage_state(manifest, stage, run, running);
    const std::optional<double> seconds = stage_seconds(report["ranks"], manifest, stage);
    table.add({stage, state, seconds ? runtime::format_seconds(*seconds) : ""});
    cut_proofs[stage] = prove::failed_tasks(manifest.statistics(stage));
    report["stages"].push_back({{"name", stage}, {"state", state}, {"cut_proofs", cut_proofs[stage]}});
    if (seconds) report["stages"].back()["seconds"] = *seconds;
  }
  context.print(table.text());
  if (run != nullptr) print_balance(context, report["ranks"], run->begin - max_start_delay);
  if (const auto funnel = std::filesystem::path(options.out) / "funnel.json"; std::filesystem::exists(funnel)) {
    try {
      report["funnel"] = runtime::read_json(funnel).value("funnel", Json::object());
    } catch (const runtime::InputError&) {
      report["funnel"] = Json::object();
    }
  }
  if (const std::string cut = cut_proofs_text(cut_proofs); !cut.empty()) context.print("\n" + cut + "\n");
  if (!options.html.empty()) write_page(options.html, "status", report);
  if (!options.required_stage.empty() && manifest.statistics(options.required_stage).empty())
    throw runtime::Interrupted(options.out, "stage " + options.required_stage + " is not finished");
}

/// "24 → 6" of a pair of values in the report.
template <class Format>
std::string change(const Json& report, const char* key, Format format) {
  const Json& pair = report.at(key);
  return format(pair.at("before")) + " → " + format(pair.at("after"));
}

/// The measured speedup of the result, "" if it was not timed.
std::string measured_speedup(const Json& report) {
  for (const Json& each : report.value("timing", Json::object()).value("candidates", Json::array())) {
    if (each.at("selected").get<bool>() && each.at("ratio").get<double>() > 0)
      return fmt::format("{:.2f}", each.at("ratio").get<double>());
  }
  return "";
}

/// A row of the table of models.
std::vector<std::string> model_row(const std::string& name, const Json& report) {
  const Json& cost = report.at("cost_seconds");
  const double before = cost.at("before"), after = cost.at("after");
  const auto count = [](const Json& number) { return format_count(number.get<std::uint64_t>()); };
  const auto time = [](const Json& seconds) { return runtime::format_seconds(seconds.get<double>()); };
  const auto bytes = [](const Json& number) { return runtime::format_bytes(number.get<std::uint64_t>()); };
  return {name,
          change(report, "onnx_nodes", count),
          measured_speedup(report),
          change(report, "cost_seconds", time),
          after > 0 ? fmt::format("{:.2f}", before / after) : "",
          change(report, "initializer_bytes", bytes),
          report.at("changed").get<bool>() ? "improved" : "unchanged"};
}

/// Columns of the table of models: the measured ratio of times, then the costs by the model and their ratio.
const std::vector<std::string> model_columns = {"model", "nodes", "measured", "cost", "gain", "weights", "result"};

void show_models(Context& context, const std::filesystem::path& out, const std::string& html) {
  std::istringstream list(runtime::read_file(out / "models.txt"));
  TextTable table(model_columns);
  Json cells = Json::array();
  const auto add_row = [&](std::vector<std::string> row) {
    cells.push_back(row);
    table.add(std::move(row));
  };
  Json& rows = context.report["models"] = Json::array();
  std::size_t done = 0;
  for (std::string model; std::getline(list, model);) {
    const std::string name = runtime::make_printable(std::filesystem::path(model).stem().string());
    const auto file = out / "reports" / (name + ".json");
    try {
      const Json report = runtime::read_json(file);
      add_row(model_row(name, report));
      rows.push_back({{"model", model}, {"report", report}});
      ++done;
    } catch (const runtime::Error&) {
      add_row({name, "", "", "", "", "", "no report"});
      rows.push_back({{"model", model}, {"report", nullptr}});
    } catch (const Json::exception&) {
      add_row({name, "", "", "", "", "", "incomplete report"});
      rows.push_back({{"model", model}, {"report", nullptr}});
    }
  }
  context.print(table.text());
  const std::string state =
      fmt::format("{} of {} models have a report; logs are in {}", done, rows.size(), (out / "logs").string());
  context.print("\n" + state + "\n");
  if (!html.empty())
    write_page(html, "status",
               {{"folder", out.string()}, {"state", state}, {"columns", model_columns}, {"models", std::move(cells)}});
}

void show_status(Context& context, const StatusOptions& options) {
  const std::filesystem::path out = options.out;
  if (std::filesystem::exists(out / "models.txt")) return show_models(context, out, options.html);
  if (!std::filesystem::exists(out / "manifest.json") && read_runs(out).empty())
    throw runtime::InputError(options.out, "contains no run; expected manifest.json or models.txt");
  show_run(context, options);
}

}  // namespace

void add_status(CLI::App& app, Options& options, Command& chosen) {
  auto* status =
      app.add_subcommand("status", "Show the progress of a run, or the results of an array of optimizations");
  auto given = std::make_shared<StatusOptions>();
  std::vector<std::string> stages;
  for (const pipeline::StageStep& stage : pipeline::stages) stages.emplace_back(stage.name);
  options.files
      .reads(status->add_option("OUT", given->out, "output folder of `discover` or of an array of optimizations"),
             PathKind::Run)
      ->required();
  options.files.writes(status->add_option(
      "--html", given->html,
      "write an HTML page with the timeline and the funnel of the run, or with the table of models"));
  status->add_option("--require-stage", given->required_stage, "exit with code 4 unless this stage is finished")
      ->check(one_of("stage", stages));
  add_common_options(*status, options);
  choose_on_first_rank(*status, chosen, show_status, given);
}

}  // namespace rulemill::cli
