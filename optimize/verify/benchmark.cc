#include "optimize/verify/benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "optimize/verify/model_timer.h"
#include "optimize/verify/sequential_test.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"
#include "runtime/text/quantity.h"

namespace rulemill::optimize {
namespace {

/// Fraction of the time in which the candidate to test is chosen.
constexpr double choice_share = 0.3;
constexpr double min_choice_turns = 3, max_choice_turns = 9;
/// Candidates this close to the fastest are equally fast; the first of them is preferred.
constexpr double equal_within = 0.02;
/// A candidate that is slower in the choice is not tested.
constexpr double min_promising_speedup = 0.95;
/// Inputs on which a candidate may not be slower.
constexpr double max_slowdown = 0.99;
/// Rounds of the test that a fast model has time for.
constexpr double planned_rounds = 24;
/// Turns per round that run beyond the planned time if loading the model takes as long.
constexpr double max_turns_beside_loading = 3;
/// Elapsed time of a test on a busy machine, as a multiple of its processor time.
constexpr double max_delay = 4;
/// Rounds that a test may lose and still go on after its time.
constexpr std::size_t max_losses_in_overtime = 1;

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

/// Returns the geometric mean of the times by input, so that a ratio of means is the mean of the ratios.
double mean(const std::vector<double>& times) {
  if (times.size() == 1) return times[0];
  double logarithm = 0;
  for (const double time : times) logarithm += std::log(time);
  return std::exp(logarithm / static_cast<double>(times.size()));
}

/// The rounds of the model and one candidate.
class CandidateTest {
 public:
  CandidateTest(ModelTimer& timer, std::size_t candidate, std::size_t turns)
      : timer_(timer), candidate_(candidate), turns_(turns) {}

  CandidateTimes run(double seconds) {
    const runtime::Stopwatch watch;
    double used = 0;
    while ((used < seconds && watch.seconds() < max_delay * seconds) || may_run_overtime()) {
      CandidateTimes failed;
      failed.failure = run_round(used);
      if (!failed.failure.empty()) return failed;
      if (is_faster() || sign_test_.is_over()) break;
    }
    return result();
  }

 private:
  bool may_run_overtime() const {
    return sign_test_.losses() <= max_losses_in_overtime &&
           sign_test_.rounds() < SequentialSignTest::required_rounds[max_losses_in_overtime];
  }

  /// Returns why the candidate does not run.
  std::string run_round(double& used) {
    std::size_t order[] = {0, candidate_};
    const std::size_t position = random_() % 2;  // of the model
    if (position == 1) std::swap(order[0], order[1]);
    const ModelTimer::Round round = timer_.time_round(order, turns_, ModelTimer::Copies::Fresh);
    used += round.seconds;
    if (const std::string& failure = round.failures[1 - position]; !failure.empty()) return failure;
    const std::vector<double>&model = round.milliseconds[position], &candidate = round.milliseconds[1 - position];
    rounds_.push_back({mean(model), mean(candidate)});
    speedups_by_input_.resize(model.size());
    for (std::size_t i = 0; i < model.size(); ++i) speedups_by_input_[i].push_back(model[i] / candidate[i]);
    sign_test_.add_round(rounds_.back().speedup() > 1);
    return {};
  }

  struct Round {
    double model = 0, candidate = 0;  // milliseconds
    double speedup() const { return model / candidate; }
  };

  /// Returns the rounds in the order of their speedups.
  std::vector<Round> sorted_rounds() const {
    std::vector<Round> sorted = rounds_;
    std::ranges::sort(sorted, {}, &Round::speedup);
    return sorted;
  }

  /// Of an even number of rounds, the slower one in the middle: its two times have its speedup as their ratio.
  static const Round& middle(const std::vector<Round>& sorted) { return sorted[(sorted.size() - 1) / 2]; }

  bool is_faster() const {
    return sign_test_.is_passed() && middle(sorted_rounds()).speedup() >= min_speedup &&
           std::ranges::all_of(speedups_by_input_, [](const auto& each) { return median(each) >= max_slowdown; });
  }

