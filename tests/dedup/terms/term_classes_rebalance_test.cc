#include "dedup/terms/term_classes.h"

#include <catch2/catch.hpp>
#include <random>

using rulemill::dedup::transfers_from;
using Costs = std::vector<std::uint64_t>;

namespace {

/// The costs of all ranks after all transfers.
Costs after(const Costs& costs) {
  Costs have = costs;
  for (std::size_t rank = 0; rank < costs.size(); ++rank) {
    const Costs given = transfers_from(costs, rank);
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

TEST_CASE("ranks that have at most the average send nothing") {
  CHECK(transfers_from({7}, 0) == Costs{0});
  CHECK(transfers_from({0, 0, 0}, 1) == Costs{0, 0, 0});
  CHECK(transfers_from({5, 5, 5}, 2) == Costs{0, 0, 0});
  CHECK(transfers_from({4, 5, 4}, 1) == Costs{0, 0, 0});
}

TEST_CASE("a rank that has all the work sends the average to every other rank") {
  CHECK(transfers_from({0, 12, 0, 0}, 1) == Costs{3, 0, 3, 3});
  CHECK(transfers_from({0, 12, 0, 0}, 0) == Costs{0, 0, 0, 0});
}

TEST_CASE("two ranks with a surplus fill up the other ranks in order") {
  CHECK(transfers_from({9, 1, 8, 2}, 0) == Costs{0, 4, 0, 0});
  CHECK(transfers_from({9, 1, 8, 2}, 2) == Costs{0, 0, 0, 3});
  CHECK(transfers_from({8, 0, 8, 0, 4}, 0) == Costs{0, 4, 0, 0, 0});
  CHECK(transfers_from({8, 0, 8, 0, 4}, 2) == Costs{0, 0, 0, 4, 0});
  CHECK(transfers_from({12, 6, 0, 2}, 0) == Costs{0, 0, 5, 2});
  CHECK(transfers_from({12, 6, 0, 2}, 1) == Costs{0, 0, 0, 1});
}

TEST_CASE("transfers keep the total, leave no rank above the average, and no rank sends to itself") {
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
    for (std::size_t rank = 0; rank < costs.size(); ++rank) CHECK(transfers_from(costs, rank)[rank] == 0);
  }
}
