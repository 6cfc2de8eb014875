#include "optimize/gpu/layouts.h"

#include <catch2/catch.hpp>

namespace rulemill::optimize::gpu {
namespace {

TEST_CASE("values in another layout stand where its strides say", "[gpu]") {
  const std::vector<std::int64_t> dims{2, 3, 2, 5};
  std::vector<float> values;
  for (int i = 0; i < 60; ++i) values.push_back(static_cast<float>(i));
  CHECK(rearranged(values, dims, Layout::RowMajor) == values);
  const std::vector<float> made = rearranged(values, dims, Layout::ChannelsLast);
  const auto from = strides(dims, Layout::RowMajor), to = strides(dims, Layout::ChannelsLast);
  CHECK(from == std::vector<std::int64_t>{30, 10, 5, 1});
  CHECK(to == std::vector<std::int64_t>{30, 1, 15, 3});
  const auto at = [](std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, const auto& apart) {
    return static_cast<std::size_t>(n * apart[0] + c * apart[1] + h * apart[2] + w * apart[3]);
  };
  CHECK(made[at(1, 2, 0, 3, to)] == values[at(1, 2, 0, 3, from)]);
  CHECK(made[at(0, 1, 1, 4, to)] == values[at(0, 1, 1, 4, from)]);
  CHECK(same_order(std::vector<std::int64_t>{4, 7, 1, 1}));
  CHECK(same_order(std::vector<std::int64_t>{4, 1, 3, 3}));
  CHECK_FALSE(same_order(dims));
}

}  // namespace
}  // namespace rulemill::optimize::gpu
