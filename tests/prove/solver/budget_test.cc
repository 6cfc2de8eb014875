#include "prove/solver/budget.h"

#include <catch2/catch.hpp>

using namespace rulemill;
using namespace rulemill::prove;

TEST_CASE("a budget throws once more steps are spent than it has") {
  Budget budget(100);
  budget.spend(100);
  CHECK_THROWS_AS(budget.spend(1), LimitReached);
  budget.refill();
  CHECK(budget.spent() == 0);
  budget.spend(100);
}

TEST_CASE("a scoped limit ends with its scope") {
  Budget budget(1000);
  {
    const Budget::ScopedLimit limit(budget, 10);
    budget.spend(10);
    CHECK_THROWS_AS(budget.spend(1), LimitReached);
  }
  budget.spend(900);
  CHECK(budget.spent() == 911);
}
