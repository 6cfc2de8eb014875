// Element types: numbers of one float type, truths, integers; what is computed of them.
#include <catch2/catch.hpp>

#include "optimize/onnx/export.h"
#include "tests/optimize/models.h"

namespace rulemill::optimize {
namespace {

void set_type(onnx::ValueInfoProto& info, int type) { info.mutable_type()->mutable_tensor_type()->set_elem_type(type); }

/// The names of operators that the model's nodes are understood as; empty where one stays as it is.
std::vector<std::string> understood(const ModelText& text, algebra::Library& library) {
  algebra::Symbols symbols;
  GraphBank bank(library, symbols);
  const OnnxModel model = text.parsed();
  const Import import = imported(model, bank);
  std::vector<std::string> names;
  for (const auto& node : import.nodes) {
    const bool opaque = node.recipe.opaque();
    names.push_back(opaque ? "" : library.instance(node.recipe.steps.back().instance).operator_name);
  }
  return names;
}

TEST_CASE("a mask of truths, and what is chosen by it, are understood", "[types]") {
  algebra::Library library = algebra::Library::load(std::filesystem::path(RULEMILL_SOURCE_DIR) / "data/operators");
  ModelText text(16);
  text.input("x", {"n", "4"}).input("m", {"n", "4"}).output("y", {"n", "4"});
  set_type(*text.graph().mutable_input(1), onnx::TensorProto::BOOL);
  text.weight("low", {}).weight("zero", {});
  text.node("Greater", {"x", "zero"}, {"above"}).node("And", {"above", "m"}, {"kept"});
  text.node("Not", {"kept"}, {"left"}).node("Transpose", {"left"}, {"turned"}, {"perm=1,0"});
  text.node("Transpose", {"turned"}, {"back"}, {"perm=1,0"}).node("Where", {"back", "low", "x"}, {"y"});
  CHECK(understood(text, library) ==
        std::vector<std::string>{"greater", "both", "opposite", "transpose", "transpose", "choose"});
}

TEST_CASE("numbers of two float types do not meet, and truths are no numbers", "[types]") {
  algebra::Library library = algebra::Library::load(std::filesystem::path(RULEMILL_SOURCE_DIR) / "data/operators");
  ModelText text(16);
  text.input("x", {"4"}).input("h", {"4"}).input("m", {"4"}).output("y", {"4"}).output("z", {"4"}).output("c", {"4"});
  set_type(*text.graph().mutable_input(1), onnx::TensorProto::FLOAT16);
  set_type(*text.graph().mutable_input(2), onnx::TensorProto::BOOL);
  set_type(*text.graph().mutable_output(1), onnx::TensorProto::FLOAT16);
  text.node("Add", {"x", "h"}, {"y"}).node("Add", {"h", "h"}, {"z"}).node("Add", {"x", "m"}, {"w"});
  text.node("Cast", {"m"}, {"c"}, {"to=1"}).node("Cast", {"h"}, {"d"}, {"to=1"});
  CHECK(understood(text, library) == std::vector<std::string>{"", "add", "", "number_of_truth", ""});
}

TEST_CASE("an axis that is an int32 is no reason to lose a type", "[types]") {
  algebra::Library library = algebra::Library::load(std::filesystem::path(RULEMILL_SOURCE_DIR) / "data/operators");
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
  CHECK(understood(text, library).back() == "relu");
}

TEST_CASE("weights are folded in double and rounded once to their type", "[types]") {
  const auto type = GENERATE(table<Element, double>({{Element::Float16, 0x1p-11},
                                                     {Element::BFloat16, 0x1p-8},
                                                     {Element::Float32, 0x1p-24},
                                                     {Element::Float64, 0x1p-53}}));
  const Element element = std::get<0>(type);
  const double rounding = std::get<1>(type);
  ScratchFolder scratch;
  ModelText text(16);
  text.input("x", {"rows", "2"}).output("y", {"rows", "2"});
  set_type(*text.graph().mutable_input(0), data_type_of(element));
  set_type(*text.graph().mutable_output(0), data_type_of(element));
  // With r half a unit in the last place: rounded after each product and sum, 1 + r + r would be 1; rounded once, it is
  // the next number.
  const auto weight = [&](const std::string& name, std::vector<double> values) {
    *text.graph().add_initializer() = number_proto(name, {{2, 2}, std::move(values)}, element);
  };
  const double up = element == Element::Float64 ? 2 * rounding : rounding;  // double has nothing wider to sum in
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
  CHECK(folded.data_type() == data_type_of(element));
  CHECK(number_tensor(folded, raw_inside(folded))->values[0] == 1 + 2 * up);
}

}  // namespace
}  // namespace rulemill::optimize
