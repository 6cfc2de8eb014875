#include "optimize/gpu/kernels/kernel_source.h"

#include <catch2/catch.hpp>

#include "tests/optimize/gpu/drawn_nodes.h"
#include "tests/optimize/gpu/host_kernels.h"

namespace rulemill::optimize::gpu {
namespace {

struct KernelCase {
  DrawnNode node;
  TensorExprs exprs;
  std::vector<Kernel> kernels;
};

std::vector<KernelCase> cases_of(algebra::Library& library, int each, algebra::Symbols& symbols) {
  std::vector<KernelCase> cases;
  for (const auto& [name, nodes] : draw_nodes(library, each, 11)) {
    for (const DrawnNode& node : nodes) {
      auto exprs = lower_instance(*node.instance, node.shapes, node.sizes, symbols);
      REQUIRE(exprs.has_value());
      std::vector<Kernel> kernels;
      for (const TensorExpr& body : exprs->computed)
        kernels.push_back(make_kernel(body, exprs->dims, library.functions(), symbols));
      cases.push_back({node, std::move(*exprs), std::move(kernels)});
    }
  }
  return cases;
}

/// Compares float results with the reference in double.
void check_equal(const std::vector<float>& actual, const std::vector<float>& expected) {
  REQUIRE(actual.size() == expected.size());
  float scale = 1;
  for (const float value : expected) {
    if (std::isfinite(value)) scale = std::max(scale, std::fabs(value));
  }
  for (std::size_t e = 0; e < actual.size(); ++e) {
    if (std::isnan(expected[e])) {
      CHECK(std::isnan(actual[e]));
    } else if (actual[e] != expected[e]) {
      CHECK(std::fabs(actual[e] - expected[e]) <= 2e-5F * scale);
    }
  }
}

TEST_CASE("kernels of every operator compute the reference results", "[gpu]") {
  if (!has_host_compiler()) {
    WARN("SKIPPED: no c++ here");
    return;
  }
  algebra::Library library = shipped_operators();
  algebra::Symbols symbols;
  const std::vector<KernelCase> cases = cases_of(library, 2, symbols);
  std::vector<Kernel> kernels;
  std::set<std::string> operators;
  for (const KernelCase& test_case : cases) {
    kernels.insert(kernels.end(), test_case.kernels.begin(), test_case.kernels.end());
    operators.insert(test_case.node.instance->operator_name);
  }
  for (const std::string& name : library.operator_names()) {
    INFO(name);
    CHECK(operators.contains(name));
  }
  const HostKernels host(kernels, library.functions());
  REQUIRE(host.compiled());
  std::mt19937_64 random(3);
  for (const KernelCase& test_case : cases) {
    INFO(test_case.node.instance->name << "\n" << test_case.kernels.back().source);
    const auto inputs = draw_values(test_case.node, random);
    std::vector<const algebra::Tensor*> pointers;
    for (const auto& input : inputs) pointers.push_back(&input);
    const auto expected =
        algebra::run_reference(library.functions(), *test_case.node.instance, pointers, test_case.node.sizes);
    REQUIRE(expected.has_value());
    const auto actual = run_on_host(host, test_case.exprs, test_case.kernels, inputs);
    REQUIRE(actual.size() == expected->size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const std::vector<double>& exact = expected->at(i).values;
      check_equal(actual[i], {exact.begin(), exact.end()});
    }
  }
}

}  // namespace
}  // namespace rulemill::optimize::gpu
