#include "optimize/timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "optimize/onnxruntime.h"
#include "runtime/error.h"
#include "runtime/shell_command.h"

namespace rulemill::optimize {

namespace {

using runtime::Json;

/// How often chance alone may make a candidate faster in as many rounds.
constexpr double chance = 0.01;
/// Rounds of the user's command, each of which may take long.
constexpr std::size_t command_rounds = least_rounds;

/// Of sorted values, by linear interpolation.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return quantile(values, 0.5);
}

/// P(at most `few` heads in n throws of a coin).
double binomial_tail(std::size_t few, std::size_t n) {
  double term = std::pow(0.5, static_cast<double>(n)), total = 0;
  for (std::size_t k = 0; k <= few; ++k) {
    total += term;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  return total;
}

/// By more than the noise in the middle, and in so many rounds that chance does not do it.
bool above_one(const std::vector<double>& sorted, double noise) {
  const auto not_above = static_cast<std::size_t>(std::ranges::upper_bound(sorted, 1.0) - sorted.begin());
  return quantile(sorted, 0.5) > 1 + noise && binomial_tail(not_above, sorted.size()) <= chance;
}

/// The model's time in a round is the geometric mean of its two runs.
std::vector<double> ratios(const Rounds& rounds, std::size_t model) {
  const auto& times = rounds.milliseconds;
  std::vector<double> result;
  for (std::size_t r = 0; r < times[model].size(); ++r) {
    result.push_back(std::sqrt(times[0][r] * times[1][r]) / times[model][r]);
  }
  return result;
}

double noise_of(std::span<const Rounds> rounds) {
  double noise = least_noise;
  for (const Rounds& each : rounds) {
    std::vector<double> same;
    for (std::size_t r = 0; r < each.milliseconds[0].size(); ++r) {
      same.push_back(each.milliseconds[0][r] / each.milliseconds[1][r]);
    }
    noise = std::max(noise, std::fabs(median(same) - 1));
  }
  return noise;
}

Timed evaluate_candidate(std::span<const Rounds> rounds, std::size_t model, double noise) {
  Timed timed;
  std::vector<double> combined(rounds[0].milliseconds[model].size(), 1);  // geometric mean over the shapes
  bool slower_somewhere = false;
  for (const Rounds& each : rounds) {
    const std::vector<double> ratio = ratios(each, model);
    if (ratio.empty()) {
      timed.failure = "it does not run";
      return timed;
    }
    slower_somewhere = slower_somewhere || median(ratio) < 1 - noise;
    combined.resize(std::min(combined.size(), ratio.size()));
    for (std::size_t r = 0; r < combined.size(); ++r) {
      combined[r] *= std::pow(ratio[r], 1 / static_cast<double>(rounds.size()));
    }
  }
  timed.milliseconds = median(rounds[0].milliseconds[model]);
  timed.ratios = combined;
  std::ranges::sort(combined);
  timed.ratio = quantile(combined, 0.5);
  timed.lower = quantile(combined, 0.25);
  timed.upper = quantile(combined, 0.75);
  timed.faster = !slower_somewhere && above_one(combined, noise);
  return timed;
}

Timing not_timed(const std::string& why, bool broken = false) {
  Timing timing;
  timing.absent = why;
  timing.broken = broken;
  return timing;
}

/// One line for messages.
std::string shown(const std::string& output) {
  std::string text = output.substr(0, 60);
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' '; }, ' ');
  return "'" + text + (output.size() > text.size() ? "…'" : "'");
}

/// All of the text is one positive number.
std::optional<double> number_in(const std::string& output) {
  const std::size_t last = output.find_last_not_of(" \t\r\n");
  if (last == std::string::npos) return std::nullopt;
  const std::string text = output.substr(0, last + 1);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !std::isfinite(value) || value <= 0) return std::nullopt;
  return value;
}

/// Milliseconds that the command says for a model, or how it failed.
std::optional<double> ask_command(const TimingOptions& options, const std::filesystem::path& model, std::string& why) {
  const auto limit = std::chrono::milliseconds(static_cast<std::int64_t>(options.patience * 1000));
  const runtime::ShellResult result = runtime::run_shell_command(options.command, model.string(), limit);
  why = result.failure;
  if (!why.empty()) return std::nullopt;
  const std::optional<double> time = number_in(result.output);
  if (!time) {
    throw runtime::UsageError("--time-with", fmt::format("'{}' printed {}: expected one positive number, milliseconds",
                                                         options.command, shown(result.output)));
  }
  return time;
}

double ask_command_on_model(const TimingOptions& options, const std::filesystem::path& model) {
  std::string why;
  if (const std::optional<double> time = ask_command(options, model, why)) return *time;
  throw runtime::UsageError("--time-with",
                            fmt::format("'{}' did not time {}: {}", options.command, model.string(), why));
}

