#include "optimize/gpu/two_ways.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

namespace rulemill::optimize::gpu {
namespace {

struct Best {
  std::int64_t cost = TwoWays::never * 8;
  std::size_t second = 0;
};

/// Every choice is tried; of the cheapest, the fewest second ways.
Best by_trying_all(const TwoWays& ways) {
  Best best;
  for (std::uint32_t bits = 0; bits < (1U << ways.size()); ++bits) {
    std::vector<bool> second;
    for (std::size_t i = 0; i < ways.size(); ++i) second.push_back((bits >> i & 1) != 0);
    const std::int64_t cost = ways.cost(second);
    const auto count = static_cast<std::size_t>(std::ranges::count(second, true));
    if (cost < best.cost || (cost == best.cost && count < best.second)) best = {cost, count};
  }
  return best;
}

TEST_CASE("a cut is as cheap as the cheapest of all choices, with as few second ways", "[gpu]") {
  std::mt19937 random(3);
  const auto below = [&](std::uint32_t most) { return static_cast<std::int64_t>(random() % most); };
  std::size_t mixed = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    TwoWays ways;
    const std::uint32_t count = 2 + random() % 8;
    for (std::uint32_t i = 0; i < count; ++i) {
      ways.add(random() % 9 == 0 ? TwoWays::never : below(20), below(20));
      if (random() % 4 == 0) ways.prefer(i, below(20) - 10);
    }
    const auto any = [&] { return static_cast<std::uint32_t>(random() % count); };
    for (std::uint32_t i = 0; i < count; ++i) {
      TwoWays::Table table{{{below(9), below(9)}, {below(9), below(9)}}};
      const std::uint32_t one = any(), other = any();
      if (one != other && TwoWays::can_say(table)) ways.both(one, other, table);
    }
    for (std::uint32_t i = 0; i < count / 2; ++i) {
      std::vector<std::uint32_t> users;
      for (std::uint32_t u = 0; u < 1 + random() % 3; ++u) users.push_back(any());
      ways.unless_alike(any(), users, below(15));
    }
    const std::vector<bool> chosen = ways.least();
    const Best best = by_trying_all(ways);
    INFO("trial " << trial);
    REQUIRE(ways.cost(chosen) == best.cost);
    REQUIRE(static_cast<std::size_t>(std::ranges::count(chosen, true)) == best.second);
    mixed += best.second > 0 && best.second < count ? 1 : 0;
  }
  CHECK(mixed > 500);
}

TEST_CASE("a long chain is cut once, where that is cheapest", "[gpu]") {
  TwoWays ways;
  constexpr std::uint32_t length = 5000;
  for (std::uint32_t i = 0; i < length; ++i) ways.add(i < 3000 ? 0 : 3, i < 3000 ? 3 : 0);
  for (std::uint32_t i = 0; i + 1 < length; ++i) ways.both(i, i + 1, {{{0, i == 3100 ? 5 : 1000}, {1000, 0}}});
  const std::vector<bool> chosen = ways.least();
  CHECK(ways.cost(chosen) == 5 + 3 * 101);
  CHECK((!chosen[3100] && chosen[3101]));
}

TEST_CASE("what is better done differently cannot be said", "[gpu]") {
  CHECK_FALSE(TwoWays::can_say({{{1, 0}, {1, 1}}}));
  CHECK(TwoWays::can_say({{{0, 1}, {1, 0}}}));
}

}  // namespace
}  // namespace rulemill::optimize::gpu
