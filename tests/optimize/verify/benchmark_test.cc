#include "optimize/verify/benchmark.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>

#include "runtime/process/run_program.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

/// A machine on which time passes only while models run.
class FakeTimer final : public ModelTimer {
 public:
  /// Returns milliseconds by input; none if the model fails.
  using Model = std::function<std::vector<double>()>;

  explicit FakeTimer(std::vector<Model> models) : models_(std::move(models)) {
    opening.failures.resize(models_.size());
    opening.inputs.resize(models_[0]().size(), "x 1");
    for (const double time : models_[0]()) opening.run_seconds += time / 1e3;
  }

  std::string name() const override { return "a fake"; }
  Opening open() override { return opening; }
  Round time_round(std::span<const std::size_t> order, std::size_t turns, Copies copies) override {
    Round round;
    for (const std::size_t number : order) {
      const std::vector<double> times = models_[number]();
      round.milliseconds.push_back(times);
      round.failures.emplace_back(times.empty() ? "it fails" : "");
      round.seconds += copies == Copies::Fresh ? opening.load_seconds : 0;
      for (const double time : times) round.seconds += time / 1e3 * static_cast<double>(turns);
    }
    seconds += round.seconds;
    if (copies == Copies::Fresh) {
      ++tests;
      first_models.push_back(order[0]);
    } else {
      ++choice_turns;
    }
    most_turns = std::max(most_turns, turns);
    return round;
  }

  Opening opening;
  double seconds = 0;
  std::size_t tests = 0, choice_turns = 0, most_turns = 0;
  std::vector<std::size_t> first_models;  // of the test's rounds

 private:
  std::vector<Model> models_;
};

FakeTimer::Model steady(double milliseconds) {
  return [=] { return std::vector{milliseconds}; };
}

/// Returns the times in a cycle.
FakeTimer::Model cycle(std::vector<double> times) {
  return [times, next = std::size_t{0}]() mutable { return std::vector{times[next++ % times.size()]}; };
}

CandidateTimes tested(FakeTimer::Model model, FakeTimer::Model candidate) {
  FakeTimer timer({std::move(model), std::move(candidate)});
  return compare_models(timer, 8).candidates.at(0);
}

TEST_CASE("a candidate that is faster in all rounds is faster by the median speedup after the fewest rounds",
          "[benchmark]") {
  const CandidateTimes result = tested(steady(10), cycle({8, 8, 5}));
  CHECK(result.faster);
  CHECK(result.reason.empty());
  CHECK(result.speedup == Approx(1.25));
  CHECK(result.milliseconds == 8);
  CHECK(result.rounds == 10);
}

TEST_CASE("a speedup below one percent does not count, however often it is measured", "[benchmark]") {
  CHECK_FALSE(tested(steady(10), steady(9.95)).faster);
  CHECK(tested(steady(10), steady(9.95)).rounds == 40);
  CHECK(tested(steady(10), steady(9.8)).faster);
}

TEST_CASE("a candidate that is as fast, or slower in many rounds, is not faster", "[benchmark]") {
  CHECK_FALSE(tested(steady(10), steady(10)).faster);
  CHECK_FALSE(tested(steady(10), cycle({8, 8, 8, 11, 8, 11})).faster);
  CHECK(tested(steady(10), cycle({8, 8, 8, 8, 8, 11, 8, 8, 8, 8, 8, 8, 8, 8})).rounds == 14);
  CHECK(tested(cycle({5, 6}), steady(5.3)).faster == false);
}

TEST_CASE("which of the two runs first in a round is random", "[benchmark]") {
  FakeTimer timer({steady(10), steady(9.95)});
  compare_models(timer, 8);
  const auto model_first = std::ranges::count(timer.first_models, 0U);
  CHECK(model_first > 9);
  CHECK(model_first < 31);
  CHECK(std::ranges::adjacent_find(timer.first_models) != timer.first_models.end());
}

TEST_CASE("a candidate that is slower for one of several inputs is not faster", "[benchmark]") {
  const auto both = [](double one, double other) { return [=] { return std::vector{one, other}; }; };
  CHECK(tested(both(10, 40), both(5, 39.9)).faster);
  CHECK_FALSE(tested(both(10, 40), both(5, 42)).faster);
  CHECK(tested(both(10, 40), both(5, 40)).speedup == Approx(std::sqrt(2.0)));
}

TEST_CASE("the ratio of the two times that are reported is the speedup that is reported", "[benchmark]") {
  FakeTimer timer({[turn = 0]() mutable {
                     return std::vector{10.0 + turn++ % 7, 40.0};
                   },
                   [turn = 0]() mutable {
                     return std::vector{8.0 - turn++ % 3, 20.0};
                   },
                   [] {
                     return std::vector{30.0, 70.0};
                   }});
  for (const CandidateTimes& each : compare_models(timer, 8).candidates)
    CHECK(each.speedup == Approx(each.model_milliseconds / each.milliseconds).epsilon(1e-12));
}