Timing time_by_command(const std::filesystem::path& model, std::span<const std::filesystem::path> candidates,
                       const TimingOptions& options) {
  Rounds rounds;
  rounds.milliseconds.resize(2 + candidates.size());
  std::vector<std::string> failures(candidates.size());
  for (std::size_t round = 0; round < command_rounds; ++round) {
    for (std::size_t turn = 0; turn < rounds.milliseconds.size(); ++turn) {
      const std::size_t each = round % 2 == 0 ? turn : rounds.milliseconds.size() - 1 - turn;
      if (each < 2) {
        rounds.milliseconds[each].push_back(ask_command_on_model(options, model));
      } else if (std::string& why = failures[each - 2]; why.empty()) {
        if (const auto time = ask_command(options, candidates[each - 2], why))
          rounds.milliseconds[each].push_back(*time);
      }
    }
  }
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    if (!failures[c].empty()) rounds.milliseconds[2 + c].clear();
  }
  Timing timing = evaluate(std::span(&rounds, 1));
  for (std::size_t c = 0; c < candidates.size(); ++c) timing.candidates[c].failure = failures[c];
  timing.by = "'" + options.command + "'";
  return timing;
}

std::vector<Rounds> read_rounds(const Json& answer) {
  std::vector<Rounds> rounds;
  for (const Json& each : answer.at("rounds")) {
    rounds.push_back({each.at("shapes"), each.at("milliseconds").get<std::vector<std::vector<double>>>()});
  }
  return rounds;
}

bool complete(const std::vector<Rounds>& rounds, std::size_t models) {
  return !rounds.empty() && std::ranges::all_of(rounds, [&](const Rounds& each) {
    const auto& times = each.milliseconds;
    return times.size() == models && times[0].size() >= least_rounds &&
           std::ranges::all_of(
               times,
               [&](const auto& row) {
                 return (row.empty() || (row.size() >= least_rounds && row.size() <= times[0].size())) &&
                        std::ranges::all_of(row, [](double t) { return t > 0; });
               }) &&
           !times[1].empty();
  });
}

Timing time_by_helper(const std::filesystem::path& model, std::span<const std::filesystem::path> candidates,
                      const TimingOptions& options) {
  Json question = {{"models", Json::array()},
                   {"threads", options.threads},
                   {"seconds", options.seconds},
                   {"least_rounds", least_rounds},
                   {"shapes", Json::object()}};
  std::uint64_t bytes = 2 * bytes_on_disk(model);
  for (int twice = 0; twice < 2; ++twice) question["models"].push_back(std::filesystem::absolute(model).string());
  for (const auto& candidate : candidates) {
    question["models"].push_back(std::filesystem::absolute(candidate).string());
    bytes += bytes_on_disk(candidate);
  }
  for (const auto& [input, dims] : options.input_shapes) question["shapes"][input] = dims;
  std::string why;
  const auto answer = ask_onnxruntime({options.helper, options.patience, bytes}, question, why);
  if (!answer) return not_timed(why);
  if (!answer->failure.empty()) return not_timed(answer->failure, true);
  try {
    if (answer->json.contains("failure")) return not_timed(answer->json.at("failure"), true);
    const std::vector<Rounds> rounds = read_rounds(answer->json);
    if (!complete(rounds, 2 + candidates.size())) return not_timed("its helper gives no answer that can be read", true);
    Timing timing = evaluate(rounds);
    for (const auto& [index, failure] : answer->json.at("failures").items()) {
      timing.candidates.at(std::stoul(index) - 2).failure = failure;
    }
    timing.by = fmt::format("{}, {} thread{}", answer->name, options.threads, options.threads == 1 ? "" : "s");
    return timing;
  } catch (const std::exception&) {
    return not_timed("its helper gives no answer that can be read", true);
  }
}

}  // namespace

Timing evaluate(std::span<const Rounds> rounds) {
  RM_CHECK(!rounds.empty() && rounds[0].milliseconds.size() >= 2, "the model is timed twice");
  Timing timing;
  for (const Rounds& each : rounds) timing.shapes += (timing.shapes.empty() ? "" : "; ") + each.shapes;
  timing.rounds = rounds[0].milliseconds[0].size();
  std::vector<double> both = rounds[0].milliseconds[0];
  both.insert(both.end(), rounds[0].milliseconds[1].begin(), rounds[0].milliseconds[1].end());
  timing.milliseconds = median(both);
  timing.noise = noise_of(rounds);
  for (std::size_t model = 2; model < rounds[0].milliseconds.size(); ++model) {
    timing.candidates.push_back(evaluate_candidate(rounds, model, timing.noise));
  }
  return timing;
}

bool surely_faster(const Timed& one, const Timed& other, double noise) {
  std::vector<double> quotients;
  for (std::size_t r = 0; r < std::min(one.ratios.size(), other.ratios.size()); ++r)
    quotients.push_back(one.ratios[r] / other.ratios[r]);
  std::ranges::sort(quotients);
  return !quotients.empty() && above_one(quotients, noise);
}

Timing time_models(const std::filesystem::path& model, std::span<const std::filesystem::path> candidates,
                   const TimingOptions& options) {
  if (!options.wanted) return not_timed("--no-timing");
  if (!options.command.empty()) return time_by_command(model, candidates, options);
  return time_by_helper(model, candidates, options);
}

void try_timing_command(const std::filesystem::path& model, const TimingOptions& options) {
  if (options.wanted && !options.command.empty()) ask_command_on_model(options, model);
}

}  // namespace rulemill::optimize
