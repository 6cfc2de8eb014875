// Reductions whose bounds depend on an index, in plans and in reference execution.
#include <catch2/catch.hpp>

#include "algebra/execution/plan.h"
#include "algebra/execution/reference.h"
#include "algebra/library/library.h"

using namespace rulemill::algebra;

namespace {

/// The output for x = 1, 2, 3, 4, 5, which must be the same by plan and by reference execution.
std::vector<double> evaluate_body(const std::string& body) {
  Library library;
  library.add("operator f(x[n])\n  y[j < n] = " + body, "d.op");
  const std::vector<std::uint32_t> ranks = {1};
  const OperatorInstance& instance = library.instantiate("f", {}, ranks);
  Tensor x;
  x.shape = {5};
  x.values = {1, 2, 3, 4, 5};
  const std::vector<double> values(x.values.begin(), x.values.end());
  const std::vector<std::span<const double>> inputs = {values};
  const std::vector<std::vector<std::int64_t>> shapes = {{5}};
  const std::vector<double> planned =
      evaluate(library.functions(), compile(instance, shapes, {}).value(), inputs).at(0);
  const std::vector<const Tensor*> tensors = {&x};
  const std::vector<Tensor> outputs = run_reference(library.functions(), instance, tensors, {}).value();
  const std::vector<double> executed(outputs.at(0).values.begin(), outputs.at(0).values.end());
  REQUIRE(planned.size() == executed.size());
  for (std::size_t i = 0; i < planned.size(); ++i) CHECK(planned[i] == Approx(executed[i]));
  return planned;
}

}  // namespace

TEST_CASE("the bound of a reduction may depend on an index") {
  using Values = std::vector<double>;
  CHECK(evaluate_body("sum(p < j + 1) x[p]") == Values{1, 3, 6, 10, 15});
  CHECK(evaluate_body("sum(p < n - j) x[p + j]") == Values{15, 14, 12, 9, 5});
  CHECK(evaluate_body("sum(p < 2 * (j // 2)) x[p]") == Values{0, 0, 3, 3, 10});
  CHECK(evaluate_body("sum(p < j % 2 + 1) x[p]") == Values{1, 3, 1, 3, 1});
  CHECK(evaluate_body("sum(p < min(j, 2)) x[p]") == Values{0, 1, 3, 3, 3});
  CHECK(evaluate_body("sum(p < j - 7) x[p]") == Values{0, 0, 0, 0, 0});
  CHECK(evaluate_body("sum(p < n) (sum(q < p + 1) x[q] if p = j else 0)") == Values{1, 3, 6, 10, 15});
  CHECK(evaluate_body("sum(p < j + 1, q < p + 1) (x[q] if p = j else 0)") == Values{1, 3, 6, 10, 15});
  CHECK(evaluate_body("max(p < j + 1) (0 - x[p])") == Values{-1, -1, -1, -1, -1});
  CHECK(evaluate_body("max(p < j) x[p]") == Values{0, 1, 2, 3, 4});
  CHECK(evaluate_body("sum(p < j) x[p] / max(j, 1)") == Values{0, 1, 1.5, 2, 2.5});
}

TEST_CASE("a plan that is too large is rejected before it is built") {
  Library library;
  library.add("operator f(x[n])\n  y[j < n] = sum(p < 4294967296, q < 4294967296) x[p]", "d.op");
  library.add("operator g(x[n])\n  y[j < n, k < n * n * n * n] = x[j]", "d.op");
  const std::vector<std::uint32_t> ranks = {1};
  for (const std::string name : {"f", "g"}) {
    const OperatorInstance& instance = library.instantiate(name, {}, ranks);
    const std::vector<std::vector<std::int64_t>> shapes = {{1000}};
    CHECK_THROWS_WITH(compile(instance, shapes, {}, 100'000), name + ": its plan is too large for these shapes");
  }
}

TEST_CASE("an output of more than 2^62 elements is ill-typed") {
  Library library;
  library.add("operator f(x[n])\n  y[i < n * n, j < n] = x[j]", "d.op");
  const std::vector<std::uint32_t> ranks = {1};
  const OperatorInstance& instance = library.instantiate("f", {}, ranks);
  const auto is_well_typed = [&](std::int64_t n) {
    const std::vector<std::vector<std::int64_t>> shapes = {{n}};
    return infer(instance, shapes, {}).has_value();
  };
  CHECK(is_well_typed(std::int64_t{1} << 20));
  CHECK_FALSE(is_well_typed(std::int64_t{1} << 21));  // 2^63 elements
  CHECK_FALSE(is_well_typed(std::int64_t{1} << 32));  // 2^96
  CHECK_FALSE(is_well_typed(std::int64_t{1} << 62));
}
