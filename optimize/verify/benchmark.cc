#include "optimize/verify/benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "optimize/verify/onnxruntime.h"
#include "runtime/process/shell_command.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

namespace {

using runtime::Json;

/// The largest probability of a speedup by chance that counts as significant.
constexpr double max_p_value = 0.01;
/// Rounds with the user's command, which may be slow.
constexpr std::size_t command_rounds = min_rounds;

/// Returns a quantile of sorted values by linear interpolation.
double quantile(const std::vector<double>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return quantile(values, 0.5);
}

/// Returns P(at most `few` heads in n throws of a coin).
double binomial_tail(std::size_t few, std::size_t n) {
  double term = std::pow(0.5, static_cast<double>(n)), total = 0;
  for (std::size_t k = 0; k <= few; ++k) {
    total += term;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  return total;
}

/// Returns true if the median exceeds one by more than the noise and a sign test is significant.
bool is_significantly_above_one(const std::vector<double>& sorted, double noise) {
  const auto not_above = static_cast<std::size_t>(std::ranges::upper_bound(sorted, 1.0) - sorted.begin());
  return quantile(sorted, 0.5) > 1 + noise && binomial_tail(not_above, sorted.size()) <= max_p_value;
}

/// Returns the speedups of a candidate by round. The model's time is the geometric mean of its two runs.
std::vector<double> speedups(const RoundTimes& rounds, std::size_t model) {
  const auto& times = rounds.milliseconds;
  std::vector<double> result;
  for (std::size_t r = 0; r < times[model].size(); ++r) {
    result.push_back(std::sqrt(times[0][r] * times[1][r]) / times[model][r]);
  }
  return result;
}

double measure_noise(std::span<const RoundTimes> rounds) {
  double noise = min_noise;
  for (const RoundTimes& each : rounds) {
    std::vector<double> same;
    for (std::size_t r = 0; r < each.milliseconds[0].size(); ++r) {
      same.push_back(each.milliseconds[0][r] / each.milliseconds[1][r]);
    }
    noise = std::max(noise, std::fabs(median(same) - 1));
  }
  return noise;
}

CandidateTimes compare_candidate(std::span<const RoundTimes> rounds, std::size_t model, double noise) {
  CandidateTimes timed;
  std::vector<double> combined(rounds[0].milliseconds[model].size(), 1);  // geometric mean over the shapes
  bool slower_somewhere = false;
  for (const RoundTimes& each : rounds) {
    const std::vector<double> speedup = speedups(each, model);
    if (speedup.empty()) {
      timed.failure = "it does not run";
      return timed;
    }
    slower_somewhere = slower_somewhere || median(speedup) < 1 - noise;
    combined.resize(std::min(combined.size(), speedup.size()));
    for (std::size_t r = 0; r < combined.size(); ++r) {
      combined[r] *= std::pow(speedup[r], 1 / static_cast<double>(rounds.size()));
    }
  }
  timed.milliseconds = median(rounds[0].milliseconds[model]);
  timed.speedups = combined;
  std::ranges::sort(combined);
  timed.speedup = quantile(combined, 0.5);
  timed.lower = quantile(combined, 0.25);
  timed.upper = quantile(combined, 0.75);
  timed.faster = !slower_somewhere && is_significantly_above_one(combined, noise);
  return timed;
}

BenchmarkResult skipped(const std::string& why, bool runtime_failed = false) {
  BenchmarkResult result;
  result.skipped_reason = why;
  result.runtime_failed = runtime_failed;
  return result;
}

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
std::optional<double> run_command(const BenchmarkOptions& options, const std::filesystem::path& model,
                                  std::string& why) {
  const auto limit = std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout * 1000));
  const runtime::ShellResult result = runtime::run_shell_command(options.command, model.string(), limit);
  why = result.failure;
  if (!why.empty()) return std::nullopt;
  const std::optional<double> time = parse_positive_number(result.output);
  if (!time) {
    throw runtime::UsageError("--benchmark-command",
                              fmt::format("'{}' printed {}: expected one positive number, milliseconds",
                                          options.command, quoted(result.output)));
  }
  return time;
}

double run_command_on_model(const BenchmarkOptions& options, const std::filesystem::path& model) {
  std::string why;
  if (const std::optional<double> time = run_command(options, model, why)) return *time;
  throw runtime::UsageError("--benchmark-command",
                            fmt::format("'{}' did not time {}: {}", options.command, model.string(), why));
}

BenchmarkResult time_by_command(const std::filesystem::path& model, std::span<const std::filesystem::path> candidates,
                                const BenchmarkOptions& options) {
  RoundTimes rounds;
  rounds.milliseconds.resize(2 + candidates.size());
  std::vector<std::string> failures(candidates.size());
  for (std::size_t round = 0; round < command_rounds; ++round) {
    for (std::size_t turn = 0; turn < rounds.milliseconds.size(); ++turn) {
      const std::size_t each = round % 2 == 0 ? turn : rounds.milliseconds.size() - 1 - turn;
      if (each < 2) {
        rounds.milliseconds[each].push_back(run_command_on_model(options, model));
      } else if (std::string& why = failures[each - 2]; why.empty()) {
        if (const auto time = run_command(options, candidates[each - 2], why))
          rounds.milliseconds[each].push_back(*time);
      }
    }
  }
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    if (!failures[c].empty()) rounds.milliseconds[2 + c].clear();
  }
  BenchmarkResult result = compare_times(std::span(&rounds, 1));
  for (std::size_t c = 0; c < candidates.size(); ++c) result.candidates[c].failure = failures[c];
  result.runner = "'" + options.command + "'";
  return result;
}

