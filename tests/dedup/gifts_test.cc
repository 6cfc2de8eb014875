#include "dedup/gifts.h"

#include <catch2/catch.hpp>
#include <random>

using rulemill::dedup::gifts;
using Costs = std::vector<std::uint64_t>;

namespace {

/// What every rank has once all have given.
Costs after(const Costs& costs) {
  Costs have = costs;
  for (std::size_t rank = 0; rank < costs.size(); ++rank) {
    const Costs given = gifts(costs, rank);
    REQUIRE(given.size() == costs.size());
    for (std::size_t to = 0; to < costs.size(); ++to) {
      REQUIRE(have[rank] >= given[to]);
      have[rank] -= given[to];
      have[to] += given[to];
    }
  }
  return have;
}

}  // namespace

TEST_CASE("ranks that have their share give nothing") {
  CHECK(gifts({7}, 0) == Costs{0});
  CHECK(gifts({0, 0, 0}, 1) == Costs{0, 0, 0});
  CHECK(gifts({5, 5, 5}, 2) == Costs{0, 0, 0});
  CHECK(gifts({4, 5, 4}, 1) == Costs{0, 0, 0});
}

TEST_CASE("one rank that has everything gives each other one a share") {
  CHECK(gifts({0, 12, 0, 0}, 1) == Costs{3, 0, 3, 3});
  CHECK(gifts({0, 12, 0, 0}, 0) == Costs{0, 0, 0, 0});
}

TEST_CASE("two that have too much fill the others one after the other") {
  CHECK(gifts({9, 1, 8, 2}, 0) == Costs{0, 4, 0, 0});
  CHECK(gifts({9, 1, 8, 2}, 2) == Costs{0, 0, 0, 3});
  CHECK(gifts({8, 0, 8, 0, 4}, 0) == Costs{0, 4, 0, 0, 0});
  CHECK(gifts({8, 0, 8, 0, 4}, 2) == Costs{0, 0, 0, 4, 0});
  CHECK(gifts({12, 6, 0, 2}, 0) == Costs{0, 0, 5, 2});
  CHECK(gifts({12, 6, 0, 2}, 1) == Costs{0, 0, 0, 1});
}

TEST_CASE("whatever ranks have, all is there afterwards, and nobody has more than a share or gives to itself") {
  std::mt19937_64 random(1);
  for (int run = 0; run < 2000; ++run) {
    Costs costs(1 + random() % 65);
    const std::uint64_t most = std::uint64_t{1} << random() % 40;
    for (std::uint64_t& cost : costs) cost = random() % 4 == 0 ? 0 : random() % most;
    std::uint64_t total = 0;
    for (const std::uint64_t cost : costs) total += cost;
    const std::uint64_t share = (total + costs.size() - 1) / costs.size();
    std::uint64_t left = 0;
    for (const std::uint64_t cost : after(costs)) {
      CHECK(cost <= share);
      left += cost;
    }
    CHECK(left == total);
    for (std::size_t rank = 0; rank < costs.size(); ++rank) CHECK(gifts(costs, rank)[rank] == 0);
  }
}
