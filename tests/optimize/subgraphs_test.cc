// Subgraphs are verified before they replace those of the model.
#include "optimize/subgraphs.h"

#include <catch2/catch.hpp>

#include "tests/optimize/models.h"

namespace rulemill::optimize {
namespace {

/// An If node with two branches over captured values; the first has two products with captured square weights.
ModelText branches() {
  ModelText text;
  text.input("x", {"rows", "8"}).output("y", {"rows", "8"}).weight("v", {8, 8}).weight("w", {8, 8});
  auto* which = text.graph().add_input();
  which->set_name("which");
  which->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::BOOL);
  which->mutable_type()->mutable_tensor_type()->mutable_shape();
  text.node("If", {"which"}, {"y"});
  const auto branch = [&](const std::string& name, ModelText inside) {
    auto& attribute = *text.graph().mutable_node(0)->add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = inside.graph();
  };
  ModelText then, other;
  then.output("t", {"rows", "8"}).node("MatMul", {"x", "v"}, {"s"}).node("MatMul", {"s", "w"}, {"t"});
  other.output("o", {"rows", "8"}).node("Relu", {"x"}, {"o"});
  branch("then_branch", then);
  branch("else_branch", other);
  return text;
}

TEST_CASE("a subgraph that a wrong rule changes is rejected with a warning", "[subgraphs]") {
  ScratchFolder scratch;
  Options options;
  options.model = branches().save(scratch / "in.onnx");
  options.out = scratch / "out.onnx";
  options.min_gain = 0;
  RulesFromText right("rule associate(x:2, a:2, b:2)\n  matmul(matmul(x, a), b) => matmul(x, matmul(a, b))\n");
  const Summary good = right.optimize(options);
  CHECK(good.changed);
  CHECK(good.subgraphs == 2);
  CHECK(good.subgraphs_changed == 1);
  CHECK(good.fired.size() == 1);
  RulesFromText wrong("rule drop_factor(x:2, a:2, b:2)\n  matmul(matmul(x, a), b) => matmul(x, b)\n");
  const Summary bad = wrong.optimize(options);
  CHECK_FALSE(bad.changed);
  CHECK(bad.subgraphs_changed == 0);
  CHECK(bad.warning.find("became") != std::string::npos);
  CHECK(runtime::read_file(options.out) == runtime::read_file(options.model));
}

}  // namespace
}  // namespace rulemill::optimize
