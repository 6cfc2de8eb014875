#include "algebra/execution/plan.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "algebra/library/library.h"
#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

using Shapes = std::vector<std::vector<std::int64_t>>;

std::vector<double> evaluate_plan(Library& library, const std::string& name, const Parameters& parameters,
                                  const Shapes& shapes, std::vector<std::vector<double>> values,
                                  std::vector<std::int64_t> sizes = {}) {
  std::vector<std::uint32_t> ranks;
  for (const auto& shape : shapes) ranks.push_back(static_cast<std::uint32_t>(shape.size()));
  const OperatorInstance& instance = library.instantiate(name, parameters, ranks);
  const auto plan = compile(instance, shapes, sizes);
  REQUIRE(plan);
  std::vector<std::span<const double>> inputs(values.begin(), values.end());
  return evaluate(library.functions(), *plan, inputs).at(0);
}

}  // namespace

TEST_CASE("plans compute the values of the definitions") {
  Library library = shipped_operators();
  CHECK(evaluate_plan(library, "matmul", {}, {{2, 2}, {2, 2}}, {{1, 2, 3, 4}, {5, 6, 7, 8}}) ==
        std::vector<double>{19, 22, 43, 50});
  CHECK(evaluate_plan(library, "concat", {{"axis", std::int64_t{1}}}, {{2, 1}, {2, 2}}, {{1, 2}, {3, 4, 5, 6}}) ==
        std::vector<double>{1, 3, 4, 2, 5, 6});
  CHECK(evaluate_plan(library, "transpose", {{"perm", std::vector<std::int64_t>{1, 0}}}, {{2, 3}},
                      {{1, 2, 3, 4, 5, 6}}) == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK(evaluate_plan(library, "transpose", {{"perm", std::vector<std::int64_t>{1, 2, 0}}}, {{1, 2, 3}},
                      {{1, 2, 3, 4, 5, 6}}) == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(evaluate_plan(library, "identity", {}, {}, {}, {2}) == std::vector<double>{1, 0, 0, 1});
}

TEST_CASE("a convolution pads with zeros, and a maximum ignores padding") {
  Library library = shipped_operators();
  const std::vector<double> image = {-1, -2, -3, -4};
  CHECK(evaluate_plan(library, "max_pool", {{"kernel", std::int64_t{3}}}, {{1, 1, 2, 2}}, {image}) ==
        std::vector<double>{-1, -1, -1, -1});
  CHECK(evaluate_plan(library, "conv2d", {}, {{1, 1, 2, 2}, {1, 1, 3, 3}}, {image, std::vector<double>(9, 1)}) ==
        std::vector<double>{-10, -10, -10, -10});
  CHECK(evaluate_plan(library, "conv2d", {{"act", std::string("relu")}}, {{1, 1, 2, 2}, {1, 1, 1, 1}}, {image, {-1}}) ==
        std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("a grouped convolution reads only the channels of its group") {
  Library library = shipped_operators();
  // two groups of one channel, two filters each
  CHECK(evaluate_plan(library, "conv2d", {}, {{1, 2, 1, 1}, {4, 1, 1, 1}}, {{1, 10}, {1, 2, 3, 4}}) ==
        std::vector<double>{1, 2, 30, 40});
}

TEST_CASE("a composite computes the same as its steps") {
  Library library = shipped_operators();
  const std::vector<std::uint32_t> ranks = {4, 4, 1};
  CHECK(library.instantiate("conv2d_bias", {}, ranks).composite.size() == 2);
  CHECK(evaluate_plan(library, "conv2d_bias", {}, {{1, 1, 1, 2}, {2, 1, 1, 1}, {2}}, {{1, 2}, {3, 5}, {100, 200}}) ==
        std::vector<double>{103, 106, 205, 210});
}
