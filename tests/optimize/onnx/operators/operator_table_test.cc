#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/operators/onnx_operators.h"

namespace rulemill::optimize {

namespace {

using Proto = onnx::TensorProto;

template <typename T>
RawTensor tensor(int type, const Dims& dims, const std::vector<T>& values) {
  return make_raw_tensor(type, dims,
                         std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
}

RawTensor int64s(const Dims& dims, const std::vector<std::int64_t>& values) {
  return make_integer_tensor(dims, values);
}
RawTensor floats(const Dims& dims, const std::vector<float>& values) { return tensor(Proto::FLOAT, dims, values); }

struct TestNode {
  explicit TestNode(const std::string& op_type) {
    node.set_op_type(op_type);
    node.add_output("y");
  }
  TestNode& set(const std::string& name, std::vector<std::int64_t> values, bool is_list = true) {
    OnnxLiteral literal;
    literal.is_list = is_list;
    literal.integers.assign(values.begin(), values.end());
    *node.add_attribute() = make_attribute_proto(name, literal);
    return *this;
  }
  TestNode& outputs(int count) {
    while (node.output_size() < count) node.add_output("y" + std::to_string(node.output_size()));
    return *this;
  }
  TestNode& since(int version) {
    opset = version;
    return *this;
  }
  /// Returns the last output.
  std::optional<RawTensor> evaluate(const std::vector<std::optional<RawTensor>>& inputs,
                                    std::size_t max_bytes = 1000) const {
    onnx::NodeProto with_inputs = node;
    std::vector<KnownTensor> known;
    for (const auto& input : inputs) {
      with_inputs.add_input(input ? "x" : "");
      known.push_back(input ? make_known(*input) : KnownTensor());
    }
    algebra::Symbols symbols;
    EvaluationContext context{symbols, max_bytes};
    return evaluate_node(with_inputs, opset, known, context).back().numbers;
  }

  onnx::NodeProto node;
  int opset = 17;
};

void check_integers(const std::optional<RawTensor>& found, const Dims& dims, const std::vector<std::int64_t>& values) {
  REQUIRE(found);
  CHECK(found->dims == dims);
  CHECK(found->integers() == values);
}

}  // namespace

TEST_CASE("movements keep elements of any type", "[clean]") {
  const RawTensor matrix = int64s({2, 3}, {1, 2, 3, 4, 5, 6});
  check_integers(TestNode("Transpose").set("perm", {1, 0}).evaluate({matrix}), {3, 2}, {1, 4, 2, 5, 3, 6});
  check_integers(TestNode("Transpose").evaluate({matrix}), {3, 2}, {1, 4, 2, 5, 3, 6});
  check_integers(TestNode("Reshape").evaluate({matrix, int64s({2}, {-1, 2})}), {3, 2}, {1, 2, 3, 4, 5, 6});
  check_integers(TestNode("Reshape").evaluate({matrix, int64s({2}, {0, -1})}), {2, 3}, {1, 2, 3, 4, 5, 6});
  check_integers(TestNode("Flatten").set("axis", {0}, false).evaluate({matrix}), {1, 6}, {1, 2, 3, 4, 5, 6});
  check_integers(TestNode("Unsqueeze").evaluate({matrix, int64s({2}, {0, -1})}), {1, 2, 3, 1}, {1, 2, 3, 4, 5, 6});
  check_integers(TestNode("Gather").set("axis", {1}, false).evaluate({matrix, int64s({}, {-1})}), {2}, {3, 6});
  check_integers(TestNode("Concat").set("axis", {1}, false).evaluate({matrix, int64s({2, 1}, {7, 8})}), {2, 4},
                 {1, 2, 3, 7, 4, 5, 6, 8});
  check_integers(TestNode("Expand").evaluate({int64s({2, 1}, {1, 2}), int64s({1}, {2})}), {2, 2}, {1, 1, 2, 2});
  check_integers(TestNode("Tile").evaluate({matrix, int64s({2}, {1, 2})}), {2, 6},
                 {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  check_integers(TestNode("Unsqueeze").evaluate({int64s({}, {7}), int64s({2}, {0, 1})}), {1, 1}, {7});
  check_integers(TestNode("Squeeze").set("axes", {}).since(12).evaluate({int64s({1, 2}, {1, 2})}), {2}, {1, 2});
  check_integers(TestNode("Expand").evaluate({int64s({1, 1}, {7}), int64s({1}, {3})}), {1, 3}, {7, 7, 7});
  check_integers(TestNode("Expand").evaluate({int64s({2, 1}, {1, 2}), int64s({1}, {0})}), {2, 0}, {});
  check_integers(TestNode("Split").outputs(2).since(18).evaluate({int64s({3}, {1, 2, 3})}), {1}, {3});
  CHECK_FALSE(TestNode("Reshape").evaluate({matrix, int64s({2}, {4, -1})}));
  CHECK_FALSE(TestNode("Gather").evaluate({matrix, int64s({}, {2})}));
  const RawTensor halves = tensor<std::uint16_t>(Proto::FLOAT16, {2, 1}, {0x7e01, 0x8000});  // a NaN and -0
  CHECK(TestNode("Transpose").evaluate({halves})->bytes == halves.bytes);
}

TEST_CASE("elements are gathered along an axis", "[clean]") {
  const RawTensor matrix = int64s({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto gather = [&](std::int64_t axis, const RawTensor& indices) {
    return TestNode("GatherElements").set("axis", {axis}, false).evaluate({matrix, indices});
  };
  check_integers(gather(1, int64s({2, 2}, {0, -1, 1, 0})), {2, 2}, {1, 3, 5, 4});
  check_integers(gather(0, int64s({1, 3}, {1, 0, 1})), {1, 3}, {4, 2, 6});
  check_integers(gather(-1, int64s({1, 4}, {2, 2, 0, 1})), {1, 4}, {3, 3, 1, 2});
  CHECK_FALSE(gather(1, int64s({2, 1}, {0, 3})));        // out of range
  CHECK_FALSE(gather(0, int64s({1, 4}, {0, 0, 0, 0})));  // more columns than the data have
  CHECK_FALSE(gather(0, int64s({2}, {0, 0})));           // of another rank
}

TEST_CASE("what no runtime accepts, or runtimes read in different ways, is not computed", "[clean]") {
  const RawTensor list = int64s({3}, {1, 2, 3}), matrix = int64s({2, 3}, {1, 2, 3, 4, 5, 6}), empty = int64s({0}, {});
  constexpr std::int64_t quarter = std::int64_t{1} << 62;
  const std::vector<std::pair<TestNode, std::vector<std::optional<RawTensor>>>> nodes = {
      {TestNode("Transpose").set("perm", {-1, 0}), {matrix}},
      {TestNode("Transpose").set("perm", {}), {matrix}},
      {TestNode("Transpose").set("perm", {0}), {matrix}},
      {TestNode("Split").outputs(4), {list, int64s({4}, {quarter, quarter, quarter, quarter + 3})}},
      {TestNode("Split").outputs(2), {list}},
      {TestNode("Split").outputs(4).since(18), {int64s({5}, {1, 2, 3, 4, 5})}},
      {TestNode("Split").set("num_outputs", {3}, false).outputs(2).since(18), {list}},
      {TestNode("Split"), {list, int64s({2}, {0, 3})}},
      {TestNode("Squeeze"), {int64s({1, 3}, {1, 2, 3}), empty}},
      {TestNode("Squeeze"), {int64s({1, 3}, {1, 2, 3}), int64s({2}, {0, 0})}},
      {TestNode("Reshape"), {matrix, int64s({2}, {-2, 3})}},
      {TestNode("Reshape").set("allowzero", {2}, false), {matrix, int64s({2}, {2, 3})}},
      {TestNode("Reshape").set("allowzero", {1}, false), {int64s({0, 3}, {}), int64s({2}, {0, -1})}},
      {TestNode("Pad"), {matrix, int64s({2}, {0, 0})}},
      {TestNode("Tile"), {int64s({}, {1}), int64s({1}, {1})}},
      {TestNode("Concat"), {list}},
      {TestNode("NonZero"), {int64s({}, {1})}},
      {TestNode("Expand"), {list, int64s({1}, {-1})}},
      {TestNode("ReduceMax").set("axes", {1}), {list}},
      {TestNode("ReduceMax").set("noop_with_empty_axes", {2}, false).since(18), {list}},
      {TestNode("Cast").set("to", {99}, false), {empty}}};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    INFO(i << " " << nodes[i].first.node.op_type());
    CHECK_FALSE(nodes[i].first.evaluate(nodes[i].second));
  }
}

TEST_CASE("a reduction without axes reduces all, or nothing if it says so", "[clean]") {
  const RawTensor matrix = int64s({2, 3}, {1, 2, 3, 4, 5, 6}), none = int64s({0}, {});
  constexpr std::int64_t inexact = (std::int64_t{1} << 53) + 1;
  for (const auto& [op, all] : {std::pair("ReduceSum", 21), {"ReduceProd", 720}, {"ReduceMax", 6}, {"ReduceMin", 1}}) {
    INFO(op);
    const TestNode plain(op), noop = TestNode(op).set("noop_with_empty_axes", {1}, false);
    for (const auto& inputs : {std::vector<std::optional<RawTensor>>{matrix}, {matrix, none}}) {
      check_integers(plain.evaluate(inputs), {1, 1}, {all});
      check_integers(noop.evaluate(inputs), {2, 3}, {1, 2, 3, 4, 5, 6});
    }
    check_integers(TestNode(op).set("keepdims", {2}, false).evaluate({matrix}), {}, {all});
    CHECK_FALSE(plain.evaluate({none}));
    const bool is_exact = std::string(op).ends_with("Max") || std::string(op).ends_with("Min");
    CHECK(plain.evaluate({int64s({2}, {inexact, 1})}).has_value() == is_exact);  // runtimes add in float64
  }
}

TEST_CASE("slices clamp and reverse as ONNX defines", "[clean]") {
  const RawTensor list = int64s({5}, {0, 1, 2, 3, 4});
  const auto slice = [&](std::int64_t start, std::int64_t end, std::int64_t step) {
    return TestNode("Slice").evaluate(
        {list, int64s({1}, {start}), int64s({1}, {end}), int64s({1}, {0}), int64s({1}, {step})});
  };
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min(), highest = std::numeric_limits<std::int64_t>::max();
  check_integers(slice(1, highest, 2), {2}, {1, 3});
  check_integers(slice(-2, 9, 1), {2}, {3, 4});
  check_integers(slice(-1, lowest, -2), {3}, {4, 2, 0});
  check_integers(slice(-1, -5, -1), {4}, {4, 3, 2, 1});
  check_integers(slice(9, 1, -1), {3}, {4, 3, 2});
  check_integers(slice(3, 2, 1), {0}, {});
  CHECK_FALSE(slice(0, 5, 0));
  CHECK_FALSE(slice(-1, highest, -1));  // all elements in onnxruntime, none in ONNX
  CHECK_FALSE(slice(-1, std::numeric_limits<std::int32_t>::max(), -1));
  CHECK_FALSE(slice(-9, lowest, -1));  // one element in onnxruntime
}

TEST_CASE("integers are computed unless they overflow", "[clean]") {
  constexpr auto highest = std::numeric_limits<std::int64_t>::max();
  const auto one = [](const std::string& op, std::int64_t a, std::int64_t b) {
    return TestNode(op).evaluate({int64s({}, {a}), int64s({1}, {b})});
  };
  check_integers(one("Add", 2, 3), {1}, {5});
  check_integers(one("Div", -7, 2), {1}, {-3});
  check_integers(one("Mod", -7, 2), {1}, {1});
  check_integers(one("Mod", 7, -2), {1}, {-1});
  CHECK_FALSE(one("Add", highest, 1));
  CHECK_FALSE(one("Mul", highest, 2));
  CHECK_FALSE(one("Div", 1, 0));
  CHECK_FALSE(one("Div", -highest - 1, -1));
  CHECK_FALSE(TestNode("Neg").evaluate({int64s({}, {-highest - 1})}));
  check_integers(TestNode("Range").evaluate({int64s({}, {5}), int64s({}, {0}), int64s({}, {-2})}), {3}, {5, 3, 1});
  check_integers(TestNode("NonZero").evaluate({int64s({2, 2}, {1, 0, 0, 3})}), {2, 2}, {0, 1, 0, 1});
}

TEST_CASE("floating point is computed where IEEE 754 leaves one result", "[clean]") {
  const auto one = [](const std::string& op, float a, float b) {
    return TestNode(op).evaluate({floats({}, {a}), floats({}, {b})});
  };
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  CHECK(one("Div", 1, 3)->element<float>(0) == 1.0F / 3.0F);
  CHECK(one("Div", 1, infinity)->element<float>(0) == 0.0F);
  CHECK_FALSE(one("Div", 1, 0));  // and what else leaves the range of its type
  CHECK_FALSE(one("Mul", 1e30F, 1e30F));
  CHECK_FALSE(one("Mul", 1e-30F, 1e-14F));
  CHECK(TestNode("Sqrt").evaluate({floats({}, {2})})->element<float>(0) == std::sqrt(2.0F));
  CHECK_FALSE(one("Sub", infinity, infinity));
  CHECK_FALSE(one("Add", nan, 1));
  CHECK_FALSE(one("Pow", 2, 2));
  CHECK_FALSE(TestNode("Exp").evaluate({floats({}, {1})}));
  CHECK_FALSE(TestNode("Sqrt").evaluate({floats({}, {-1})}));
  CHECK_FALSE(TestNode("Ceil").evaluate({floats({}, {-0.5F})}));
  CHECK(one("Max", -infinity, 1)->element<float>(0) == 1.0F);
  CHECK(one("Min", -0.0F, 0.5F)->element<float>(0) == 0.0F);
  CHECK_FALSE(one("Max", 0.0F, -0.0F));
  CHECK_FALSE(one("Min", nan, 1));
  CHECK_FALSE(one("Max", 1, nan));
}

TEST_CASE("a clip has either bound or both", "[clean]") {
  const TestNode clip("Clip");
  const RawTensor list = int64s({3}, {-4, 2, 9}), zero = int64s({}, {0}), five = int64s({}, {5});
  check_integers(clip.evaluate({list, zero, five}), {3}, {0, 2, 5});
  check_integers(clip.evaluate({list, zero}), {3}, {0, 2, 9});
  check_integers(clip.evaluate({list, std::nullopt, five}), {3}, {-4, 2, 5});
  check_integers(clip.evaluate({list, five, zero}), {3}, {0, 0, 0});  // the upper bound decides
  CHECK(clip.evaluate({floats({}, {-1.5F}), floats({}, {0.5F})})->element<float>(0) == 0.5F);
  CHECK_FALSE(clip.evaluate({floats({}, {std::nanf("")}), floats({}, {0})}));
  CHECK_FALSE(clip.evaluate({floats({}, {-0.0F}), floats({}, {0})}));
  check_integers(clip.evaluate({list}), {3}, {-4, 2, 9});
  const RawTensor infinite = floats({}, {std::numeric_limits<float>::infinity()});
  CHECK_FALSE(clip.evaluate({infinite, floats({}, {0})}));  // onnxruntime returns the largest number
  CHECK(clip.evaluate({infinite, floats({}, {0}), infinite}));
  check_integers(clip.evaluate({int64s({}, {-4}), int64s({1}, {0})}), {}, {0});
  CHECK_FALSE(clip.evaluate({list, int64s({3}, {0, 0, 0})}));
}

TEST_CASE("conversions are folded where they are defined", "[clean]") {
  const auto cast = [](const RawTensor& from, int type) {
    return TestNode("Cast").set("to", {type}, false).evaluate({from});
  };
  check_integers(cast(floats({2}, {1.9F, -1.9F}), Proto::INT64), {2}, {1, -1});
  check_integers(cast(int64s({}, {(std::int64_t{1} << 32) + 5}), Proto::INT32), {}, {5});
  CHECK(cast(int64s({}, {7}), Proto::BOOL)->bytes == std::string(1, '\1'));
  CHECK(cast(floats({}, {1.0F}), Proto::FLOAT16)->element<std::uint16_t>(0) == 0x3c00);
  CHECK_FALSE(cast(floats({}, {1e10F}), Proto::INT32));
  CHECK_FALSE(cast(floats({}, {std::nanf("")}), Proto::INT64));
  CHECK_FALSE(cast(floats({}, {1e10F}), Proto::FLOAT16));
  CHECK_FALSE(cast(int64s({}, {1}), Proto::STRING));
}

TEST_CASE("EyeLike has ones on one diagonal, in the type of its input or a given one", "[clean]") {
  const auto eye = [](std::int64_t k) {
    return TestNode("EyeLike").set("dtype", {Proto::INT64}, false).set("k", {k}, false);
  };
  const RawTensor like = floats({2, 3}, std::vector<float>(6));
  check_integers(eye(0).evaluate({like}), {2, 3}, {1, 0, 0, 0, 1, 0});
  check_integers(eye(2).evaluate({like}), {2, 3}, {0, 0, 1, 0, 0, 0});
  check_integers(eye(-1).evaluate({like}), {2, 3}, {0, 0, 0, 1, 0, 0});
  check_integers(eye(std::numeric_limits<std::int64_t>::max()).evaluate({like}), {2, 3}, {0, 0, 0, 0, 0, 0});
  CHECK(TestNode("EyeLike").evaluate({like})->element<float>(4) == 1);
  CHECK_FALSE(TestNode("EyeLike").evaluate({floats({2}, {0, 0})}));
}

TEST_CASE("a result above the limit is not computed", "[clean]") {
  constexpr std::int64_t large = std::int64_t{1} << 38;
  CHECK_FALSE(TestNode("ConstantOfShape").evaluate({int64s({2}, {large, large})}));
  CHECK_FALSE(TestNode("ConstantOfShape").evaluate({int64s({1}, {300})}));
  CHECK(TestNode("ConstantOfShape").evaluate({int64s({1}, {200})})->bytes.size() == 800);
  CHECK_FALSE(TestNode("Expand").evaluate({floats({}, {1}), int64s({1}, {1001})}));
  CHECK_FALSE(TestNode("Range").evaluate({int64s({}, {0}), int64s({}, {large}), int64s({}, {1})}));
  CHECK_FALSE(
      TestNode("Add").evaluate({floats({20, 1}, std::vector<float>(20)), floats({20}, std::vector<float>(20))}));
}

}  // namespace rulemill::optimize
