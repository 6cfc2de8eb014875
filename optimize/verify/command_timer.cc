#include "optimize/verify/command_timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
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

}  // namespace rulemill::optimize
