#include "optimize/gpu/plan/plan.h"

#include <catch2/catch.hpp>
#include <random>

namespace rulemill::optimize::gpu {
namespace {

/// Checks every step and every pair: aligned, within the arena, no overlap while lifetimes are alive.
bool is_valid(const std::vector<Lifetime>& lifetimes, const Arena& arena) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    if (arena.offsets[i] % arena_alignment != 0 || arena.offsets[i] + lifetimes[i].bytes > arena.bytes) return false;
    end = std::max(end, lifetimes[i].last);
  }
  for (std::size_t step = 0; step <= end; ++step) {
    for (std::size_t i = 0; i < lifetimes.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const auto alive = [&](std::size_t t) { return lifetimes[t].first <= step && step <= lifetimes[t].last; };
        if (!alive(i) || !alive(j)) continue;
        if (arena.offsets[i] < arena.offsets[j] + lifetimes[j].bytes &&
            arena.offsets[j] < arena.offsets[i] + lifetimes[i].bytes)
          return false;
      }
    }
  }
  return true;
}

std::vector<Lifetime> random_lifetimes(std::mt19937& random) {
  std::vector<Lifetime> lifetimes(random() % 40);
  for (Lifetime& lifetime : lifetimes) {
    lifetime.bytes = 1 + random() % 5000;
    lifetime.first = random() % 30;
    lifetime.last = lifetime.first + random() % (random() % 4 == 0 ? 30 : 4);
  }
  return lifetimes;
}

TEST_CASE("tensors that are alive together never overlap, for random lifetimes", "[gpu]") {
  std::mt19937 random(2);
  double used = 0, min_bytes = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const std::vector<Lifetime> lifetimes = random_lifetimes(random);
    const Arena arena = pack_arena(lifetimes);
    REQUIRE(is_valid(lifetimes, arena));
    REQUIRE(arena.bytes >= min_arena_bytes(lifetimes));
    used += static_cast<double>(arena.bytes);
    min_bytes += static_cast<double>(min_arena_bytes(lifetimes));
  }
  CHECK(used < 1.1 * min_bytes);
}

TEST_CASE("the validity check of arenas detects overlaps", "[gpu]") {
  const std::vector<Lifetime> lifetimes{{256, 0, 2}, {256, 2, 3}};
  CHECK(is_valid(lifetimes, {{0, 256}, 512}));
  CHECK_FALSE(is_valid(lifetimes, {{0, 0}, 512}));
  CHECK_FALSE(is_valid(lifetimes, {{0, 256}, 300}));
  CHECK_FALSE(is_valid(lifetimes, {{0, 300}, 1024}));
}

TEST_CASE("a chain needs memory for two tensors", "[gpu]") {
  std::vector<Lifetime> chain;
  for (std::size_t step = 0; step < 100; ++step) chain.push_back({4096, step, step + 1});
  CHECK(pack_arena(chain).bytes == 2 * 4096);
  CHECK(pack_arena({}).bytes == 0);
}

}  // namespace
}  // namespace rulemill::optimize::gpu
