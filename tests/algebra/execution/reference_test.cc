#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <random>

#include "algebra/execution/plan.h"
#include "algebra/execution/reference.h"
#include "algebra/library/library.h"
#include "tests/shipped_operators.h"

using namespace rulemill::algebra;

TEST_CASE("reference execution is equivalent to the evaluation plan at odd sizes, within the bound of its errors") {
  Library library = shipped_operators();
  std::mt19937 random(7);
  std::size_t compared = 0;
  struct Case {
    std::string name;
    Parameters parameters;
    std::vector<std::vector<std::int64_t>> shapes;
    std::vector<std::int64_t> sizes;
  };
  std::vector<Case> cases = {
      {"linear", {}, {{2, 3, 5}, {5, 7}}, {}},
      {"matmul", {}, {{2, 3, 5}, {2, 5, 1}}, {}},
      {"split", {{"axis", std::int64_t{1}}}, {{3, 5, 2}}, {2}},
      {"enlarge", {{"rows", std::int64_t{5}}, {"cols", std::int64_t{4}}}, {{2, 1, 2, 3}}, {}},
      {"identity_kernel", {{"kernel", std::int64_t{3}}}, {}, {3}},
      {"pool_kernel", {{"kernel", std::int64_t{2}}}, {}, {3}},
      {"global_avg_pool", {}, {{2, 3, 4, 5}}, {}},
      {"add_row", {}, {{2, 3, 4}, {4}}, {}},
      {"conv2d_bias", {{"stride", std::int64_t{2}}}, {{1, 4, 6, 5}, {6, 2, 3, 2}, {6}}, {}},
      {"concat", {{"axis", std::int64_t{0}}}, {{2, 3}, {1, 3}}, {}},
      // Rows of which up to 16 elements are summed side by side.
      {"matmul", {}, {{2, 3, 5}, {2, 5, 61}}, {}},
      {"matmul", {}, {{2, 3, 5}, {2, 5, 7}}, {}},
      {"linear", {}, {{3, 70, 6}, {6, 20}}, {}},
      {"enlarge", {{"rows", std::int64_t{5}}, {"cols", std::int64_t{41}}}, {{2, 1, 2, 39}}, {}},
      {"global_avg_pool", {}, {{1, 70, 3, 5}}, {}},
      {"conv2d_bias", {{"stride", std::int64_t{2}}}, {{1, 4, 6, 77}, {6, 2, 3, 2}, {6}}, {}},
      {"softmax", {}, {{3, 41}}, {}},
      {"sigmoid", {}, {{7, 5}}, {}},
      {"exp", {}, {{7, 5}}, {}},
      {"floor", {}, {{7, 5}}, {}},
      {"clip", {}, {{7, 5}, {}, {}}, {}},
      {"gelu", {}, {{7, 5}}, {}},
      {"reduce_mean", {{"axes", std::vector<std::int64_t>{1}}}, {{5, 300}}, {}},
  };
  for (const char* pad : {"same", "valid"}) {
    for (std::int64_t stride : {1, 2, 3}) {
      const Parameters window = {{"kernel", std::int64_t{3}}, {"stride", stride}, {"pad", std::string(pad)}};
      for (const std::int64_t columns : {4, 45}) {
        cases.push_back({"avg_pool", window, {{1, 2, 7, columns}}, {}});
        cases.push_back({"max_pool", window, {{1, 2, 7, columns}}, {}});
        cases.push_back({"conv2d",
                         {{"stride", stride}, {"pad", std::string(pad)}, {"act", std::string("relu")}},
                         {{2, 4, 7, columns + 2}, {4, 2, 4, 3}},
                         {}});
      }
    }
  }
  for (const Case& test_case : cases) {
    std::vector<std::uint32_t> ranks;
    std::vector<Tensor> tensors;
    std::vector<std::vector<double>> values;
    for (const auto& shape : test_case.shapes) {
      ranks.push_back(static_cast<std::uint32_t>(shape.size()));
      Tensor& tensor = tensors.emplace_back();
      tensor.shape = shape;
      std::int64_t count = 1;
      for (std::int64_t dim : shape) count *= dim;
      for (std::int64_t i = 0; i < count; ++i) tensor.values.push_back((static_cast<float>(random() % 170) - 85) / 7);
      values.emplace_back(tensor.values.begin(), tensor.values.end());
    }
    const OperatorInstance& instance = library.instantiate(test_case.name, test_case.parameters, ranks);
    INFO(instance.name);
    std::vector<const Tensor*> pointers;
    for (const Tensor& tensor : tensors) pointers.push_back(&tensor);
    const auto outputs = run_reference(library.functions(), instance, pointers, test_case.sizes);
    const auto single = run_reference(library.functions(), instance, pointers, test_case.sizes, Arithmetic::Float32);
    const auto tracked = run_reference(library.functions(), instance, pointers, test_case.sizes, Arithmetic::Tracked);
    const auto plan = compile(instance, test_case.shapes, test_case.sizes);
    REQUIRE(outputs);
    REQUIRE(plan);
    const std::vector<std::span<const double>> spans(values.begin(), values.end());
    const auto expected = evaluate(library.functions(), *plan, spans);
    REQUIRE(expected.size() == outputs->size());
    for (std::size_t k = 0; k < expected.size(); ++k) {
      CHECK((*outputs)[k].shape == plan->output_shapes[k]);
      REQUIRE((*outputs)[k].values.size() == expected[k].size());
      CHECK((*tracked)[k].values == (*outputs)[k].values);
      for (std::size_t i = 0; i < expected[k].size(); ++i) {
        const double value = (*outputs)[k].values[i];
        CHECK(value == Approx(expected[k][i]).epsilon(1e-6));
        CHECK(std::abs((*single)[k].values[i] - value) <= 2 * 0x1p-24 * (*tracked)[k].errors[i]);
      }
      ++compared;
    }
  }
  CHECK(compared == cases.size() + 1);
}
