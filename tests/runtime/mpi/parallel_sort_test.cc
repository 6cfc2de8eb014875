#include "runtime/mpi/parallel_sort.h"

#include <catch2/catch.hpp>
#include <random>

using namespace rulemill::runtime;

TEST_CASE("parallel_sort sorts any number of values on any number of threads") {
  std::mt19937_64 random(1);
  for (const std::size_t count : {0U, 1U, 2U, 4095U, 4096U, 4097U, 8193U, 50000U}) {
    std::vector<std::uint64_t> values(count);
    for (std::uint64_t& value : values) value = random() % 1000;
    std::vector<std::uint64_t> expected = values;
    std::ranges::sort(expected, std::greater{});
    for (const unsigned threads : {1U, 2U, 3U, 7U}) {
      std::vector<std::uint64_t> sorted = values;
      parallel_sort(sorted, ThreadPool(threads), std::greater{});
      CHECK(sorted == expected);
    }
  }
}
