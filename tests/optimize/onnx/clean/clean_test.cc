#include "optimize/onnx/clean/clean.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/optimize/models.h"

namespace rulemill::optimize {

namespace {

/// Returns the operators of the cleaned model in order.
std::vector<std::string> cleaned_operators(const ModelText& text, OnnxModel* result = nullptr) {
  NodeInference inference({});
  OnnxModel model = text.parsed();
  clean_model(model, inference);
  std::vector<std::string> operators;
  for (const auto& node : model.proto().model.graph().node()) operators.push_back(node.op_type());
  if (result != nullptr) *result = std::move(model);
  return operators;
}

using Operators = std::vector<std::string>;

void add_scalar(ModelText& text, const std::string& name, double value) {
  *text.graph().add_initializer() = make_tensor_proto(name, {{}, {value}}, text.data_type);
}

void add_integers(ModelText& text, const std::string& name, const std::vector<std::int64_t>& values) {
  OnnxLiteral literal;
  literal.is_list = true;
  literal.integers.assign(values.begin(), values.end());
  *text.graph().add_initializer() = make_integer_proto(name, literal);
}

ModelText unary_model(int opset = 17) {
  ModelText text(opset);
  text.input("x", {"n", "4"}).output("y", {"n", "4"});
  return text;
}

}  // namespace

TEST_CASE("a neutral operand is removed only if it keeps the sign of zero", "[clean]") {
  const auto with_constant = [](const std::string& op, double value) {
    ModelText text = unary_model();
    add_scalar(text, "c", value);
    text.node("Relu", {"x"}, {"a"}).node(op, {"a", "c"}, {"b"}).node("Neg", {"b"}, {"y"});
    return cleaned_operators(text);
  };
  CHECK(with_constant("Add", 0.0) == Operators{"Relu", "Add", "Neg"});
  CHECK(with_constant("Add", -0.0) == Operators{"Relu", "Neg"});
  CHECK(with_constant("Sub", 0.0) == Operators{"Relu", "Neg"});
  CHECK(with_constant("Sub", -0.0) == Operators{"Relu", "Sub", "Neg"});
  CHECK(with_constant("Mul", 1.0) == Operators{"Relu", "Neg"});
  CHECK(with_constant("Div", 1.0) == Operators{"Relu", "Neg"});
  CHECK(with_constant("Mul", 0.0) == Operators{"Relu", "Mul", "Neg"});
}

TEST_CASE("a neutral operand that broadcasts the other one stays", "[clean]") {
  ModelText text(17);
  text.input("x", {"4"}).output("y", {"1", "4"});
  *text.graph().add_initializer() = make_tensor_proto("ones", {{1, 4}, {1, 1, 1, 1}}, text.data_type);
  text.node("Relu", {"x"}, {"a"}).node("Mul", {"a", "ones"}, {"y"});
  CHECK(cleaned_operators(text) == Operators{"Relu", "Mul"});
}

TEST_CASE("a number loses dimensions that its result has without it", "[clean]") {
  const auto dims_of_number = [](const std::vector<std::string>& other, const std::vector<std::int64_t>& dims,
                                 const std::string& op) {
    ModelText text(17);
    text.input("x", other).output("y", {});
    *text.graph().add_initializer() = make_tensor_proto("s", {dims, {0.5}}, text.data_type);
    text.node(op, {"s", "x"}, {"a"}).node("Relu", {"a"}, {"y"});
    OnnxModel model;
    cleaned_operators(text, &model);
    const auto& graph = model.proto().model.graph();
    REQUIRE(graph.initializer_size() == 1);
    CHECK(graph.node(0).input(0) == graph.initializer(0).name());
    return graph.initializer(0).dims_size();
  };
  for (const std::string op : {"Add", "Sub", "Mul", "Div", "Pow"}) {
    INFO(op);
    CHECK(dims_of_number({"n", "4"}, {1}, op) == 0);
    CHECK(dims_of_number({"n", "4"}, {1, 1}, op) == 0);
    CHECK(dims_of_number({"4"}, {1, 1}, op) == 2);  // the result has two dimensions
    CHECK(dims_of_number({"1"}, {1}, op) == 0);
  }
}

TEST_CASE("identities vanish, but an output that is an input keeps its copy", "[clean]") {
  ModelText text = unary_model();
  text.node("Identity", {"x"}, {"a"}).node("Dropout", {"a"}, {"b"}).node("Transpose", {"b"}, {"c"}, {"perm=0,1"});
  text.node("Relu", {"c"}, {"d"}).node("Concat", {"d"}, {"e"}, {"axis=0"}).node("Identity", {"e"}, {"y"});
  OnnxModel result;
  CHECK(cleaned_operators(text, &result) == Operators{"Relu"});
  CHECK(result.proto().model.graph().node(0).output(0) == "y");
  ModelText copy = unary_model();
  copy.node("Identity", {"x"}, {"y"});
  CHECK(cleaned_operators(copy) == Operators{"Identity"});
}

TEST_CASE("dimensions that two nodes add are added by one", "[clean]") {
  const auto axes_after = [](const std::vector<std::int64_t>& inner, const std::vector<std::int64_t>& outer) {
    ModelText text(17);
    text.input("x", {"n", "m"});
    text.graph().add_output()->set_name("y");
    add_integers(text, "inner", inner);
    add_integers(text, "outer", outer);
    text.node("Relu", {"x"}, {"a"}).node("Unsqueeze", {"a", "inner"}, {"b"}).node("Unsqueeze", {"b", "outer"}, {"y"});
    OnnxModel result;
    const Operators operators = cleaned_operators(text, &result);
    const auto& weights = result.proto().model.graph().initializer();
    std::vector<std::int64_t> axes(operators.size() == 2 ? inner.size() + outer.size() : 0);
    if (!axes.empty()) std::memcpy(axes.data(), weights.at(0).raw_data().data(), weights.at(0).raw_data().size());
    return axes;
  };
  using Axes = std::vector<std::int64_t>;
  CHECK(axes_after({0}, {0}) == Axes{0, 1});
  CHECK(axes_after({1}, {0}) == Axes{0, 2});
  CHECK(axes_after({0, 2}, {1, 3}) == Axes{0, 1, 3, 4});
  CHECK(axes_after({2}, {1, 2, 3}) == Axes{1, 2, 3, 5});
  CHECK(axes_after({-1}, {0}).empty());
}

TEST_CASE("a Boolean operand that changes nothing is removed", "[clean]") {
  const auto with_constant = [](const std::string& op, char value) {
    ModelText text = unary_model();
    onnx::TensorProto& constant = *text.graph().add_initializer();
    constant.set_name("c");
    constant.set_data_type(onnx::TensorProto::BOOL);
    constant.set_raw_data(std::string(1, value));
    text.node("IsNaN", {"x"}, {"a"}).node(op, {"c", "a"}, {"b"}).node("Where", {"b", "x", "x"}, {"y"});
    return cleaned_operators(text).size();
  };
  CHECK(with_constant("And", 1) == 2);
  CHECK(with_constant("And", 0) == 3);
  CHECK(with_constant("Or", 0) == 2);
  CHECK(with_constant("Or", 1) == 3);
}

TEST_CASE("a single number from an attribute keeps its value when its node is folded", "[clean]") {
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {1}}) {
    ModelText text = unary_model();
    add_integers(text, "shape", shape);
    text.node("ConstantOfShape", {"shape"}, {"c"}).node("Mul", {"x", "c"}, {"y"});
    onnx::AttributeProto& value = *text.graph().mutable_node(0)->add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    *value.mutable_t() = make_tensor_proto("", {{1}, {1.1}}, text.data_type);
    OnnxModel result;
    CHECK(cleaned_operators(text, &result) == Operators{"Mul"});
    REQUIRE(result.proto().model.graph().initializer_size() == 1);
    CHECK(result.proto().model.graph().initializer(0).raw_data() == value.t().raw_data());
  }
}

