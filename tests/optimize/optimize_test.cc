#include <catch2/catch.hpp>
#include <iostream>

#include "tests/optimize/models.h"

namespace rulemill::optimize {
namespace {

Options options_for(const std::filesystem::path& model, const std::filesystem::path& out) {
  Options options;
  options.model = model;
  options.out = out;
  return options;
}

const std::filesystem::path models = std::filesystem::path(RULEMILL_SOURCE_DIR) / "data/models";

TEST_CASE("the branches of an ACNet block become one convolution", "[optimize]") {
  ScratchFolder scratch;
  RulesFromText rules(branch_rules);
  Options options = options_for(models / "acnet_block.onnx", scratch.path / "out.onnx");
  options.search.alpha = 1.5;
  Summary summary = rules.optimize(options);
  std::cout << to_text(summary);
  CHECK(summary.onnx_nodes_before == 24);
  CHECK(summary.onnx_nodes_after == 6);
  CHECK(summary.unknown.empty());
  CHECK(summary.seconds_after < 0.7 * summary.seconds_before);
}

TEST_CASE("an adapter is merged into its weights at any number of rows", "[optimize]") {
  ScratchFolder scratch;
  RulesFromText rules(R"(
rule associate(x:2, a:2, b:2)
  matmul(matmul(x, a), b) => matmul(x, matmul(a, b))
rule distribute(x:2, a:2, b:2)
  add(matmul(x, a), matmul(x, b)) => matmul(x, add(a, b))
)");
  Options options = options_for(models / "lora_layer.onnx", scratch.path / "out.onnx");
  options.search.alpha = 1.5;
  Summary summary = rules.optimize(options);
  std::cout << to_text(summary);
  CHECK(summary.onnx_nodes_before == 30);
  CHECK(summary.onnx_nodes_after == 12);
}

}  // namespace
}  // namespace rulemill::optimize