  CandidateTimes result() const {
    const std::vector<Round> sorted = sorted_rounds();
    std::vector<double> speedups;
    for (const Round& each : sorted) speedups.push_back(each.speedup());
    CandidateTimes times{.failure = {},
                         .reason = {},
                         .model_milliseconds = middle(sorted).model,
                         .milliseconds = middle(sorted).candidate,
                         .speedup = middle(sorted).speedup(),
                         .lower = quantile(speedups, 0.25),
                         .upper = quantile(speedups, 0.75),
                         .rounds = sorted.size(),
                         .faster = is_faster()};
    if (!times.faster) {
      times.reason = sign_test_.is_passed() ? "faster by less than 1%, or slower on some inputs"
                                            : fmt::format("not significantly faster: slower in {} of {} rounds",
                                                          sign_test_.losses(), sign_test_.rounds());
    }
    return times;
  }

  ModelTimer& timer_;
  std::size_t candidate_, turns_;
  SequentialSignTest sign_test_;
  std::mt19937_64 random_;  // its default seed: the order is independent of the noise
  std::vector<Round> rounds_;
  std::vector<std::vector<double>> speedups_by_input_;
};

class BenchmarkRun {
 public:
  BenchmarkRun(ModelTimer& timer, double seconds) : timer_(timer), seconds_(seconds), opening_(timer.open()) {
    result_.runner = timer.name();
    for (const std::string& each : opening_.inputs) result_.shapes += (result_.shapes.empty() ? "" : "; ") + each;
    result_.candidates.resize(opening_.failures.size() - 1);
    for (std::size_t number = 1; number < opening_.failures.size(); ++number) {
      if (times_of(number).failure = opening_.failures[number]; times_of(number).failure.empty())
        running_.push_back(number);
    }
  }

  BenchmarkResult run() {
    drop_unaffordable_candidates();
    if (running_.size() > 1) choose_candidate();
    if (!running_.empty()) {
      CandidateTest test(timer_, running_[0], turns_per_round());
      CandidateTimes& tested = times_of(running_[0]) = test.run(seconds_ - used_);
      if (tested.failure.empty()) result_.milliseconds = tested.model_milliseconds;
      result_.rounds = tested.rounds;
    }
    return std::move(result_);
  }

 private:
  CandidateTimes& times_of(std::size_t number) { return result_.candidates[number - 1]; }

  /// Returns the seconds of one turn of the model and all candidates that may be chosen.
  double seconds_of_turn() const { return static_cast<double>(1 + running_.size()) * opening_.run_seconds; }

  /// Keeps as many candidates as can run often enough to be compared. A single one is tested without a choice.
  void drop_unaffordable_candidates() {
    while (running_.size() > 1 && min_choice_turns * seconds_of_turn() > choice_share * seconds_) {
      times_of(running_.back()).reason =
          "not timed, because one run of the model takes " + runtime::format_seconds(opening_.run_seconds);
      running_.pop_back();
    }
  }

  /// Leaves the first candidate that is about as fast as the fastest one.
  void choose_candidate() {
    const std::vector<std::vector<double>> milliseconds = run_choice_turns();
    double fastest = 0;
    result_.milliseconds = mean(milliseconds[0]);
    for (const std::size_t number : running_) {
      if (milliseconds[number].empty()) continue;
      CandidateTimes& times = times_of(number);
      times.model_milliseconds = result_.milliseconds;
      times.milliseconds = mean(milliseconds[number]);
      times.speedup = times.model_milliseconds / times.milliseconds;
      fastest = std::max(fastest, times.speedup);
    }
    const auto chosen = std::ranges::find_if(
        running_, [&](std::size_t number) { return times_of(number).speedup >= fastest * (1 - equal_within); });
    for (const std::size_t number : running_) {
      if (!times_of(number).failure.empty() || number == *chosen) continue;
      times_of(number).reason = "not tested, because another candidate is preferred";
    }
    if (fastest < min_promising_speedup) {
      times_of(*chosen).reason = "not tested, because it is slower";
      running_.clear();
    } else {
      running_ = {*chosen};
    }
  }