TEST_CASE("a dropout whose mask is read or that trains stays", "[clean]") {
  ModelText mask = unary_model();
  mask.node("Dropout", {"x"}, {"a", "m"}).node("Relu", {"a"}, {"y"}).node("Not", {"m"}, {"z"});
  mask.graph().add_output()->set_name("z");
  CHECK(cleaned_operators(mask) == Operators{"Dropout", "Relu", "Not"});
  ModelText training = unary_model();
  training.graph().add_input()->set_name("t");
  training.graph().mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::BOOL);
  training.node("Dropout", {"x", "", "t"}, {"a"}).node("Relu", {"a"}, {"y"});
  CHECK(cleaned_operators(training) == Operators{"Dropout", "Relu"});
}

TEST_CASE("equal nodes and initializers are merged, random ones are not", "[clean]") {
  ModelText text(17);
  text.input("x", {"4", "4"}).output("y", {"4", "4"});
  text.weight("w", {4, 4});
  *text.graph().add_initializer() = text.graph().initializer(0);
  text.graph().mutable_initializer(1)->set_name("v");
  text.node("MatMul", {"x", "w"}, {"a"}).node("MatMul", {"x", "v"}, {"b"}).node("Add", {"a", "b"}, {"c"});
  text.node("RandomNormalLike", {"c"}, {"r"}).node("RandomNormalLike", {"c"}, {"s"});
  text.node("Sub", {"r", "s"}, {"y"});
  OnnxModel result;
  CHECK(cleaned_operators(text, &result) == Operators{"MatMul", "Add", "RandomNormalLike", "RandomNormalLike", "Sub"});
  CHECK(result.proto().model.graph().initializer_size() == 1);
}

