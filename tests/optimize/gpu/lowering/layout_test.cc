#include "optimize/gpu/lowering/layout.h"

#include <catch2/catch.hpp>

namespace rulemill::optimize::gpu {
namespace {

TEST_CASE("reordered values are at the offsets given by the strides", "[gpu]") {
  const std::vector<std::int64_t> dims{2, 3, 2, 5};
  std::vector<float> values;
  for (int i = 0; i < 60; ++i) values.push_back(static_cast<float>(i));
  CHECK(to_layout(values, dims, Layout::RowMajor) == values);
  const std::vector<float> reordered = to_layout(values, dims, Layout::ChannelsLast);
  const auto from = strides(dims, Layout::RowMajor), to = strides(dims, Layout::ChannelsLast);
  CHECK(from == std::vector<std::int64_t>{30, 10, 5, 1});
  CHECK(to == std::vector<std::int64_t>{30, 1, 15, 3});
  const auto at = [](std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, const auto& stride) {
    return static_cast<std::size_t>(n * stride[0] + c * stride[1] + h * stride[2] + w * stride[3]);
  };
  CHECK(reordered[at(1, 2, 0, 3, to)] == values[at(1, 2, 0, 3, from)]);
  CHECK(reordered[at(0, 1, 1, 4, to)] == values[at(0, 1, 1, 4, from)]);
  CHECK(layouts_coincide(std::vector<std::int64_t>{4, 7, 1, 1}));
  CHECK(layouts_coincide(std::vector<std::int64_t>{4, 1, 3, 3}));
  CHECK_FALSE(layouts_coincide(dims));
}

}  // namespace
}  // namespace rulemill::optimize::gpu
