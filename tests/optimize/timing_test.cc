#include "optimize/timing.h"

#include <catch2/catch.hpp>

#include "runtime/error.h"
#include "runtime/shell_command.h"

namespace rulemill::optimize {
namespace {

/// The model's two times and a candidate's, the same in each round.
Rounds steady(double model, double again, double candidate, std::size_t rounds = least_rounds) {
  const auto row = [&](double time) { return std::vector<double>(rounds, time); };
  return {"x 1", {row(model), row(again), row(candidate)}};
}

Timed timed(const std::vector<Rounds>& rounds) { return evaluate(rounds).candidates.at(0); }

TEST_CASE("a candidate that is always faster is faster, by the median of its ratios", "[timing]") {
  Rounds rounds = steady(10, 10, 8);
  rounds.milliseconds[2] = {5, 8, 8, 8, 8, 8, 9};
  const Timed result = timed({rounds});
  CHECK(result.faster);
  CHECK(result.ratio == Approx(1.25));
  CHECK(result.milliseconds == 8);
  CHECK(result.lower == Approx(1.25));
}

TEST_CASE("a gain within the noise is none", "[timing]") {
  CHECK_FALSE(timed({steady(10, 10, 9.95)}).faster);
  CHECK(timed({steady(10, 10, 9.8)}).faster);
  // The model against itself differs by four percent: so does a candidate by three without being faster.
  CHECK(evaluate(std::vector{steady(10.4, 10, 9.9)}).noise == Approx(0.04));
  CHECK_FALSE(timed({steady(10.4, 10, 9.9)}).faster);
  CHECK(timed({steady(10.4, 10, 9)}).faster);
}

TEST_CASE("a candidate that is faster in most rounds and slower in some is not taken for faster", "[timing]") {
  Rounds rounds = steady(10, 10, 8, 9);
  rounds.milliseconds[2] = {8, 8, 8, 8, 8, 8, 11, 11, 8};
  CHECK_FALSE(timed({rounds}).faster);
  rounds.milliseconds[2] = std::vector<double>(9, 8);
  CHECK(timed({rounds}).faster);
}

TEST_CASE("a candidate that is slower at one of several shapes is not faster", "[timing]") {
  CHECK(timed({steady(10, 10, 5), steady(40, 40, 39.9)}).faster);
  CHECK_FALSE(timed({steady(10, 10, 5), steady(40, 40, 42)}).faster);
  CHECK(timed({steady(10, 10, 5), steady(40, 40, 40)}).ratio == Approx(std::sqrt(2.0)));
}

TEST_CASE("of two candidates one is surely faster if it is in almost all rounds, and by more than the noise",
          "[timing]") {
  Rounds rounds = steady(10, 10, 8);
  const std::vector<double> always{7.8, 7.8, 7.8, 7.8, 7.8, 7.8, 7.8}, mostly{7, 7, 7, 7, 7, 7, 8.1};
  rounds.milliseconds.insert(rounds.milliseconds.end(), {always, mostly, {}});
  const Timing timing = evaluate(std::vector{rounds});
  const auto& timed = timing.candidates;
  CHECK(surely_faster(timed[1], timed[0], timing.noise));
  CHECK_FALSE(surely_faster(timed[0], timed[1], timing.noise));
  CHECK_FALSE(surely_faster(timed[1], timed[0], 0.03));
  CHECK(timed[2].ratio > timed[1].ratio);
  CHECK_FALSE(surely_faster(timed[2], timed[0], timing.noise));  // by luck of some rounds
  CHECK_FALSE(surely_faster(timed[3], timed[0], timing.noise));  // it does not run
}

TEST_CASE("a candidate without times does not run, and hinders no other", "[timing]") {
  Rounds rounds = steady(10, 10, 8);
  rounds.milliseconds.insert(rounds.milliseconds.begin() + 2, std::vector<double>{});
  const Timing timing = evaluate(std::vector{rounds});
  CHECK_FALSE(timing.candidates.at(0).failure.empty());
  CHECK(timing.candidates.at(1).faster);
}

TEST_CASE("a shell command ends with what it printed, how it failed, or at its limit", "[timing]") {
  using runtime::run_shell_command;
  const std::chrono::milliseconds long_enough{20000};
  CHECK(run_shell_command("printf '%s|'", "a b'c", long_enough).output == "a b'c|");
  CHECK(run_shell_command("exit 3;", "", long_enough).failure == "exit code 3");
  CHECK(run_shell_command("kill -9 $$;", "", long_enough).failure == "signal 9");
  CHECK(run_shell_command("no-such-program", "", long_enough).failure == "exit code 127");
  const auto start = std::chrono::steady_clock::now();
  CHECK(run_shell_command("sleep 60; echo", "", std::chrono::milliseconds(200)).failure == "time limit of 200 ms");
  // What it leaves behind holds nobody up.
  CHECK(run_shell_command("sleep 60 & echo 5", "", long_enough).output == "5 \n");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(50));
}

}  // namespace
}  // namespace rulemill::optimize
