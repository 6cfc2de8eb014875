#include "optimize/verify/model_timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "runtime/process/run_program.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

/// Returns the start of the output in quotes, on one line.
std::string quoted(const std::string& output) {
  std::string text = output.substr(0, 60);
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' '; }, ' ');
  return "'" + text + (output.size() > text.size() ? "…'" : "'");
}

/// Returns nullopt unless the whole text is one positive number.
std::optional<double> parse_positive_number(const std::string& output) {
  const std::size_t last = output.find_last_not_of(" \t\r\n");
  if (last == std::string::npos) return std::nullopt;
  const std::string text = output.substr(0, last + 1);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !std::isfinite(value) || value <= 0) return std::nullopt;
  return value;
}

/// Returns the milliseconds that the command prints for a model; nullopt with the reason if it fails.
std::optional<double> run_timing_command(const TimingCommand& command, const std::filesystem::path& model,
                                         std::string& why) {
  const auto limit = std::chrono::milliseconds(static_cast<std::int64_t>(command.timeout * 1000));
  const runtime::ShellResult result = runtime::run_shell_command(command.text, model.string(), limit);
  why = result.failure;
  if (!why.empty()) return std::nullopt;
  const std::optional<double> time = parse_positive_number(result.output);
  if (!time) {
    throw runtime::UsageError("--benchmark-command", fmt::format("'{}' printed {}: expected one positive number, "
                                                                 "milliseconds",
                                                                 command.text, quoted(result.output)));
  }
  return time;
}

}  // namespace

double time_by_command(const TimingCommand& command, const std::filesystem::path& model) {
  std::string why;
  if (const std::optional<double> time = run_timing_command(command, model, why)) return *time;
  throw runtime::UsageError("--benchmark-command",
                            fmt::format("'{}' did not time {}: {}", command.text, model.string(), why));
}

ModelTimer::Opening CommandTimer::open() {
  const runtime::Stopwatch watch;
  time_by_command(command_, models_[0]);
  return {{""}, std::vector<std::string>(models_.size()), 0, watch.seconds(), 1};
}

ModelTimer::Round CommandTimer::time_round(std::span<const std::size_t> order, std::size_t, Copies) {
  const runtime::Stopwatch watch;
  Round round;
  for (const std::size_t number : order) {
    std::string why;
    std::vector<double> times;
    if (number == 0) {
      times.push_back(time_by_command(command_, models_[0]));
    } else if (const auto time = run_timing_command(command_, models_[number], why)) {
      times.push_back(*time);
    }
    round.milliseconds.push_back(std::move(times));
    round.failures.push_back(std::move(why));
  }
  round.seconds = watch.seconds();
  return round;
}

namespace {

using runtime::Json;

constexpr std::size_t max_turns_of_a_round = 9;
/// A run that takes this many times as long as expected counts as hanging.
constexpr double max_overrun_of_a_query = 20;

std::uint64_t total_bytes(const std::vector<std::filesystem::path>& models) {
  std::uint64_t bytes = 0;
  for (const auto& model : models) bytes += model_bytes_on_disk(model);
  return 2 * bytes;  // loaded ones and fresh copies
}

}  // namespace

OnnxruntimeTimer::OnnxruntimeTimer(OnnxruntimeTimerOptions options, std::vector<std::filesystem::path> models,
                                   RuntimeInputs inputs)
    : options_(std::move(options)),
      models_(std::move(models)),
      inputs_(std::move(inputs)),
      process_(options_.helper, total_bytes(models_), options_.runtime),
      runtime_name_(process_.name()) {}

std::string OnnxruntimeTimer::name() const {
  return fmt::format("{}, {} thread{}", runtime_name_, options_.threads, options_.threads == 1 ? "" : "s");
}

Json OnnxruntimeTimer::answer(const Json& query, double timeout) {
  std::optional<Json> answer;
  try {
    answer = process_.answer(query, timeout);
  } catch (const Json::exception&) {
    throw runtime::Error("", malformed_answer);
  }
  if (!answer) throw runtime::Error("", "its process ended: " + process_.end_reason());
  if (answer->contains("failure")) throw runtime::Error("", answer->at("failure").get<std::string>());
  return std::move(*answer);
}

ModelTimer::Opening OnnxruntimeTimer::open() {
  Json query = {{"model", std::filesystem::absolute(models_[0]).string()},
                {"runtime", options_.runtime},
                {"threads", options_.threads}};
  add_inputs(query, inputs_);
  Opening opening;
  opening.max_turns = max_turns_of_a_round;
  runtime::Stopwatch watch;
  try {
    const Json opened = answer(query, options_.timeout);
    runtime_name_ = process_.runtime_name(opened);
    opening.inputs = opened.at("inputs").get<std::vector<std::string>>();
    opening.load_seconds = opened.at("load_seconds");
    opening.run_seconds = opened.at("run_seconds");
    if (opening.inputs.empty()) throw runtime::Error("", malformed_answer);
    input_count_ = opening.inputs.size();
    opening.failures.emplace_back();
    open_seconds_ = watch.lap();
    for (std::size_t number = 1; number < models_.size(); ++number) {
      const Json loaded = answer({{"candidate", std::filesystem::absolute(models_[number]).string()}},
                                 std::max(options_.timeout, max_overrun_of_a_query * open_seconds_));
      opening.failures.push_back(loaded.at("reason").get<std::string>());
      open_seconds_ = std::max(open_seconds_, watch.lap());
    }
  } catch (const Json::exception&) {
    throw runtime::Error("", malformed_answer);
  }
  return opening;
}

ModelTimer::Round OnnxruntimeTimer::time_round(std::span<const std::size_t> order, std::size_t turns, Copies copies) {
  const double expected = open_seconds_ * static_cast<double>(order.size() * turns);
  try {
    const Json times = answer(
        {{"round", std::vector(order.begin(), order.end())}, {"turns", turns}, {"fresh", copies == Copies::Fresh}},
        std::max(options_.timeout, max_overrun_of_a_query * expected));
    Round round{times.at("milliseconds").get<std::vector<std::vector<double>>>(),
                std::vector<std::string>(order.size()), times.at("seconds").get<double>()};
    const bool is_complete =
        round.milliseconds.size() == order.size() && std::ranges::all_of(round.milliseconds, [&](const auto& row) {
          return row.size() == input_count_ && std::ranges::all_of(row, [](double time) { return time > 0; });
        });
    if (!is_complete) throw runtime::Error("", malformed_answer);
    return round;
  } catch (const Json::exception&) {
    throw runtime::Error("", malformed_answer);
  }
}

}  // namespace rulemill::optimize