TEST_CASE("the first candidate that is about as fast as the fastest one is tested alone, in new rounds",
          "[benchmark]") {
  FakeTimer timer({steady(10), steady(9), steady(8.05), steady(8), steady(12)});
  const BenchmarkResult result = compare_models(timer, 8);
  CHECK(result.candidates.at(1).faster);
  CHECK(result.candidates.at(1).rounds == 10);
  CHECK(std::ranges::count(result.candidates, true, &CandidateTimes::faster) == 1);
  CHECK(result.candidates.at(0).rounds == 0);
  CHECK_FALSE(result.candidates.at(2).reason.empty());
  CHECK(timer.choice_turns == 9);
}

TEST_CASE("the times of the choice do not count in the test", "[benchmark]") {
  // The candidate is fast only while it is chosen.
  FakeTimer timer({steady(10), cycle({8,    8,    8,    8,    8,    8,    8,    8,    8,    10.1, 10.1,
                                      10.1, 10.1, 10.1, 10.1, 10.1, 10.1, 10.1, 10.1, 10.1, 10.1}),
                   steady(9.9)});
  const BenchmarkResult result = compare_models(timer, 8);
  CHECK(result.candidates.at(0).rounds > 0);
  CHECK_FALSE(result.candidates.at(0).faster);
}

TEST_CASE("candidates that are all slower are not tested", "[benchmark]") {
  FakeTimer timer({steady(10), steady(12), steady(11)});
  CHECK(compare_models(timer, 8).rounds == 0);
  CHECK(timer.tests == 0);
}

TEST_CASE("of a model that takes long the first candidate is tested, and the others are dropped", "[benchmark]") {
  FakeTimer timer({steady(1000), steady(900), steady(800), steady(700)});
  timer.opening.load_seconds = 1.5;
  timer.opening.max_turns = 9;
  const BenchmarkResult result = compare_models(timer, 8);
  CHECK(result.candidates.at(0).faster);
  CHECK(result.candidates.at(0).rounds == 10);
  CHECK(timer.choice_turns == 0);
  CHECK(timer.most_turns == 1);
  CHECK(result.candidates.at(2).milliseconds == 0);
  CHECK_THAT(result.candidates.at(2).reason, Catch::Contains("not timed"));
}

TEST_CASE("a test of a model that takes long ends at the second lost round", "[benchmark]") {
  FakeTimer timer({steady(4000), cycle({3900, 4100})});
  CHECK_FALSE(compare_models(timer, 8).candidates.at(0).faster);
  CHECK(timer.tests == 4);
}

TEST_CASE("a fast model is timed for the requested seconds at most, in rounds of many turns", "[benchmark]") {
  std::mt19937_64 random;
  const auto noisy = [&] { return std::vector{10 + static_cast<double>(random() % 100) / 100}; };
  FakeTimer timer({noisy, noisy, noisy});
  timer.opening.max_turns = 9;
  CHECK_FALSE(compare_models(timer, 4).candidates.at(0).faster);
  CHECK(timer.seconds < 4.5);
  CHECK(timer.most_turns > 4);
}

TEST_CASE("a candidate that fails does not affect the others", "[benchmark]") {
  const auto failing = [] { return std::vector<double>(); };
  FakeTimer timer({steady(10), failing, steady(8), steady(9)});
  timer.opening.failures[3] = "it does not load";
  const BenchmarkResult result = compare_models(timer, 8);
  CHECK(result.candidates.at(0).failure == "it fails");
  CHECK(result.candidates.at(1).faster);
  CHECK(result.candidates.at(2).failure == "it does not load");
  CHECK(tested(steady(10), failing).failure == "it fails");
}

TEST_CASE("another runtime times the models unless it does not accept them") {
  BenchmarkOptions options;
  options.enabled = true;
  CHECK_FALSE(options.is_possible());
  options.open_timer = [](const std::vector<std::filesystem::path>& models) {
    CHECK(models == std::vector<std::filesystem::path>{"before.onnx", "after.onnx"});
    const FakeTimer::Model slow = [] { return std::vector<double>{2}; }, fast = [] { return std::vector<double>{1}; };
    return std::make_unique<FakeTimer>(std::vector<FakeTimer::Model>{slow, fast});
  };
  CHECK(options.is_possible());
  const std::filesystem::path candidate = "after.onnx";
  const auto run = [&] { return benchmark_models("before.onnx", std::span(&candidate, 1), options, {}); };
  const BenchmarkResult timed = run();
  CHECK((timed.runner == "a fake" && timed.candidates.at(0).faster));
  options.open_timer = [](const auto&) -> std::unique_ptr<ModelTimer> {
    throw runtime::InputError("before.onnx", "cannot be planned");
  };
  CHECK_THAT(run().skipped_reason, Catch::Contains("cannot be planned"));
  options.open_timer = [](const auto&) -> std::unique_ptr<ModelTimer> { throw runtime::Error("GPU", "is lost"); };
  CHECK_THROWS_WITH(run(), Catch::Contains("is lost"));
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
