// Data types: one float type, Booleans and integers, and what is computed from them.
#include <catch2/catch.hpp>

#include "optimize/onnx/export.h"
#include "tests/optimize/models.h"
#include "tests/shipped_operators.h"

namespace rulemill::optimize {
namespace {

void set_type(onnx::ValueInfoProto& info, int type) { info.mutable_type()->mutable_tensor_type()->set_elem_type(type); }

/// Returns the operator of each node; empty for an opaque node.
std::vector<std::string> recognized_operators(const ModelText& text, algebra::Library& library) {
  algebra::Symbols symbols;
  GraphBank bank(library, symbols);
  const OnnxModel model = text.parsed();
  const ImportedModel import = imported(model, bank);
  std::vector<std::string> names;
  for (const auto& node : import.nodes) {
    const bool opaque = node.lowered.is_opaque();
    names.push_back(opaque ? "" : library.instance(node.lowered.steps.back().instance).operator_name);
  }
  return names;
}

TEST_CASE("a Boolean mask and a selection by it are recognized", "[types]") {
  algebra::Library library = shipped_operators();
  ModelText text(16);
  text.input("x", {"n", "4"}).input("m", {"n", "4"}).output("y", {"n", "4"});
  set_type(*text.graph().mutable_input(1), onnx::TensorProto::BOOL);
  text.weight("low", {}).weight("zero", {});
  text.node("Greater", {"x", "zero"}, {"above"}).node("And", {"above", "m"}, {"kept"});
  text.node("Not", {"kept"}, {"left"}).node("Transpose", {"left"}, {"turned"}, {"perm=1,0"});
  text.node("Transpose", {"turned"}, {"back"}, {"perm=1,0"}).node("Where", {"back", "low", "x"}, {"y"});
  CHECK(recognized_operators(text, library) ==
        std::vector<std::string>{"greater", "logical_and", "opposite", "transpose", "transpose", "choose"});
}

TEST_CASE("operands of different float types, or a Boolean and a float, are not combined", "[types]") {
  algebra::Library library = shipped_operators();
  ModelText text(16);
  text.input("x", {"4"}).input("h", {"4"}).input("m", {"4"}).output("y", {"4"}).output("z", {"4"}).output("c", {"4"});
  set_type(*text.graph().mutable_input(1), onnx::TensorProto::FLOAT16);
  set_type(*text.graph().mutable_input(2), onnx::TensorProto::BOOL);
  set_type(*text.graph().mutable_output(1), onnx::TensorProto::FLOAT16);
  text.node("Add", {"x", "h"}, {"y"}).node("Add", {"h", "h"}, {"z"}).node("Add", {"x", "m"}, {"w"});
  text.node("Cast", {"m"}, {"c"}, {"to=1"}).node("Cast", {"h"}, {"d"}, {"to=1"});
  CHECK(recognized_operators(text, library) == std::vector<std::string>{"", "add", "", "number_of_truth", ""});
}

TEST_CASE("a Resize without a definition has the shape that its scales give", "[types]") {
  algebra::Library library = shipped_operators();
  ModelText text(13);
  text.input("x", {"1", "2", "4", "6"}).output("y", {"1", "2", "8", "9"}).weight("scales", {4});
  onnx::TensorProto& scales = *text.graph().mutable_initializer(0);
  scales.clear_raw_data();
  scales.clear_float_data();
  for (const float scale : {1.0F, 1.0F, 2.0F, 1.5F}) scales.add_float_data(scale);
  text.node("Resize", {"x", "", "scales"}, {"large"},
            {"mode='linear'", "coordinate_transformation_mode='align_corners'"});
  text.node("Relu", {"large"}, {"middle"}).node("Sigmoid", {"middle"}, {"y"});
  CHECK(recognized_operators(text, library) == std::vector<std::string>{"", "relu", "sigmoid"});
  algebra::Symbols symbols;
  GraphBank bank(library, symbols);
  const OnnxModel model = text.parsed();
  const ImportedModel import = imported(model, bank);
  CHECK(import.dynamic_dims.empty());
  CHECK(bank.value(import.values.at("middle")).type.value_or(algebra::Shape()) == algebra::Shape{1, 2, 8, 9});
}

TEST_CASE("an int32 axis does not lose the type of a value", "[types]") {
  algebra::Library library = shipped_operators();
  ModelText text(16);
  text.input("m", {"1", "8"}).output("y", {"1", "8"});
  set_type(*text.graph().mutable_input(0), onnx::TensorProto::BOOL);
  text.node("Constant", {}, {"axis"})
      .node("Cast", {"m"}, {"ones"}, {"to=6"})
      .node("CumSum", {"ones", "axis"}, {"places"});
  text.node("Cast", {"places"}, {"x"}, {"to=1"}).node("Relu", {"x"}, {"y"});
  auto& value = *text.graph().mutable_node(0)->add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(onnx::TensorProto::INT32);
  value.mutable_t()->add_int32_data(1);
  CHECK(recognized_operators(text, library).back() == "relu");
}

TEST_CASE("weights are folded in double and rounded once to their type", "[types]") {
  const auto type = GENERATE(table<DataType, double>({{DataType::Float16, 0x1p-11},
                                                      {DataType::BFloat16, 0x1p-8},
                                                      {DataType::Float32, 0x1p-24},
                                                      {DataType::Float64, 0x1p-53}}));
  const DataType data_type = std::get<0>(type);
  const double rounding = std::get<1>(type);
  ScratchFolder scratch;
  ModelText text(16);
  text.input("x", {"rows", "2"}).output("y", {"rows", "2"});
  set_type(*text.graph().mutable_input(0), to_onnx_type(data_type));
  set_type(*text.graph().mutable_output(0), to_onnx_type(data_type));
  // r is half a unit in the last place: if each product and sum were rounded, 1 + r + r would be 1; rounded once, it is
  // the next number.
  const auto weight = [&](const std::string& name, std::vector<double> values) {
    *text.graph().add_initializer() = make_tensor_proto(name, {{2, 2}, std::move(values)}, data_type);
  };
  const double up = data_type == DataType::Float64 ? 2 * rounding : rounding;  // there is no wider type to sum in
  weight("A", {1, 1, 0, 1});
  weight("B", {1, 0, up, 1});
  weight("C", {up, 0, 0, 1});
  text.node("MatMul", {"x", "A"}, {"p"}).node("MatMul", {"p", "B"}, {"q"}).node("MatMul", {"x", "C"}, {"r"});
  text.node("Add", {"q", "r"}, {"y"});
  Options options;
  options.model = text.save(scratch.path() / "in.onnx");
  options.out = scratch.path() / "out.onnx";
  options.min_gain = 0;
  const Summary summary = RulesFromText(R"(
rule associate(x:2, a:2, b:2)
  matmul(matmul(x, a), b) => matmul(x, matmul(a, b))
rule distribute(x:2, a:2, b:2)
  add(matmul(x, a), matmul(x, b)) => matmul(x, add(a, b))
)")
                              .optimize(options);
  REQUIRE(summary.changed);
  const OnnxModel out = OnnxModel::read(options.out);
  const onnx::GraphProto& graph = out.proto().model.graph();
  REQUIRE(graph.node_size() == 1);
  REQUIRE(graph.initializer_size() == 1);
  const onnx::TensorProto& folded = graph.initializer(0);
  CHECK(folded.data_type() == to_onnx_type(data_type));
  CHECK(to_tensor(folded, inline_raw_data(folded))->values[0] == 1 + 2 * up);
}

}  // namespace
}  // namespace rulemill::optimize
