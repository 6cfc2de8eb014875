#include "optimize/verify/benchmark.h"

#include <catch2/catch.hpp>

#include "runtime/process/shell_command.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

/// Returns constant times of the model (twice) and of one candidate.
RoundTimes steady(double model, double again, double candidate, std::size_t rounds = min_rounds) {
  const auto row = [&](double time) { return std::vector<double>(rounds, time); };
  return {"x 1", {row(model), row(again), row(candidate)}};
}

CandidateTimes timed(const std::vector<RoundTimes>& rounds) { return compare_times(rounds).candidates.at(0); }

TEST_CASE("a candidate that is faster in all rounds is faster by the median speedup", "[benchmark]") {
  RoundTimes rounds = steady(10, 10, 8);
  rounds.milliseconds[2] = {5, 8, 8, 8, 8, 8, 9};
  const CandidateTimes result = timed({rounds});
  CHECK(result.faster);
  CHECK(result.speedup == Approx(1.25));
  CHECK(result.milliseconds == 8);
  CHECK(result.lower == Approx(1.25));
}

TEST_CASE("a speedup within the noise does not count", "[benchmark]") {
  CHECK_FALSE(timed({steady(10, 10, 9.95)}).faster);
  CHECK(timed({steady(10, 10, 9.8)}).faster);
  // The two times of the model differ by four percent, so three percent do not make a candidate faster.
  CHECK(compare_times(std::vector{steady(10.4, 10, 9.9)}).noise == Approx(0.04));
  CHECK_FALSE(timed({steady(10.4, 10, 9.9)}).faster);
  CHECK(timed({steady(10.4, 10, 9)}).faster);
}

TEST_CASE("a candidate that is slower in some rounds is not significantly faster", "[benchmark]") {
  RoundTimes rounds = steady(10, 10, 8, 9);
  rounds.milliseconds[2] = {8, 8, 8, 8, 8, 8, 11, 11, 8};
  CHECK_FALSE(timed({rounds}).faster);
  rounds.milliseconds[2] = std::vector<double>(9, 8);
  CHECK(timed({rounds}).faster);
}

TEST_CASE("a candidate that is slower for one of several shapes is not faster", "[benchmark]") {
  CHECK(timed({steady(10, 10, 5), steady(40, 40, 39.9)}).faster);
  CHECK_FALSE(timed({steady(10, 10, 5), steady(40, 40, 42)}).faster);
  CHECK(timed({steady(10, 10, 5), steady(40, 40, 40)}).speedup == Approx(std::sqrt(2.0)));
}

TEST_CASE(
    "a candidate is significantly faster than another if it is faster in almost all rounds and by more than the noise",
    "[benchmark]") {
  RoundTimes rounds = steady(10, 10, 8);
  const std::vector<double> always{7.8, 7.8, 7.8, 7.8, 7.8, 7.8, 7.8}, mostly{7, 7, 7, 7, 7, 7, 8.1};
  rounds.milliseconds.insert(rounds.milliseconds.end(), {always, mostly, {}});
  const BenchmarkResult result = compare_times(std::vector{rounds});
  const auto& timed = result.candidates;
  CHECK(is_significantly_faster(timed[1], timed[0], result.noise));
  CHECK_FALSE(is_significantly_faster(timed[0], timed[1], result.noise));
  CHECK_FALSE(is_significantly_faster(timed[1], timed[0], 0.03));
  CHECK(timed[2].speedup > timed[1].speedup);
  CHECK_FALSE(is_significantly_faster(timed[2], timed[0], result.noise));  // faster in some rounds by chance
  CHECK_FALSE(is_significantly_faster(timed[3], timed[0], result.noise));  // it does not run
}

TEST_CASE("a candidate without times counts as not running and does not affect the others", "[benchmark]") {
  RoundTimes rounds = steady(10, 10, 8);
  rounds.milliseconds.insert(rounds.milliseconds.begin() + 2, std::vector<double>{});
  const BenchmarkResult result = compare_times(std::vector{rounds});
  CHECK_FALSE(result.candidates.at(0).failure.empty());
  CHECK(result.candidates.at(1).faster);
}

TEST_CASE("a shell command returns its output or its failure, or stops at its time limit", "[benchmark]") {
  using runtime::run_shell_command;
  const std::chrono::milliseconds long_enough{20000};
  CHECK(run_shell_command("printf '%s|'", "a b'c", long_enough).output == "a b'c|");
  CHECK(run_shell_command("exit 3;", "", long_enough).failure == "exit code 3");
  CHECK(run_shell_command("kill -9 $$;", "", long_enough).failure == "signal 9");
  CHECK(run_shell_command("no-such-program", "", long_enough).failure == "exit code 127");
  const runtime::Stopwatch watch;
  CHECK(run_shell_command("sleep 60; echo", "", std::chrono::milliseconds(200)).failure == "time limit of 200 ms");
  // A background process does not delay the result.
  CHECK(run_shell_command("sleep 60 & echo 5", "", long_enough).output == "5 \n");
  CHECK(watch.seconds() < 50);
}

}  // namespace
}  // namespace rulemill::optimize