TEST_CASE("of two equal outputs both names remain", "[clean]") {
  ModelText text = unary_model();
  text.output("z", {"n", "4"});
  text.node("Relu", {"x"}, {"y"}).node("Relu", {"x"}, {"z"});
  CHECK(cleaned_operators(text) == Operators{"Relu", "Relu"});
}

TEST_CASE("consecutive movements become one", "[clean]") {
  ModelText text(17);
  text.input("x", {"2", "3", "4"}).output("y", {"24"});
  add_integers(text, "first", {6, 4});
  add_integers(text, "second", {-1});
  text.node("Transpose", {"x"}, {"a"}, {"perm=1,0,2"}).node("Transpose", {"a"}, {"b"}, {"perm=2,1,0"});
  text.node("Reshape", {"b", "first"}, {"c"}).node("Reshape", {"c", "second"}, {"y"});
  OnnxModel result;
  REQUIRE(cleaned_operators(text, &result) == Operators{"Transpose", "Reshape"});
  const auto& order = result.proto().model.graph().node(0).attribute(0).ints();
  CHECK(std::vector<std::int64_t>(order.begin(), order.end()) == std::vector<std::int64_t>{2, 0, 1});
}

TEST_CASE("a reshape before elementwise operators is removed if their results are reshaped", "[clean]") {
  const auto with_factor = [](bool is_number, const std::vector<std::int64_t>& last) {
    ModelText text(17);
    text.input("x", {"6", "4"}).output("y", {"6", "4"});
    add_integers(text, "first", {2, 3, 4});
    add_integers(text, "last", last);
    if (is_number) add_scalar(text, "c", 2);
    if (!is_number) *text.graph().add_initializer() = make_tensor_proto("c", {{4}, {1, 2, 3, 4}}, text.data_type);
    text.node("Tanh", {"x"}, {"a"}).node("Reshape", {"a", "first"}, {"b"}).node("Mul", {"b", "c"}, {"d"});
    text.node("Erf", {"d"}, {"e"}).node("Mul", {"d", "e"}, {"f"}).node("Reshape", {"f", "last"}, {"g"});
    text.node("Relu", {"g"}, {"y"});
    return cleaned_operators(text);
  };
  CHECK(with_factor(true, {-1, 4}) == Operators{"Tanh", "Mul", "Erf", "Mul", "Relu"});
  CHECK(with_factor(true, {-1}).size() == 6);
  CHECK(with_factor(false, {-1, 4}) == Operators{"Tanh", "Reshape", "Mul", "Erf", "Mul", "Reshape", "Relu"});
}

