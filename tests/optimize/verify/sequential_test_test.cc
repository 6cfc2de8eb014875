#include "optimize/verify/sequential_test.h"

#include <catch2/catch.hpp>

#include <vector>

namespace rulemill::optimize {
namespace {

/// Returns the exact probability of passing if each round is won with this probability, over all sequences of rounds.
double probability_of_passing(double win) {
  struct Branch {
    SequentialSignTest test;
    double probability = 0;
  };
  std::vector<Branch> branches(1);  // by number of losses
  branches[0].probability = 1;
  double passed = 0;
  for (std::size_t round = 0; round < SequentialSignTest::max_rounds; ++round) {
    std::vector<Branch> next(branches.size() + 1);
    for (const Branch& each : branches) {
      if (each.probability == 0) continue;  // no sequence has so many losses
      for (const bool won : {true, false}) {
        Branch after = each;
        after.test.add_round(won);
        after.probability *= won ? win : 1 - win;
        if (after.test.is_passed()) {
          passed += after.probability;
        } else if (!after.test.is_over()) {
          const double before = next[after.test.losses()].probability;
          next[after.test.losses()] = after;
          next[after.test.losses()].probability += before;
        }
      }
    }
    branches = std::move(next);
  }
  return passed;
}

TEST_CASE("a candidate that is not faster passes with a probability of at most 1%", "[benchmark]") {
  CHECK(probability_of_passing(0.5) == Approx(0.0045).margin(0.00005));
  CHECK(probability_of_passing(0.5) <= max_false_gain_rate);
  CHECK(probability_of_passing(0.45) < 0.002);
}

TEST_CASE("a candidate that is mostly faster passes", "[benchmark]") {
  CHECK(probability_of_passing(1) == 1);
  CHECK(probability_of_passing(0.9) > 0.99);
  CHECK(probability_of_passing(0.8) > 0.85);
}

TEST_CASE("each lost round needs more rounds", "[benchmark]") {
  SequentialSignTest test;
  for (int round = 0; round < 9; ++round) test.add_round(true);
  CHECK_FALSE(test.is_passed());
  test.add_round(false);
  for (int round = 0; round < 3; ++round) test.add_round(true);
  CHECK_FALSE(test.is_passed());
  test.add_round(true);
  CHECK(test.is_passed());
  CHECK(test.rounds() == 14);
}

}  // namespace
}  // namespace rulemill::optimize
