// `rulemill status OUT`: how far the run in an output folder is and what is left, or what became of the models of an
// array.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <optional>
#include <sstream>

#include "cli/command.h"
#include "cli/run_events.h"
#include "cli/text_table.h"
#include "dedup/join.h"
#include "fingerprint/shards.h"
#include "prove/farm/prune.h"
#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/manifest.h"
#include "runtime/printable.h"
#include "runtime/quantity.h"

namespace rulemill::cli {
namespace {

using runtime::Json;
using runtime::with_commas;

constexpr const char* stage_names[] = {fingerprint::fingerprint_stage, dedup::join_stage, prove::prove_stage,
                                       prove::prune_stage};
constexpr double same_run = 60;  // seconds within which the ranks of a run begin
constexpr double silence = 120;  // seconds after which a run on another machine is taken to be gone

struct Inputs {
  std::string out;
  std::string html;
  std::string require;
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

/// Whether the first rank is there: asked of this machine, or guessed from when it was last heard.
bool goes_on(const RankRun& run) {
  if (!run.outcome.empty()) return false;
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  if (run.facts.value("host", "") != host) return now() - run.last < silence;
  const int pid = run.facts.value("pid", 0);
  return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM);
}

const RankRun* last_run(const std::vector<RankRun>& runs) {
  const RankRun* last = nullptr;
  for (const RankRun& run : runs) {
    if (run.rank == 0) last = &run;
  }
  return last;
}

std::string state_of(const RankRun& run, bool running) {
  const int ranks = run.facts.value("ranks", 1);
  const std::string job = run.facts.value("job", "");
  const std::string where = fmt::format("{}{}, {}", job.empty() ? "" : "job " + job + ", ", run.facts.value("host", ""),
                                        ranks == 1 ? "one process" : fmt::format("{} ranks", ranks));
  const double took = run.last - run.begin;
  if (running) {
    return fmt::format("running since {} ({}), last heard of {} ago", at(run.begin), where,
                       runtime::in_seconds(std::max(0.0, now() - run.last)));
  }
  if (run.outcome == "end")
    return fmt::format("done at {} after {} ({})", at(run.last), runtime::in_seconds(took), where);
  if (run.outcome == "stopped") return fmt::format("stopped at {} ({}): {}", at(run.last), where, run.message);
  return fmt::format("gone without a word after {} ({}): killed, or its node failed", at(run.last), where);
}

/// "423 of 1,227 (34%), about 12 s left".
std::string progress_of(const Json& progress) {
  const auto done = progress.value("done", std::uint64_t{0}), total = progress.value("total", std::uint64_t{0});
  const double seconds = progress.value("seconds", 0.0);
  std::string text = with_commas(done);
  if (total > 0) text += fmt::format(" of {} ({}%)", with_commas(total), 100 * done / total);
  if (total > done && done > 0)
    text += ", about " + runtime::in_seconds(seconds * static_cast<double>(total - done) / static_cast<double>(done)) +
            " left";
  return text;
}

/// What a rank's helpers did of a stage, as the first rank tells it of the run that began at about the same time.
Json helpers_of(const std::vector<RankRun>& runs, const RankRun& run, const std::string& stage) {
  const auto rank = static_cast<std::size_t>(run.rank);
  for (const RankRun& first : runs) {
    if (first.rank != 0 || std::abs(first.begin - run.begin) > same_run) continue;
    for (const RankRun::Stage& told : first.stages) {
      if (told.name == stage && told.helpers.is_array() && rank < told.helpers.size()) return told.helpers[rank];
    }
  }
  return Json::object();
}

/// Time, bytes and balance by stage and rank, of the runs in which the stage was worked on.
Json balance(const std::vector<RankRun>& runs) {
  Json rows = Json::array();
  for (const RankRun& run : runs) {
    for (const RankRun::Stage& stage : run.stages) {
      if (stage.figures.value("already_done", false)) continue;
      Json row = {{"stage", stage.name},
                  {"rank", run.rank},
                  {"run", run.begin},
                  {"begin", stage.begin},
                  {"seconds", stage.end - stage.begin},
                  {"finished", stage.finished}};
      for (const char* key : {"waiting", "bytes_sent", "memory", "idle"}) {
        if (stage.figures.contains(key)) row[key] = stage.figures[key];
      }
      const Json helpers = helpers_of(runs, run, stage.name);
      for (const char* key : {"busy_seconds", "idle_seconds"}) {
        if (helpers.contains(key)) row[key] = helpers[key];
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

void print_balance(Context& context, const Json& rows, double since) {
  TextTable table({"stage", "rank", "time", "waiting", "helpers busy", "idle", "sent", "peak memory"});
  const auto seconds_or_nothing = [](const Json& row, const char* key) {
    return row.contains(key) ? runtime::in_seconds(row[key]) : std::string();
  };
  for (const Json& row : rows) {
    if (row["run"] < since || !row.contains("memory")) continue;
    table.add({row["stage"], std::to_string(row["rank"].get<int>()), runtime::in_seconds(row["seconds"]),
               runtime::in_seconds(row.value("waiting", 0.0)), seconds_or_nothing(row, "busy_seconds"),
               seconds_or_nothing(row, "idle_seconds"), runtime::in_bytes(row.value("bytes_sent", std::uint64_t{0})),
               runtime::in_bytes(row.value("memory", std::uint64_t{0}))});
  }
  if (!table.empty()) context.print("\n" + table.text());
}

void write_page(const Context& context, const std::string& path) {
  const std::filesystem::path frame_file = data_folder() / "gallery" / "run.html";
  const std::string frame = runtime::read_file(frame_file), mark = "\"RUN\"";
  const std::size_t place = frame.find(mark);
  if (place == std::string::npos)
    throw runtime::InputError(frame_file.string(), "has no mark " + mark + " for the run");
  std::string json;
  for (const char c : context.report.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<')
      json += "\\u003c";
    else
      json += c;
  }
  runtime::write_file(path, frame.substr(0, place) + json + frame.substr(place + mark.size()));
}

std::string stage_state(const runtime::Manifest& manifest, const std::string& stage, const RankRun* run, bool running) {
  if (!manifest.figures(stage).empty()) return "done";
  const bool at_it =
      running && !run->stages.empty() && run->stages.back().name == stage && !run->stages.back().finished;
  std::string state = at_it ? "running" : manifest.inputs_digest(stage).empty() ? "to do" : "begun";
  if (at_it && run->progress.is_object()) state += ", " + progress_of(run->progress);
  return state;
}

/// What the first rank spent on a stage, in all runs; in the stage's own run if there are no events.
std::optional<double> seconds_of(const Json& rows, const runtime::Manifest& manifest, const std::string& stage) {
  double all = 0;
  for (const Json& row : rows) {
    if (row["rank"] == 0 && row["stage"] == stage) all += row["seconds"].get<double>();
  }
  if (all > 0) return all;
  const auto figures = manifest.figures(stage);
  const auto found = figures.find("seconds");
  if (found == figures.end() || !std::holds_alternative<double>(found->second)) return std::nullopt;
  return std::get<double>(found->second);
}

void show_run(Context& context, const Inputs& inputs) {
  const runtime::Manifest manifest(inputs.out);
  const std::vector<RankRun> runs = read_runs(inputs.out);
  const RankRun* run = last_run(runs);
  const bool running = run != nullptr && goes_on(*run);
  Json& report = context.report;
  report["folder"] = inputs.out;
  if (run != nullptr) {
    report["profile"] = run->facts.value("profile", "");
    report["state"] = state_of(*run, running);
    report["running"] = running;
    context.print(inputs.out + ": " + run->facts.value("profile", "") +
                  fmt::format(", {} operators\n", run->facts.value("max_ops", 0)) + state_of(*run, running) + "\n\n");
  }
  report["ranks"] = balance(runs);
  TextTable table({"stage", "state", "time"});
  for (const char* stage : stage_names) {
    const std::string state = stage_state(manifest, stage, run, running);
    const std::optional<double> seconds = seconds_of(report["ranks"], manifest, stage);
    table.add({stage, state, seconds ? runtime::in_seconds(*seconds) : ""});
    report["stages"].push_back({{"name", stage}, {"state", state}});
    if (seconds) report["stages"].back()["seconds"] = *seconds;
  }
  context.print(table.text());
  if (run != nullptr) print_balance(context, report["ranks"], run->begin - same_run);
  if (const auto funnel = std::filesystem::path(inputs.out) / "funnel.json"; std::filesystem::exists(funnel)) {
    try {
      report["funnel"] = runtime::read_json(funnel).value("funnel", Json::object());
    } catch (const runtime::InputError&) {
      report["funnel"] = Json::object();
    }
  }
  if (!inputs.html.empty()) write_page(context, inputs.html);
  if (!inputs.require.empty() && manifest.figures(inputs.require).empty())
    throw runtime::Interrupted(inputs.out, "stage " + inputs.require + " is not finished");
}

/// "24 → 6" of a pair of numbers in the report.
template <class Show>
std::string change(const Json& report, const char* key, Show show) {
  const Json& pair = report.at(key);
  return show(pair.at("before")) + " → " + show(pair.at("after"));
}

/// A row of the table of models; what there is to say of one without a report.
std::vector<std::string> model_row(const std::string& name, const Json& report) {
  const Json& cost = report.at("cost_seconds");
  const double before = cost.at("before"), after = cost.at("after");
  const auto count = [](const Json& number) { return with_commas(number.get<std::uint64_t>()); };
  const auto time = [](const Json& seconds) { return runtime::in_seconds(seconds.get<double>()); };
  const auto bytes = [](const Json& number) { return runtime::in_bytes(number.get<std::uint64_t>()); };
  return {name,
          change(report, "onnx_nodes", count),
          change(report, "cost_seconds", time),
          after > 0 ? fmt::format("{:.2f}", before / after) : "",
          change(report, "initializer_bytes", bytes),
          report.at("changed").get<bool>() ? "faster" : "as it was"};
}

void show_models(Context& context, const std::filesystem::path& out) {
  std::istringstream list(runtime::read_file(out / "models.txt"));
  TextTable table({"model", "nodes", "cost", "gain", "weights", "outcome"});
  Json& rows = context.report["models"] = Json::array();
  std::size_t done = 0;
  for (std::string model; std::getline(list, model);) {
    const std::string name = runtime::printable(std::filesystem::path(model).stem().string());
    const auto file = out / "reports" / (name + ".json");
    try {
      const Json report = runtime::read_json(file);
      table.add(model_row(name, report));
      rows.push_back({{"model", model}, {"report", report}});
      ++done;
    } catch (const runtime::Error&) {
      table.add({name, "", "", "", "", "no report"});
      rows.push_back({{"model", model}, {"report", nullptr}});
    } catch (const Json::exception&) {
      table.add({name, "", "", "", "", "report without figures"});
      rows.push_back({{"model", model}, {"report", nullptr}});
    }
  }
  context.print(table.text());
  context.print(
      fmt::format("\n{} of {} models; the log of each is in {}\n", done, rows.size(), (out / "logs").string()));
}

void show_status(Context& context, const Inputs& inputs) {
  const std::filesystem::path out = inputs.out;
  if (std::filesystem::exists(out / "models.txt")) return show_models(context, out);
  if (!std::filesystem::exists(out / "manifest.json") && read_runs(out).empty())
    throw runtime::InputError(inputs.out, "holds no run: neither manifest.json nor models.txt is there");
  show_run(context, inputs);
}

}  // namespace

void add_status(CLI::App& app, Options& options, Command& chosen) {
  auto* status = app.add_subcommand("status", "Say how far a run is and what is left, or what became of many models");
  auto inputs = std::make_shared<Inputs>();
  status->add_option("OUT", inputs->out, "output folder of discover, or of an array of optimizations")->required();
  status->add_option("--html", inputs->html, "write a page of the run with its timeline and funnel");
  status->add_option("--require", inputs->require, "exit with 4 unless this stage is finished")
      ->check(CLI::IsMember({stage_names[0], stage_names[1], stage_names[2], stage_names[3]}));
  add_common_options(*status, options);
  status->callback([inputs, &chosen] {
    chosen = [inputs](Context& context) { on_first_rank(context.world, [&] { show_status(context, *inputs); }); };
  });
}

}  // namespace rulemill::cli
