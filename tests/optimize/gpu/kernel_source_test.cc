#include "optimize/gpu/kernel_source.h"

#include <catch2/catch.hpp>

#include "tests/optimize/gpu/draws.h"
#include "tests/optimize/gpu/host_kernels.h"

namespace rulemill::optimize::gpu {
namespace {

struct Case {
  Drawn node;
  Bodies bodies;
  std::vector<Kernel> kernels;
};

std::vector<Case> cases_of(algebra::Library& library, int each, algebra::Symbols& symbols) {
  std::vector<Case> cases;
  for (const auto& [name, nodes] : drawn_nodes(library, each, 11)) {
    for (const Drawn& node : nodes) {
      auto bodies = bodies_of(*node.instance, node.shapes, node.sizes, symbols);
      REQUIRE(bodies.has_value());
      std::vector<Kernel> kernels;
      for (const Body& body : bodies->computed)
        kernels.push_back(kernel_of(body, bodies->dims, library.functions(), symbols));
      cases.push_back({node, std::move(*bodies), std::move(kernels)});
    }
  }
  return cases;
}

/// What float sums may differ by from the reference's, in double.
void check_equal(const std::vector<float>& made, const std::vector<float>& expected) {
  REQUIRE(made.size() == expected.size());
  float largest = 1;
  for (const float value : expected) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  for (std::size_t e = 0; e < made.size(); ++e) {
    if (std::isnan(expected[e])) {
      CHECK(std::isnan(made[e]));
    } else if (made[e] != expected[e]) {
      CHECK(std::fabs(made[e] - expected[e]) <= 2e-5F * largest);
    }
  }
}

TEST_CASE("kernels compute what the reference does, of every operator", "[gpu]") {
  if (!host_compiler_is_there()) {
    WARN("SKIPPED: no c++ here");
    return;
  }
  algebra::Library library = shipped_operators();
  algebra::Symbols symbols;
  const std::vector<Case> cases = cases_of(library, 2, symbols);
  std::vector<Kernel> kernels;
  std::set<std::string> operators;
  for (const Case& one : cases) {
    kernels.insert(kernels.end(), one.kernels.begin(), one.kernels.end());
    operators.insert(one.node.instance->operator_name);
  }
  for (const std::string& name : library.operator_names()) {
    INFO(name);
    CHECK(operators.contains(name));
  }
  const HostKernels host(kernels, library.functions());
  REQUIRE(host.compiled());
  std::mt19937_64 random(3);
  for (const Case& one : cases) {
    INFO(one.node.instance->name << "\n" << one.kernels.back().source);
    const auto inputs = values_for(one.node, random);
    std::vector<const algebra::Tensor*> pointers;
    for (const auto& input : inputs) pointers.push_back(&input);
    const auto expected = algebra::run(library.functions(), *one.node.instance, pointers, one.node.sizes);
    REQUIRE(expected.has_value());
    const auto made = run_on_host(host, one.bodies, one.kernels, inputs);
    REQUIRE(made.size() == expected->size());
    for (std::size_t i = 0; i < made.size(); ++i) {
      const std::vector<double>& exact = expected->at(i).values;
      check_equal(made[i], {exact.begin(), exact.end()});
    }
  }
}

}  // namespace
}  // namespace rulemill::optimize::gpu