  /// Runs the model and the candidates in turns. Returns the medians of their milliseconds by model and input; none for
  /// a candidate that fails. Each turn begins with the next model.
  std::vector<std::vector<double>> run_choice_turns() {
    const double affordable = choice_share * seconds_ / seconds_of_turn();
    const auto turns = static_cast<std::size_t>(std::clamp<double>(affordable, min_choice_turns, max_choice_turns));
    std::vector<std::size_t> order{0};
    order.insert(order.end(), running_.begin(), running_.end());
    std::vector<std::vector<std::vector<double>>> times(opening_.failures.size(),
                                                        std::vector<std::vector<double>>(opening_.inputs.size()));
    for (std::size_t turn = 0; turn < turns; ++turn, std::rotate(order.begin(), order.begin() + 1, order.end())) {
      const ModelTimer::Round round = timer_.time_round(order, 1, ModelTimer::Copies::Loaded);
      used_ += round.seconds;
      for (std::size_t position = 0; position < order.size(); ++position) {
        const std::vector<double>& row = round.milliseconds[position];
        for (std::size_t i = 0; i < row.size(); ++i) times[order[position]][i].push_back(row[i]);
        if (order[position] > 0 && !round.failures[position].empty())
          times_of(order[position]).failure = round.failures[position];
      }
    }
    std::vector<std::vector<double>> medians(times.size());
    for (const std::size_t number : order) {
      if (number > 0 && !times_of(number).failure.empty()) continue;
      for (auto& row : times[number]) medians[number].push_back(median(std::move(row)));
    }
    return medians;
  }

  /// Returns how often the model runs in a round of the test: as often as the time allows, or about as long as loading.
  std::size_t turns_per_round() const {
    const double seconds_of_model = (seconds_ - used_) / planned_rounds / 2;
    const double affordable = (seconds_of_model - opening_.load_seconds) / opening_.run_seconds;
    const double beside_loading = std::min(max_turns_beside_loading, opening_.load_seconds / opening_.run_seconds);
    return static_cast<std::size_t>(
        std::clamp<double>(std::max(affordable, beside_loading), 1, static_cast<double>(opening_.max_turns)));
  }

  ModelTimer& timer_;
  double seconds_, used_ = 0;
  ModelTimer::Opening opening_;
  std::vector<std::size_t> running_;  // numbers of the candidates that may be faster
  BenchmarkResult result_;
};

BenchmarkResult skipped(const std::string& why, bool runtime_failed = false) {
  BenchmarkResult result;
  result.skipped_reason = why;
  result.runtime_failed = runtime_failed;
  return result;
}

/// Times by the user's command, whose errors are those of its user.
BenchmarkResult run_command_benchmark(const std::vector<std::filesystem::path>& models,
                                      const BenchmarkOptions& options) {
  CommandTimer timer({options.command, options.timeout}, models);
  return compare_models(timer, options.seconds);
}

/// Times by another runtime. A model that it does not accept is not timed.
BenchmarkResult run_other_benchmark(const std::vector<std::filesystem::path>& models, const BenchmarkOptions& options) {
  try {
    return compare_models(*options.open_timer(models), options.seconds);
  } catch (const runtime::InputError& error) {
    return skipped(error.what());
  }
}

BenchmarkResult run_onnxruntime_benchmark(const std::vector<std::filesystem::path>& models,
                                          const BenchmarkOptions& options, const RuntimeInputs& inputs) {
  std::optional<OnnxruntimeTimer> timer;
  try {
    timer.emplace(OnnxruntimeTimerOptions{options.helper, options.runtime, options.threads, options.timeout}, models,
                  inputs);
    return compare_models(*timer, options.seconds);
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error& error) {
    return skipped(error.what(), timer.has_value());
  }
}

}  // namespace

BenchmarkResult compare_models(ModelTimer& timer, double seconds) { return BenchmarkRun(timer, seconds).run(); }

BenchmarkResult benchmark_models(const std::filesystem::path& model, std::span<const std::filesystem::path> candidates,
                                 const BenchmarkOptions& options, const RuntimeInputs& inputs) {
  if (!options.enabled) return skipped("--no-benchmark");
  std::vector<std::filesystem::path> models{model};
  models.insert(models.end(), candidates.begin(), candidates.end());
  if (!options.command.empty()) return run_command_benchmark(models, options);
  if (options.open_timer) return run_other_benchmark(models, options);
  return run_onnxruntime_benchmark(models, options, inputs);
}

void try_benchmark_command(const std::filesystem::path& model, const BenchmarkOptions& options) {
  if (options.enabled && !options.command.empty()) time_by_command({options.command, options.timeout}, model);
}

}  // namespace rulemill::optimize