std::vector<RoundTimes> read_rounds(const Json& answer) {
  std::vector<RoundTimes> rounds;
  for (const Json& each : answer.at("rounds")) {
    rounds.push_back({each.at("shapes"), each.at("milliseconds").get<std::vector<std::vector<double>>>()});
  }
  return rounds;
}

bool is_complete(const std::vector<RoundTimes>& rounds, std::size_t models) {
  return !rounds.empty() && std::ranges::all_of(rounds, [&](const RoundTimes& each) {
    const auto& times = each.milliseconds;
    return times.size() == models && times[0].size() >= min_rounds &&
           std::ranges::all_of(times,
                               [&](const auto& row) {
                                 return (row.empty() || (row.size() >= min_rounds && row.size() <= times[0].size())) &&
                                        std::ranges::all_of(row, [](double t) { return t > 0; });
                               }) &&
           !times[1].empty();
  });
}

BenchmarkResult time_by_helper(const std::filesystem::path& model, std::span<const std::filesystem::path> candidates,
                               const BenchmarkOptions& options, const InputShapes& input_shapes) {
  Json query = {{"models", Json::array()},
                {"threads", options.threads},
                {"seconds", options.seconds},
                {"min_rounds", min_rounds},
                {"shapes", Json::object()}};
  std::uint64_t bytes = 2 * model_bytes_on_disk(model);
  for (int twice = 0; twice < 2; ++twice) query["models"].push_back(std::filesystem::absolute(model).string());
  for (const auto& candidate : candidates) {
    query["models"].push_back(std::filesystem::absolute(candidate).string());
    bytes += model_bytes_on_disk(candidate);
  }
  for (const auto& [input, dims] : input_shapes) query["shapes"][input] = dims;
  std::string why;
  const auto answer = query_onnxruntime({options.helper, options.timeout, bytes}, query, why);
  if (!answer) return skipped(why);
  if (!answer->failure.empty()) return skipped(answer->failure, true);
  try {
    if (answer->json.contains("failure")) return skipped(answer->json.at("failure"), true);
    const std::vector<RoundTimes> rounds = read_rounds(answer->json);
    if (!is_complete(rounds, 2 + candidates.size())) return skipped("its helper process sent a malformed answer", true);
    BenchmarkResult result = compare_times(rounds);
    for (const auto& [index, failure] : answer->json.at("failures").items()) {
      result.candidates.at(std::stoul(index) - 2).failure = failure;
    }
    result.runner = fmt::format("{}, {} thread{}", answer->name, options.threads, options.threads == 1 ? "" : "s");
    return result;
  } catch (const std::exception&) {
    return skipped("its helper process sent a malformed answer", true);
  }
}

}  // namespace

BenchmarkResult compare_times(std::span<const RoundTimes> rounds) {
  RM_CHECK(!rounds.empty() && rounds[0].milliseconds.size() >= 2, "the model is timed twice");
  BenchmarkResult result;
  for (const RoundTimes& each : rounds) result.shapes += (result.shapes.empty() ? "" : "; ") + each.shapes;
  result.rounds = rounds[0].milliseconds[0].size();
  std::vector<double> both = rounds[0].milliseconds[0];
  both.insert(both.end(), rounds[0].milliseconds[1].begin(), rounds[0].milliseconds[1].end());
  result.milliseconds = median(both);
  result.noise = measure_noise(rounds);
  for (std::size_t model = 2; model < rounds[0].milliseconds.size(); ++model) {
    result.candidates.push_back(compare_candidate(rounds, model, result.noise));
  }
  return result;
}

bool is_significantly_faster(const CandidateTimes& one, const CandidateTimes& other, double noise) {
  std::vector<double> quotients;
  for (std::size_t r = 0; r < std::min(one.speedups.size(), other.speedups.size()); ++r)
    quotients.push_back(one.speedups[r] / other.speedups[r]);
  std::ranges::sort(quotients);
  return !quotients.empty() && is_significantly_above_one(quotients, noise);
}

BenchmarkResult benchmark_models(const std::filesystem::path& model, std::span<const std::filesystem::path> candidates,
                                 const BenchmarkOptions& options, const InputShapes& input_shapes) {
  if (!options.enabled) return skipped("--no-benchmark");
  if (!options.command.empty()) return time_by_command(model, candidates, options);
  return time_by_helper(model, candidates, options, input_shapes);
}

void try_benchmark_command(const std::filesystem::path& model, const BenchmarkOptions& options) {
  if (options.enabled && !options.command.empty()) run_command_on_model(options, model);
}

}  // namespace rulemill::optimize
