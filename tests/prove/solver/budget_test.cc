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
