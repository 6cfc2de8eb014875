#include "optimize/gpu/kernels/kernel_source.h"

#include <catch2/catch.hpp>
#include <set>

#include "tests/gpu_stand_in/host_module.h"
#include "tests/optimize/gpu/drawn_nodes.h"

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

/// Computes all tensors of a node, one kernel after the other; returns the outputs.
std::vector<std::vector<float>> run_on_host(const gpu_stand_in::HostModule& host, const KernelCase& test_case,
                                            const std::vector<algebra::Tensor>& inputs) {
  std::vector<std::vector<float>> values;
  for (const algebra::Tensor& input : inputs) values.emplace_back(input.values.begin(), input.values.end());
  for (const Kernel& kernel : test_case.kernels) {
    std::vector<float> out(static_cast<std::size_t>(kernel.elements), -12345.0F);
    std::vector<void*> pointers;
    for (const std::uint32_t read : kernel.reads) pointers.push_back(values.at(read).data());
    pointers.push_back(out.data());
    // One block more than needed, so that threads without an element occur.
    host.find(kernel.name)(pointers.data(), kernel.blocks() + 1, Kernel::threads_per_block);
    values.push_back(std::move(out));
  }
  const std::size_t first_output = inputs.size() + test_case.exprs.intermediates;
  return {values.begin() + static_cast<std::ptrdiff_t>(first_output), values.end()};
}

/// Returns the inputs with each element changed by some roundings of a float.
std::vector<algebra::Tensor> perturbed(std::vector<algebra::Tensor> inputs) {
  constexpr double relative_change = 0x1p-21;
  std::mt19937_64 random(5);
  for (algebra::Tensor& input : inputs) {
    for (double& value : input.values) value *= 1 + (random() % 2 == 0 ? relative_change : -relative_change);
  }
  return inputs;
}

/// Compares float results with the reference in double. Elements may differ as much as those of perturbed inputs do,
/// because a root of a difference may amplify each rounding.
void check_equal(const std::vector<float>& actual, const std::vector<float>& expected,
                 const std::vector<float>& of_perturbed) {
  REQUIRE(actual.size() == expected.size());
  float scale = 1;
  for (const float value : expected) {
    if (std::isfinite(value)) scale = std::max(scale, std::fabs(value));
  }
  for (std::size_t e = 0; e < actual.size(); ++e) {
    if (std::isnan(expected[e])) {
      CHECK(std::isnan(actual[e]));
    } else if (actual[e] != expected[e]) {
      const float sensitivity = std::fabs(of_perturbed[e] - expected[e]);
      CHECK(std::fabs(actual[e] - expected[e]) <= 2e-5F * scale + (std::isfinite(sensitivity) ? sensitivity : 0));
    }
  }
}

TEST_CASE("kernels of every operator compute the reference results", "[gpu]") {
  if (!gpu_stand_in::has_host_compiler()) {
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
  const gpu_stand_in::HostModule host(translation_unit(kernels, library.functions()));
  REQUIRE(host.compiled());
  std::mt19937_64 random(3);
  for (const KernelCase& test_case : cases) {
    INFO(test_case.node.instance->name << "\n" << test_case.kernels.back().source);
    const auto inputs = draw_values(test_case.node, random);
    const auto reference = [&](const std::vector<algebra::Tensor>& arguments) {
      std::vector<const algebra::Tensor*> pointers;
      for (const auto& argument : arguments) pointers.push_back(&argument);
      return algebra::run_reference(library.functions(), *test_case.node.instance, pointers, test_case.node.sizes);
    };
    const auto expected = reference(inputs), of_perturbed = reference(perturbed(inputs));
    REQUIRE(expected.has_value());
    REQUIRE(of_perturbed.has_value());
    const auto actual = run_on_host(host, test_case, inputs);
    REQUIRE(actual.size() == expected->size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const std::vector<double>& exact = expected->at(i).values;
      const std::vector<double>& near = of_perturbed->at(i).values;
      check_equal(actual[i], {exact.begin(), exact.end()}, {near.begin(), near.end()});
    }
  }
}

}  // namespace
}  // namespace rulemill::optimize::gpu
