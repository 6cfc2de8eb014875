#include "optimize/equal/prover/constant_view.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>

namespace rulemill::optimize {

namespace {

using algebra::Tensor;
using Shape = std::vector<std::int64_t>;

std::size_t elements_of(const Shape& shape) {
  return static_cast<std::size_t>(std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

/// The elements of a box with permuted dimensions, by the definition.
std::vector<double> read(const Tensor& whole, const ConstantView& view) {
  Shape box, strides(view.dims.size());
  std::int64_t stride = 1, origin = 0;
  for (std::size_t d = view.dims.size(); d-- > 0; stride *= view.dims[d]) {
    strides[d] = stride;
    origin += view.begins[d] * stride;
  }
  std::vector<std::size_t> wide;  // dimensions above 1
  for (std::size_t d = 0; d < view.dims.size(); ++d) {
    if (view.extents[d] > 1) wide.push_back(d);
  }
  std::vector<std::int64_t> places = {origin};
  for (const std::int64_t p : view.perm) {
    const std::size_t d = wide.at(static_cast<std::size_t>(p));
    std::vector<std::int64_t> next;
    for (const std::int64_t place : places) {
      for (std::int64_t i = 0; i < view.extents[d]; ++i) next.push_back(place + i * strides[d]);
    }
    places = std::move(next);
  }
  std::vector<double> result;
  for (const std::int64_t place : places) result.push_back(whole.values.at(static_cast<std::size_t>(place)));
  return result;
}

}  // namespace

TEST_CASE("random parts of a constant are found, reshaped and transposed") {
  std::mt19937 random(7);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int round = 0; round < 2000; ++round) {
    const std::int64_t values = round % 4 == 0 ? 3 : 1'000'000;  // few: many equal elements
    ConstantView given;
    Shape box;
    for (std::int64_t d = draw(1, 4); d > 0; --d) {
      given.dims.push_back(draw(1, 5));
      given.extents.push_back(draw(1, given.dims.back()));
      given.begins.push_back(draw(0, given.dims.back() - given.extents.back()));
      if (given.extents.back() > 1) box.push_back(given.extents.back());
    }
    given.perm.resize(box.size());
    std::iota(given.perm.begin(), given.perm.end(), 0);
    std::ranges::shuffle(given.perm, random);
    Tensor whole{given.dims, std::vector<double>(elements_of(given.dims))};
    for (double& value : whole.values) value = static_cast<double>(draw(1, values));
    Tensor part{{}, read(whole, given)};
    for (const std::int64_t p : given.perm) part.shape.push_back(box[static_cast<std::size_t>(p)]);
    if (draw(0, 1) == 1) part.shape.insert(part.shape.begin(), 1);
    const auto found = find_view(part, whole);
    INFO("round " << round);
    if (part.values.size() > 1 && values > 3) REQUIRE(found.has_value());
    if (found) CHECK(read(whole, *found) == part.values);
  }
}

TEST_CASE("a constant with another element is no part") {
  const Tensor whole{{2, 3}, {1, 2, 3, 4, 5, 6}};
  CHECK(find_view({{2, 2}, {2, 3, 5, 6}}, whole).has_value());
  CHECK_FALSE(find_view({{2, 2}, {2, 3, 5, 6.001}}, whole).has_value());
  CHECK_FALSE(find_view({{2, 2}, {2, 3, 6, 5}}, whole).has_value());
  CHECK_FALSE(find_view({{2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}}, whole).has_value());
  CHECK_FALSE(find_view({{1}, {2}}, whole).has_value());
}

TEST_CASE("a block is compared along its axis") {
  const Tensor whole{{2, 3}, {1, 2, 3, 4, 5, 6}};
  CHECK(has_block(whole, 1, 1, {{2, 2}, {2, 3, 5, 6}}));
  CHECK_FALSE(has_block(whole, 1, 0, {{2, 2}, {2, 3, 5, 6}}));
  CHECK_FALSE(has_block(whole, 1, 2, {{2, 2}, {3, 1, 6, 4}}));
  CHECK(has_block(whole, 0, 1, {{1, 3}, {4, 5, 6}}));
}

}  // namespace rulemill::optimize