TEST_CASE("a reshape that is read by another operator, or whose region has an output, stays", "[clean]") {
  for (const std::string output : {"b", "d", "z"}) {
    ModelText text(17);
    text.input("x", {"6", "4"}).output("y", {"24"}).output(output, {"2", "3", "4"});
    add_integers(text, "first", {2, 3, 4});
    add_integers(text, "last", {-1});
    text.node("Tanh", {"x"}, {"a"}).node("Reshape", {"a", "first"}, {"b"}).node("Relu", {"b"}, {"d"});
    text.node("Reshape", {"d", "last"}, {"y"});
    if (output == "z") text.node("Softmax", {"b"}, {"z"}, {"axis=0"});
    CHECK(std::ranges::count(cleaned_operators(text), "Reshape") == 2);
  }
}

TEST_CASE("a gathering of all elements in their order is a reshape", "[clean]") {
  const auto with_indices = [](const std::vector<std::int64_t>& indices) {
    ModelText text(17);
    text.input("x", {"3", "4"}).output("y", {"1", "3", "4"});
    add_integers(text, "i", indices);
    add_integers(text, "shape", {1, 3});
    text.node("Reshape", {"i", "shape"}, {"j"}).node("Relu", {"x"}, {"r"}).node("Gather", {"r", "j"}, {"y"});
    return cleaned_operators(text);
  };
  CHECK(with_indices({0, 1, 2}) == Operators{"Relu", "Reshape"});
  CHECK(with_indices({0, 2, 1}) == Operators{"Relu", "Gather"});
  CHECK(with_indices({0, 1, -1}) == Operators{"Relu", "Reshape"});
  CHECK(with_indices({0, 1, -2}) == Operators{"Relu", "Gather"});
  ModelText part(17);
  part.input("x", {"4"}).output("y", {"3"});
  add_integers(part, "i", {0, 1, 2});
  part.node("Relu", {"x"}, {"r"}).node("Gather", {"r", "i"}, {"y"});
  CHECK(cleaned_operators(part) == Operators{"Relu", "Gather"});
}

TEST_CASE("a conversion to the type that a cosine has is removed", "[clean]") {
  ModelText text = unary_model();
  text.node("Cos", {"x"}, {"a"}).node("Cast", {"a"}, {"b"}, {"to=1"}).node("Relu", {"b"}, {"y"});
  CHECK(cleaned_operators(text) == Operators{"Cos", "Relu"});
}

TEST_CASE("a reshape to sizes of its input copies them", "[clean]") {
  ModelText text(17);
  text.input("x", {"n", "m", "6"}).output("y", {"n", "m", "2", "3"});
  add_integers(text, "tail", {2, 3});
  add_integers(text, "head", {0, 1});
  text.node("Relu", {"x"}, {"r"}).node("Shape", {"r"}, {"s"}).node("Gather", {"s", "head"}, {"h"});
  text.node("Concat", {"h", "tail"}, {"d"}, {"axis=0"}).node("Reshape", {"r", "d"}, {"y"});
  OnnxModel result;
  REQUIRE(cleaned_operators(text, &result) == Operators{"Relu", "Reshape"});
  const auto& shape = result.proto().model.graph().initializer(0);
  CHECK(to_literal(shape)->integers == std::vector<algebra::Poly>{0, 0, 2, 3});
  CHECK(shape.name() == "y_shape");
}

