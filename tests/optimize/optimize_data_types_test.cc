// Rules whose targets have operators without inputs, in models of every float type.
#include <catch2/catch.hpp>

#include "optimize/optimize.h"
#include "tests/optimize/models.h"

namespace rulemill::optimize {
namespace {

const char* scale_as_convolution = R"(
rule scale_as_convolution(x[n, c, h, w], b[c])
  mul_channel(x, b) => conv2d(x, scale_filters(pool_kernel(; kernel=1, c=c), b))
rule associate(x:2, a:2, b:2)
  matmul(matmul(x, a), b) => matmul(x, matmul(a, b))
)";

Options options_of(const std::filesystem::path& model, const std::filesystem::path& out) {
  Options options;
  options.model = model;
  options.out = out;
  options.min_gain = 0;
  options.search.method = GENERATE(SearchMethod::Saturation, SearchMethod::Backtracking);
  options.search.alpha = 2;
  return options;
}

TEST_CASE("a batch normalization becomes a convolution with weights of the model's data type", "[optimize]") {
  const DataType type = GENERATE(DataType::Float32, DataType::Float16, DataType::BFloat16, DataType::Float64);
  ScratchFolder scratch;
  ModelText text(15, type);
  text.input("x", {"2", "2", "3", "3"}).output("y", {"2", "2", "3", "3"});
  text.weight("scale", {2}).weight("bias", {2}).weight("mean", {2});
  *text.graph().add_initializer() = make_tensor_proto("variance", {{2}, {1, 0.5}}, type);
  text.node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, {"y"});
  RulesFromText rules(scale_as_convolution);
  const Summary summary = rules.optimize(options_of(text.save(scratch / "in.onnx"), scratch / "out.onnx"));
  CHECK(summary.warning.empty());
  REQUIRE(summary.changed);
  const OnnxModel out = OnnxModel::read(scratch / "out.onnx");
  REQUIRE(out.proto().model.graph().node_size() == 1);
  CHECK(out.proto().model.graph().node(0).op_type() == "Conv");
  for (const auto& tensor : out.proto().model.graph().initializer()) CHECK(tensor.data_type() == to_onnx_type(type));
}

TEST_CASE("products are merged in every data type", "[optimize]") {
  const DataType type = GENERATE(DataType::Float32, DataType::Float16, DataType::BFloat16, DataType::Float64);
  ScratchFolder scratch;
  ModelText text(13, type);
  text.input("x", {"N", "64"}).output("y", {"N", "64"}).weight("a", {64, 64}).weight("b", {64, 64});
  text.node("MatMul", {"x", "a"}, {"p"}).node("MatMul", {"p", "b"}, {"y"});
  RulesFromText rules(scale_as_convolution);
  const Summary summary = rules.optimize(options_of(text.save(scratch / "in.onnx"), scratch / "out.onnx"));
  CHECK(summary.changed);
  CHECK(summary.after.count == 1);
}

}  // namespace
}  // namespace rulemill::optimize
