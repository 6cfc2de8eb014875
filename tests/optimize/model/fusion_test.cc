#include "optimize/model/fusion.h"

#include <catch2/catch.hpp>

#include "tests/optimize/graph_fixture.h"

namespace rulemill::optimize {
namespace {

TEST_CASE("a convolution with its bias is recognized as a composite", "[fusion]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {1, 4, fixture.size("h"), 9}), k = fixture.weight("k", {8, 4, 3, 3});
  const ValueId b = fixture.weight("b", {8});
  const algebra::Parameters strided{{"stride", std::int64_t{2}}};
  const ValueId conv = fixture.op("conv2d", {x, k}, strided), biased = fixture.op("add_channel", {conv, b});
  const auto& match = fixture.fusion.composite(fixture.node(biased));
  REQUIRE(match.has_value());
  CHECK(fixture.library.instance(match->composite).operator_name == "conv2d_bias");
  CHECK(fixture.library.instance(match->composite).parameters.at("stride") == algebra::ParameterValue(std::int64_t{2}));
  CHECK(match->inputs == std::vector{x, k, b});
  CHECK(match->inner == std::vector{fixture.node(conv)});
  CHECK(match->sizes.empty());
}

TEST_CASE("nodes that do not end a composite are not recognized as one", "[fusion]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {1, 4, 9, 9}), k = fixture.weight("k", {4, 4, 3, 3}),
                b = fixture.weight("b", {4});
  const ValueId conv = fixture.op("conv2d", {x, k});
  CHECK_FALSE(fixture.fusion.composite(fixture.node(x)).has_value());
  CHECK_FALSE(fixture.fusion.composite(fixture.node(conv)).has_value());
  CHECK_FALSE(fixture.fusion.composite(fixture.node(fixture.op("add_channel", {x, b}))).has_value());
  CHECK_FALSE(fixture.fusion.composite(fixture.node(fixture.op("mul_channel", {conv, b}))).has_value());
  const ValueId active = fixture.op("conv2d", {x, k}, {{"act", std::string("relu")}});
  CHECK_FALSE(fixture.fusion.composite(fixture.node(fixture.op("add_channel", {active, b}))).has_value());
}

TEST_CASE("an activation is fused into an operator with a fused instance", "[fusion]") {
  GraphFixture fixture;
  const auto conv = fixture.instance("conv2d", {4, 4});
  CHECK(fixture.fusion.has_fused_activation(conv, fixture.instance("relu", {4})));
  CHECK_FALSE(fixture.fusion.has_fused_activation(conv, fixture.instance("tanh", {4})));
  CHECK_FALSE(fixture.fusion.has_fused_activation(conv, fixture.instance("add", {4, 4})));
  CHECK_FALSE(fixture.fusion.has_fused_activation(fixture.instance("matmul", {2, 2}), fixture.instance("relu", {2})));
  CHECK_FALSE(fixture.fusion.has_fused_activation(fixture.instance("relu", {4}), fixture.instance("relu", {4})));
  CHECK(fixture.fusion.has_fused_activation(conv, fixture.instance("relu", {4})));  // cached
}

TEST_CASE("an activation is fused into a convolution with or without a bias", "[fusion]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {1, 4, 9, 9}), k = fixture.weight("k", {4, 4, 3, 3}),
                b = fixture.weight("b", {4});
  const ValueId conv = fixture.op("conv2d", {x, k}), biased = fixture.op("add_channel", {conv, b});
  const ValueId shifted = fixture.op("add_channel", {x, b});
  const auto relu = fixture.instance("relu", {4}), tanh = fixture.instance("tanh", {4});
  CHECK(fixture.fusion.fuses_activation(fixture.node(conv), relu));
  CHECK(fixture.fusion.fuses_activation(fixture.node(biased), relu));
  CHECK_FALSE(fixture.fusion.fuses_activation(fixture.node(biased), tanh));
  CHECK_FALSE(fixture.fusion.fuses_activation(fixture.node(shifted), relu));
  CHECK_FALSE(fixture.fusion.fuses_activation(fixture.node(x), relu));
}

TEST_CASE("a producer and a last step have a composite of exactly these two steps", "[fusion]") {
  GraphFixture fixture;
  const auto conv = fixture.instance("conv2d", {4, 4}), bias = fixture.instance("add_channel", {4, 1});
  CHECK(fixture.fusion.composite_of(conv, bias));
  CHECK(fixture.fusion.composite_of(fixture.instance("conv2d", {4, 4}, {{"stride", std::int64_t{3}}}), bias));
  CHECK_FALSE(fixture.fusion.composite_of(conv, fixture.instance("mul_channel", {4, 1})));
  CHECK_FALSE(fixture.fusion.composite_of(fixture.instance("max_pool", {4}, {{"kernel", std::int64_t{2}}}), bias));
  CHECK_FALSE(fixture.fusion.composite_of(bias, conv));
  CHECK_FALSE(fixture.fusion.composite_of(fixture.instance("split", {4}, {{"axis", std::int64_t{1}}}), bias));
}

TEST_CASE("uses are counted for each argument and each root", "[fusion]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {4}), square = fixture.op("mul", {x, x}), sum = fixture.op("add", {square, x});
  const ValueId unused = fixture.op("relu", {x});
  const std::vector<ValueId> roots{sum, square, sum};
  const auto uses = count_uses(fixture.bank, fixture.bank.live_nodes(roots), roots);
  CHECK(uses == std::unordered_map<ValueId, std::uint32_t>{{x, 3}, {square, 2}, {sum, 2}});
  CHECK_FALSE(uses.contains(unused));
}

}  // namespace
}  // namespace rulemill::optimize
