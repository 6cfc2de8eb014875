#include "optimize/gpu/plan/min_cut.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

namespace rulemill::optimize::gpu {
namespace {

struct Best {
  std::int64_t cost = BinaryLabeling::infinite_cost * 8;
  std::size_t ones = 0;
};

/// Tries all labelings; returns the minimum cost and the fewest 1s at that cost.
Best find_best(const BinaryLabeling& labeling) {
  Best best;
  for (std::uint32_t bits = 0; bits < (1U << labeling.size()); ++bits) {
    std::vector<bool> labels;
    for (std::size_t i = 0; i < labeling.size(); ++i) labels.push_back((bits >> i & 1) != 0);
    const std::int64_t cost = labeling.cost(labels);
    const auto count = static_cast<std::size_t>(std::ranges::count(labels, true));
    if (cost < best.cost || (cost == best.cost && count < best.ones)) best = {cost, count};
  }
  return best;
}

TEST_CASE("the cut has the minimum cost of all labelings, with the fewest 1s", "[gpu]") {
  std::mt19937 random(3);
  const auto below = [&](std::uint32_t most) { return static_cast<std::int64_t>(random() % most); };
  std::size_t mixed = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    BinaryLabeling labeling;
    const std::uint32_t count = 2 + random() % 8;
    for (std::uint32_t i = 0; i < count; ++i) {
      labeling.add_variable(random() % 9 == 0 ? BinaryLabeling::infinite_cost : below(20), below(20));
      if (random() % 4 == 0) labeling.add_cost(i, below(20) - 10);
    }
    const auto any = [&] { return static_cast<std::uint32_t>(random() % count); };
    for (std::uint32_t i = 0; i < count; ++i) {
      BinaryLabeling::PairCosts costs{{{below(9), below(9)}, {below(9), below(9)}}};
      const std::uint32_t one = any(), other = any();
      if (one != other && BinaryLabeling::is_submodular(costs)) labeling.add_pairwise_cost(one, other, costs);
    }
    for (std::uint32_t i = 0; i < count / 2; ++i) {
      std::vector<std::uint32_t> users;
      for (std::uint32_t u = 0; u < 1 + random() % 3; ++u) users.push_back(any());
      labeling.add_shared_cost(any(), users, below(15));
    }
    const std::vector<bool> labels = labeling.minimize();
    const Best best = find_best(labeling);
    INFO("trial " << trial);
    REQUIRE(labeling.cost(labels) == best.cost);
    REQUIRE(static_cast<std::size_t>(std::ranges::count(labels, true)) == best.ones);
    mixed += best.ones > 0 && best.ones < count ? 1 : 0;
  }
  CHECK(mixed > 500);
}

TEST_CASE("a long chain is cut once, at its cheapest edge", "[gpu]") {
  BinaryLabeling labeling;
  constexpr std::uint32_t length = 5000;
  for (std::uint32_t i = 0; i < length; ++i) labeling.add_variable(i < 3000 ? 0 : 3, i < 3000 ? 3 : 0);
  for (std::uint32_t i = 0; i + 1 < length; ++i)
    labeling.add_pairwise_cost(i, i + 1, {{{0, i == 3100 ? 5 : 1000}, {1000, 0}}});
  const std::vector<bool> labels = labeling.minimize();
  CHECK(labeling.cost(labels) == 5 + 3 * 101);
  CHECK((!labels[3100] && labels[3101]));
}

TEST_CASE("a pairwise cost that prefers different labels is not submodular", "[gpu]") {
  CHECK_FALSE(BinaryLabeling::is_submodular({{{1, 0}, {1, 1}}}));
  CHECK(BinaryLabeling::is_submodular({{{0, 1}, {1, 0}}}));
}

}  // namespace
}  // namespace rulemill::optimize::gpu
