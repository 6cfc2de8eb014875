#include "optimize/gpu/arena.h"

#include <catch2/catch.hpp>
#include <random>

namespace rulemill::optimize::gpu {
namespace {

/// By trying every step and every pair: aligned, inside, and no byte of two at once.
bool sound(const std::vector<Lifetime>& lifetimes, const Arena& arena) {
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

TEST_CASE("no two tensors that are needed at once share memory, on random lives", "[gpu]") {
  std::mt19937 random(2);
  double used = 0, least = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const std::vector<Lifetime> lifetimes = random_lifetimes(random);
    const Arena arena = arena_of(lifetimes);
    REQUIRE(sound(lifetimes, arena));
    REQUIRE(arena.bytes >= least_bytes(lifetimes));
    used += static_cast<double>(arena.bytes);
    least += static_cast<double>(least_bytes(lifetimes));
  }
  CHECK(used < 1.1 * least);
}

TEST_CASE("the checker of arenas sees what overlaps", "[gpu]") {
  const std::vector<Lifetime> both{{256, 0, 2}, {256, 2, 3}};
  CHECK(sound(both, {{0, 256}, 512}));
  CHECK_FALSE(sound(both, {{0, 0}, 512}));
  CHECK_FALSE(sound(both, {{0, 256}, 300}));
  CHECK_FALSE(sound(both, {{0, 300}, 1024}));
}

TEST_CASE("a chain needs two tensors at a time", "[gpu]") {
  std::vector<Lifetime> chain;
  for (std::size_t step = 0; step < 100; ++step) chain.push_back({4096, step, step + 1});
  CHECK(arena_of(chain).bytes == 2 * 4096);
  CHECK(arena_of({}).bytes == 0);
}

}  // namespace
}  // namespace rulemill::optimize::gpu
