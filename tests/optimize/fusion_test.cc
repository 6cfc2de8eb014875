#include "optimize/fusion.h"

#include <catch2/catch.hpp>

#include "tests/optimize/graphs.h"

namespace rulemill::optimize {
namespace {

TEST_CASE("a convolution and its bias are found as the composite that says both", "[fusion]") {
  Workshop shop;
  const ValueId x = shop.input("x", {1, 4, shop.size("h"), 9}), k = shop.weight("k", {8, 4, 3, 3});
  const ValueId b = shop.weight("b", {8});
  const algebra::Parameters strided{{"stride", std::int64_t{2}}};
  const ValueId conv = shop.op("conv2d", {x, k}, strided), biased = shop.op("add_channel", {conv, b});
  const auto& match = shop.fusion.composite(shop.node(biased));
  REQUIRE(match.has_value());
  CHECK(shop.library.instance(match->composite).operator_name == "conv2d_bias");
  CHECK(shop.library.instance(match->composite).parameters.at("stride") == algebra::ParameterValue(std::int64_t{2}));
  CHECK(match->inputs == std::vector{x, k, b});
  CHECK(match->inner == std::vector{shop.node(conv)});
  CHECK(match->sizes.empty());
}

TEST_CASE("what no composite ends with is none: a step alone, other steps, a first step with an activation",
          "[fusion]") {
  Workshop shop;
  const ValueId x = shop.input("x", {1, 4, 9, 9}), k = shop.weight("k", {4, 4, 3, 3}), b = shop.weight("b", {4});
  const ValueId conv = shop.op("conv2d", {x, k});
  CHECK_FALSE(shop.fusion.composite(shop.node(x)).has_value());
  CHECK_FALSE(shop.fusion.composite(shop.node(conv)).has_value());
  CHECK_FALSE(shop.fusion.composite(shop.node(shop.op("add_channel", {x, b}))).has_value());
  CHECK_FALSE(shop.fusion.composite(shop.node(shop.op("mul_channel", {conv, b}))).has_value());
  const ValueId active = shop.op("conv2d", {x, k}, {{"act", std::string("relu")}});
  CHECK_FALSE(shop.fusion.composite(shop.node(shop.op("add_channel", {active, b}))).has_value());
}

TEST_CASE("an activation is fused into what has an instance for it", "[fusion]") {
  Workshop shop;
  const auto conv = shop.instance("conv2d", {4, 4});
  CHECK(shop.fusion.has_fused(conv, shop.instance("relu", {4})));
  CHECK_FALSE(shop.fusion.has_fused(conv, shop.instance("tanh", {4})));
  CHECK_FALSE(shop.fusion.has_fused(conv, shop.instance("add", {4, 4})));
  CHECK_FALSE(shop.fusion.has_fused(shop.instance("matmul", {2, 2}), shop.instance("relu", {2})));
  CHECK_FALSE(shop.fusion.has_fused(shop.instance("relu", {4}), shop.instance("relu", {4})));
  CHECK(shop.fusion.has_fused(conv, shop.instance("relu", {4})));  // asked again
}

TEST_CASE("an activation runs inside a convolution, and inside one with its bias", "[fusion]") {
  Workshop shop;
  const ValueId x = shop.input("x", {1, 4, 9, 9}), k = shop.weight("k", {4, 4, 3, 3}), b = shop.weight("b", {4});
  const ValueId conv = shop.op("conv2d", {x, k}), biased = shop.op("add_channel", {conv, b});
  const ValueId shifted = shop.op("add_channel", {x, b});
  const auto relu = shop.instance("relu", {4}), tanh = shop.instance("tanh", {4});
  CHECK(shop.fusion.runs_inside(shop.node(conv), relu));
  CHECK(shop.fusion.runs_inside(shop.node(biased), relu));
  CHECK_FALSE(shop.fusion.runs_inside(shop.node(biased), tanh));
  CHECK_FALSE(shop.fusion.runs_inside(shop.node(shifted), relu));
  CHECK_FALSE(shop.fusion.runs_inside(shop.node(x), relu));
}

TEST_CASE("a producer and a last step have a composite if one says just these two", "[fusion]") {
  Workshop shop;
  const auto conv = shop.instance("conv2d", {4, 4}), bias = shop.instance("add_channel", {4, 1});
  CHECK(shop.fusion.composite_of(conv, bias));
  CHECK(shop.fusion.composite_of(shop.instance("conv2d", {4, 4}, {{"stride", std::int64_t{3}}}), bias));
  CHECK_FALSE(shop.fusion.composite_of(conv, shop.instance("mul_channel", {4, 1})));
  CHECK_FALSE(shop.fusion.composite_of(shop.instance("max_pool", {4}, {{"kernel", std::int64_t{2}}}), bias));
  CHECK_FALSE(shop.fusion.composite_of(bias, conv));
  CHECK_FALSE(shop.fusion.composite_of(shop.instance("split", {4}, {{"axis", std::int64_t{1}}}), bias));
}

TEST_CASE("uses are counted once for each argument and each root", "[fusion]") {
  Workshop shop;
  const ValueId x = shop.input("x", {4}), square = shop.op("mul", {x, x}), sum = shop.op("add", {square, x});
  const ValueId apart = shop.op("relu", {x});
  const std::vector<ValueId> roots{sum, square, sum};
  const auto uses = count_uses(shop.bank, shop.bank.live(roots), roots);
  CHECK(uses == std::unordered_map<ValueId, std::uint32_t>{{x, 3}, {square, 2}, {sum, 2}});
  CHECK_FALSE(uses.contains(apart));
}

}  // namespace
}  // namespace rulemill::optimize
