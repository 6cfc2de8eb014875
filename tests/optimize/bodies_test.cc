// A body is judged by itself, so that a wrong one never gets into the model.
#include "optimize/bodies.h"

#include <catch2/catch.hpp>

#include "tests/optimize/models.h"

namespace rulemill::optimize {
namespace {

/// Two branches on a value from outside, the first with two products by square weights from outside.
ModelText choice() {
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

TEST_CASE("a body that a rule makes wrong is refused by its judge, with a warning", "[bodies]") {
  ScratchFolder scratch;
  Options options;
  options.model = choice().save(scratch / "in.onnx");
  options.out = scratch / "out.onnx";
  options.min_gain = 0;
  RulesFromText right("rule associate(x:2, a:2, b:2)\n  matmul(matmul(x, a), b) => matmul(x, matmul(a, b))\n");
  const Summary good = right.optimize(options);
  CHECK(good.changed);
  CHECK(good.bodies == 2);
  CHECK(good.bodies_changed == 1);
  CHECK(good.fired.size() == 1);
  RulesFromText wrong("rule forgets(x:2, a:2, b:2)\n  matmul(matmul(x, a), b) => matmul(x, b)\n");
  const Summary bad = wrong.optimize(options);
  CHECK_FALSE(bad.changed);
  CHECK(bad.bodies_changed == 0);
  CHECK(bad.warning.find("became") != std::string::npos);
  CHECK(runtime::read_file(options.out) == runtime::read_file(options.model));
}

}  // namespace
}  // namespace rulemill::optimize
