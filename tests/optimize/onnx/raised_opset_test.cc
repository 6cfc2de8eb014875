#include "optimize/onnx/raised_opset.h"

#include <catch2/catch.hpp>

#include "optimize/onnx/import.h"
#include "optimize/onnx/subgraphs.h"
#include "tests/optimize/models.h"

namespace rulemill::optimize {
namespace {

TEST_CASE("the opset is raised only where every node keeps its meaning", "[raised_opset]") {
  const auto raised = [](int opset, const char* op_type, const std::vector<std::string>& attributes) {
    ModelText text(opset);
    text.input("x", {"2", "3"}).output("y", {"2", "3"});
    text.node(op_type, {"x"}, {"y"}, attributes);
    return raised_opset(text.parsed());
  };
  CHECK(raised(17, "Relu", {}) == max_result_opset);
  CHECK(raised(13, "Relu", {}) == max_result_opset);  // 14 only adds types
  CHECK(raised(11, "Relu", {}) == max_result_opset);
  CHECK(raised(10, "Relu", {}) == 10);
  CHECK(raised(21, "Relu", {}) == 21);
  CHECK(raised(17, "ReduceMean", {"axes=1,"}) == 17);  // an input since 18
  CHECK(raised(12, "ReduceMean", {"axes=1,"}) == 17);
  CHECK(raised(12, "ReduceSum", {"axes=1,"}) == 12);  // an input since 13
  CHECK(raised(12, "Softmax", {"axis=0"}) == 12);     // of all axes from this one on before 13
  CHECK(raised(12, "Softmax", {"axis=1"}) == max_result_opset);
  CHECK(raised(13, "Softmax", {"axis=0"}) == max_result_opset);
  CHECK(raised(17, "NoSuchOperator", {}) == 17);
}

TEST_CASE("opsets in which an operator means the same are equivalent", "[raised_opset]") {
  for (const char* op_type : {"Trilu", "Tanh", "Loop"}) {
    CHECK(equivalent_opset(op_type, 12) == equivalent_opset(op_type, max_result_opset));
    CHECK(equivalent_opset(op_type, max_result_opset + 1) == max_result_opset + 1);
    CHECK(equivalent_opset(op_type, 10) == 10);
  }
  CHECK(equivalent_opset("Split", 17) != equivalent_opset("Split", 18));
  CHECK(equivalent_opset("BatchNormalization", 13) != equivalent_opset("BatchNormalization", 15));
}

TEST_CASE("a subgraph keeps the opset of the model around it", "[raised_opset]") {
  ModelText inside(17), text(17);
  inside.output("t", {"2"}).node("Relu", {"x"}, {"t"});
  text.input("x", {"2"}).output("y", {"2"}).node("If", {"which"}, {"y"});
  auto* which = text.graph().add_input();
  which->set_name("which");
  which->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::BOOL);
  which->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& attribute = *text.graph().mutable_node(0)->add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = inside.graph();
  }
  RulesFromText rules("rule twice(x:1)\n  relu(relu(x)) => relu(x)\n", false);
  GraphBank bank(rules.library, rules.symbols);
  const OnnxModel model = text.parsed();
  CHECK(raised_opset(model) == max_result_opset);
  const std::vector<Subgraph> subgraphs = subgraphs_of(model, import_model(model, bank), bank);
  REQUIRE(subgraphs.size() == 2);
  for (const Subgraph& subgraph : subgraphs) CHECK(raised_opset(subgraph.model) == 17);
}

}  // namespace
}  // namespace rulemill::optimize
