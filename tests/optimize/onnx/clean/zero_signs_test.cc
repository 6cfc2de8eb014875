// Additions of 0, which change -0 to 0: removed only where no output depends on that.
#include "optimize/onnx/clean/zero_signs.h"

#include <catch2/catch.hpp>

#include "optimize/onnx/clean/clean.h"
#include "tests/optimize/models.h"

namespace rulemill::optimize {

namespace {

/// A model that adds 0 to `a`, which Tanh computes, and reads the sum `b`.
struct SumWithZero {
  SumWithZero() {
    text.input("x", {"2", "2"}).output("y", {"2", "2"});
    constant("zero", {0, 0}).constant("bias", {1, -1}).constant("signed", {-0.0, 1}).constant("two", {2, 2});
    text.node("Tanh", {"x"}, {"a"}).node("Add", {"a", "zero"}, {"b"});
  }
  SumWithZero& constant(const std::string& name, const std::vector<double>& values) {
    *text.graph().add_initializer() = make_tensor_proto(name, {{2}, values}, text.data_type);
    return *this;
  }
  SumWithZero& node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output,
                    const std::vector<std::string>& attributes = {}) {
    text.node(op, inputs, {output}, attributes);
    return *this;
  }
  bool loses_the_sum() const {
    NodeInference inference({});
    OnnxModel model = text.parsed();
    clean_model(model, inference);
    for (const auto& each : model.proto().model.graph().node()) {
      if (each.op_type() == "Add" && (each.input(0) == "zero" || each.input(1) == "zero")) return false;
    }
    return true;
  }

  ModelText text{17};
};

}  // namespace

TEST_CASE("an addition of 0 is removed before a sum that hides the sign", "[clean]") {
  CHECK(SumWithZero().node("Add", {"b", "bias"}, "y").loses_the_sum());
  CHECK(SumWithZero().node("Sub", {"bias", "b"}, "c").node("Add", {"c", "bias"}, "y").loses_the_sum());
  CHECK_FALSE(SumWithZero().node("Add", {"b", "signed"}, "y").loses_the_sum());  // -0 + -0 = -0
  CHECK_FALSE(SumWithZero().node("Add", {"b", "x"}, "y").loses_the_sum());
  CHECK_FALSE(SumWithZero().node("Relu", {"b"}, "y").loses_the_sum());
}

TEST_CASE("movements and products pass on the signs of zeros", "[clean]") {
  const auto with = [](const std::string& last) {
    SumWithZero model;
    model.node("Transpose", {"b"}, "c", {"perm=1,0"}).node("MatMul", {"c", "x"}, "d").node("Mul", {"d", "two"}, "e");
    return model.node(last, {"e"}, "y").loses_the_sum();
  };
  CHECK(with("Softmax"));
  CHECK(with("Exp"));
  CHECK_FALSE(with("Tanh"));
  CHECK_FALSE(with("Reciprocal"));  // 1/-0 is not 1/0
}

TEST_CASE("operators that add a bias last hide the sign unless the bias has -0", "[clean]") {
  const auto with = [](const std::string& op, const std::string& bias,
                       const std::vector<std::string>& attributes = {}) {
    return SumWithZero().node(op, {"b", op == "Gemm" ? "x" : "two", bias}, "y", attributes).loses_the_sum();
  };
  CHECK(with("Gemm", "bias"));
  CHECK(with("Gemm", "zero"));
  CHECK_FALSE(with("Gemm", "signed"));
  CHECK_FALSE(with("Gemm", "bias", {"beta=0.5"}));
  CHECK(with("LayerNormalization", "bias"));
  CHECK_FALSE(with("LayerNormalization", "signed"));
}

TEST_CASE("a divisor shows the sign of zero, a dividend passes it on", "[clean]") {
  CHECK_FALSE(SumWithZero().node("Div", {"bias", "b"}, "c").node("Exp", {"c"}, "y").loses_the_sum());
  CHECK(SumWithZero().node("Div", {"b", "two"}, "c").node("Exp", {"c"}, "y").loses_the_sum());
}

TEST_CASE("each reader of the sum counts, and so does an output", "[clean]") {
  SumWithZero two_readers;
  two_readers.text.output("z", {"2", "2"});
  two_readers.node("Exp", {"b"}, "y").node("Relu", {"b"}, "z");
  CHECK_FALSE(two_readers.loses_the_sum());
  SumWithZero output;
  output.text.output("b", {"2", "2"});
  CHECK_FALSE(output.node("Exp", {"b"}, "y").loses_the_sum());
}

TEST_CASE("an addition of 0 to a value that is never -0 is removed", "[clean]") {
  ModelText text(17);
  text.input("x", {"2", "2"}).output("y", {"2", "2"});
  *text.graph().add_initializer() = make_tensor_proto("zero", {{}, {0}}, text.data_type);
  text.node("Abs", {"x"}, {"a"}).node("Add", {"a", "zero"}, {"b"}).node("Relu", {"b"}, {"y"});
  NodeInference inference({});
  OnnxModel model = text.parsed();
  clean_model(model, inference);
  CHECK(model.proto().model.graph().node_size() == 2);
}

TEST_CASE("of two additions of 0 the one that hides the other's sign stays", "[clean]") {
  SumWithZero model;
  model.node("MatMul", {"b", "x"}, "c").node("Add", {"c", "zero"}, "d").node("Relu", {"d"}, "y");
  NodeInference inference({});
  OnnxModel cleaned = model.text.parsed();
  clean_model(cleaned, inference);
  const auto& nodes = cleaned.proto().model.graph().node();
  REQUIRE(nodes.size() == 4);
  CHECK(nodes[1].op_type() == "MatMul");
  CHECK(nodes[2].op_type() == "Add");
}

}  // namespace rulemill::optimize