TEST_CASE("sizes that are converted to floating point or Booleans are exact", "[clean]") {
  ModelText text(17);
  text.input("x", {"7"}).input("w", {"2"}).output("y", {"1"});
  text.node("Shape", {"x"}, {"s"}).node("Shape", {"w"}, {"t"});
  text.node("Cast", {"s"}, {"a"}, {"to=1"}).node("Cast", {"t"}, {"b"}, {"to=1"});
  text.node("Div", {"a", "b"}, {"c"}).node("Mul", {"c", "b"}, {"d"}).node("Cast", {"d"}, {"seven"}, {"to=7"});
  text.node("Cast", {"s"}, {"e"}, {"to=9"}).node("Cast", {"e"}, {"one"}, {"to=7"});
  text.node("Concat", {"seven", "one"}, {"sizes"}, {"axis=0"}).node("Expand", {"x", "sizes"}, {"y"});
  OnnxModel result;
  cleaned_operators(text, &result);
  REQUIRE(result.proto().model.graph().initializer_size() == 1);
  CHECK(to_literal(result.proto().model.graph().initializer(0))->integers == std::vector<algebra::Poly>{7, 1});
}

TEST_CASE("sizes are not merged because of dimension names that the model declares", "[clean]") {
  ModelText text(17);
  text.input("a", {"n"}).input("b", {"m"}).output("y", {"k"});
  auto& declared = *text.graph().add_value_info();
  declared = text.graph().input(0);
  declared.set_name("q");
  text.node("Relu", {"a"}, {"p"}).node("Relu", {"b"}, {"q"});
  text.node("Shape", {"p"}, {"s"}).node("Shape", {"q"}, {"t"}).node("Sub", {"s", "t"}, {"y"});
  text.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
  CHECK(cleaned_operators(text) == Operators{"Relu", "Relu", "Shape", "Shape", "Sub"});
}

TEST_CASE("an initializer that an input overrides is no constant", "[clean]") {
  ModelText text = unary_model();
  add_scalar(text, "c", 1.0);
  auto& input = *text.graph().add_input();
  input.set_name("c");
  input.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  text.node("Mul", {"x", "c"}, {"a"}).node("Relu", {"a"}, {"y"});
  CHECK(cleaned_operators(text) == Operators{"Mul", "Relu"});
}

TEST_CASE("before IR version 4 a folded value is a Constant node", "[clean]") {
  ModelText text = unary_model(9);
  text.model.set_ir_version(3);
  text.node("Constant", {}, {"c"});
  auto& value = *text.graph().mutable_node(0)->add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  *value.mutable_t() = make_tensor_proto("", {{}, {4.0}});
  text.node("Sqrt", {"c"}, {"s"}).node("Mul", {"x", "s"}, {"y"});
  OnnxModel result;
  CHECK(cleaned_operators(text, &result) == Operators{"Constant", "Mul"});
  CHECK(result.proto().model.graph().initializer_size() == 0);
}

TEST_CASE("a constant is not folded to a much larger one", "[clean]") {
  const auto expanded = [](std::int64_t size) {
    ModelText text(17);
    text.input("x", {"1"}).output("y", {std::to_string(size)});
    add_scalar(text, "c", 1.5);
    add_integers(text, "size", {size});
    text.node("Expand", {"c", "size"}, {"e"}).node("Mul", {"x", "e"}, {"y"});
    return cleaned_operators(text);
  };
  CHECK(expanded(1000) == Operators{"Mul"});
  CHECK(expanded(1000000) == Operators{"Expand", "Mul"});
}

TEST_CASE("unused outputs, nodes and initializers are removed", "[clean]") {
  ModelText text(17);
  text.input("x", {"5", "1", "3"}).output("y", {"5", "1", "1", "2"});
  text.weight("w", {1, 8, 3}).weight("r", {1, 8, 2}).weight("unused", {7});
  text.node("LSTM", {"x", "w", "r"}, {"y", "h", "c"}, {"hidden_size=2"}).node("Relu", {"h"}, {"nothing"});
  OnnxModel result;
  REQUIRE(cleaned_operators(text, &result) == Operators{"LSTM"});
  CHECK(result.proto().model.graph().node(0).output_size() == 1);
  CHECK(result.proto().model.graph().initializer_size() == 2);
}

}  // namespace rulemill::optimize
