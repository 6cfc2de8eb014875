// The known results of nodes whose inputs have dimensions and elements that depend on sizes.
#include <catch2/catch.hpp>

#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/operators/onnx_operators.h"

namespace rulemill::optimize {

namespace {

using Proto = onnx::TensorProto;
using algebra::Poly;

/// Sizes n and m, which may be 0 if `smallest` is.
struct Sizes {
  explicit Sizes(std::int64_t smallest_size) : smallest(smallest_size) {}

  Poly size(const std::string& name) { return Poly(symbols.size(name)) - (1 - smallest); }
  KnownTensor tensor(const algebra::Shape& dims) {
    return {Proto::FLOAT, Dimensions(dims.begin(), dims.end()), {}, {}};
  }
  KnownTensor list(const std::vector<Poly>& elements, int type = Proto::INT64) {
    EvaluationContext context{symbols};
    return make_known(type, {static_cast<std::int64_t>(elements.size())}, elements, context);
  }
  KnownTensor evaluate(const std::string& op, const std::vector<KnownTensor>& inputs,
                       const std::vector<std::pair<std::string, OnnxLiteral>>& attributes = {}) {
    onnx::NodeProto node;
    node.set_op_type(op);
    node.add_output("y");
    for (std::size_t i = 0; i < inputs.size(); ++i) node.add_input("x");
    for (const auto& [name, value] : attributes) *node.add_attribute() = make_attribute_proto(name, value);
    EvaluationContext context{symbols, 1000, smallest};
    return evaluate_node(node, 18, inputs, context).at(0);
  }
  /// Returns the dimensions, or the elements if they are known.
  std::string text(const KnownTensor& known) {
    if (const auto elements = to_sizes(known)) return "= " + symbols.to_string(*elements);
    if (!known.dims) return "unknown";
    std::string result;
    for (const Dimension& dim : *known.dims) result += (dim ? symbols.to_string(*dim) : "?") + " ";
    return result;
  }

  algebra::Symbols symbols;
  std::int64_t smallest;
};

OnnxLiteral integer(std::int64_t value) {
  OnnxLiteral literal;
  literal.integers = {Poly(value)};
  return literal;
}

}  // namespace

TEST_CASE("a size that may be 0 is not compared with 1", "[shapes]") {
  const auto result = [](std::int64_t smallest, const std::string& op, std::int64_t number) {
    Sizes sizes(smallest);
    return sizes.text(sizes.evaluate(op, {sizes.list({sizes.size("n")}), sizes.list({Poly(number)})}));
  };
  CHECK(result(1, "Max", 1) == "= [n]");
  CHECK(result(0, "Max", 1) == "= [max(n, 2) - 1]");
  CHECK(result(1, "Min", 1) == "= [1]");
  CHECK(result(0, "Min", 1) == "= [min(n, 2) - 1]");
  CHECK(result(1, "Equal", 0) == "= [0]");
  CHECK(result(0, "Equal", 0) == "1 ");
  CHECK(result(1, "Greater", 0) == "= [1]");
  CHECK(result(0, "Greater", 0) == "1 ");
  CHECK(result(0, "GreaterOrEqual", 0) == "= [1]");
  CHECK(result(1, "Mod", 2) == "= [n - 2*div(n, 2)]");
  for (const std::int64_t smallest : {0, 1}) {
    Sizes sizes(smallest);
    const KnownTensor cast = sizes.evaluate("Cast", {sizes.list({sizes.size("n")})}, {{"to", integer(Proto::BOOL)}});
    CHECK(sizes.text(cast) == (smallest == 1 ? "= [1]" : "1 "));
  }
}

TEST_CASE("dimensions of 0 and 1 elements are broadcast as runtimes do", "[shapes]") {
  Sizes sizes(1);
  const Poly n = sizes.size("n"), third = sizes.symbols.floor_div(n, 3);
  const auto expanded = [&](const Poly& from, const Poly& to) {
    return sizes.text(sizes.evaluate("Expand", {sizes.tensor({from}), sizes.list({to})}));
  };
  CHECK(expanded(1, n) == "n ");
  CHECK(expanded(1, third) == "? ");  // 0 for n = 2
  CHECK(expanded(1, 0) == "0 ");
  CHECK(expanded(3, n) == "3 ");
  CHECK(expanded(n, 3) == "3 ");
  CHECK(expanded(n, sizes.size("m")) == "max(n, m) ");
  Sizes from_zero(0);
  const KnownTensor sum =
      from_zero.evaluate("Add", {from_zero.tensor({from_zero.size("n")}), from_zero.tensor({from_zero.size("m")})});
  CHECK(from_zero.text(sum) == "? ");
}

TEST_CASE("a reshape to a size that may be 0 copies a dimension there", "[shapes]") {
  const auto reshaped = [](std::int64_t smallest, const std::string& form) {
    Sizes sizes(smallest);
    const Poly n = sizes.size("n"), m = sizes.size("m");
    const std::map<std::string, std::pair<algebra::Shape, std::vector<Poly>>> forms = {
        {"same place", {{n, m, 6}, {n, m, 2, 3}}},
        {"merged", {{n, m, 6}, {n * m, 6}}},
        {"merged and the rest", {{n, m, 6}, {n * m, -1}}},
        {"copied and the rest", {{n, m, 6}, {0, -1}}},
        {"the rest", {{n, 6}, {-1, 3}}},
        {"another tensor's size", {{2, 3}, {n, 3}}},
    };
    const auto& [dims, requested] = forms.at(form);
    return sizes.text(sizes.evaluate("Reshape", {sizes.tensor(dims), sizes.list(requested)}));
  };
  CHECK(reshaped(1, "same place") == "n m 2 3 ");
  CHECK(reshaped(0, "same place") == "n - 1 m - 1 2 3 ");
  CHECK(reshaped(1, "merged") == "n*m 6 ");
  CHECK(reshaped(0, "merged") == "n*m - n - m + 1 6 ");
  CHECK(reshaped(1, "merged and the rest") == "n*m 6 ");
  CHECK(reshaped(0, "merged and the rest") == "? ? ");
  CHECK(reshaped(0, "copied and the rest") == "n - 1 6*m - 6 ");
  CHECK(reshaped(0, "the rest") == "2*n - 2 3 ");
  CHECK(reshaped(1, "another tensor's size") == "n 3 ");
  CHECK(reshaped(0, "another tensor's size") == "? 3 ");  // 2 for n = 0
}

TEST_CASE("slices with positions that are not known keep their other dimensions", "[shapes]") {
  Sizes sizes(1);
  const Poly n = sizes.size("n"), m = sizes.size("m");
  const KnownTensor data = sizes.tensor({4, n, 8}), unknown{Proto::INT64, Dimensions{Poly(1)}, {}, {}};
  const auto sliced = [&](const KnownTensor& start, const KnownTensor& end, const Poly& axis, const Poly& step) {
    return sizes.text(sizes.evaluate("Slice", {data, start, end, sizes.list({axis}), sizes.list({step})}));
  };
  const auto number = [&](const Poly& value) { return sizes.list({value}); };
  CHECK(sliced(number(0), unknown, 1, 1) == "4 ? 8 ");
  CHECK(sliced(number(0), {Proto::INT64, {}, {}, {}}, 1, 1) == "4 ? 8 ");
  CHECK(sliced(number(0), number(m), 1, 1) == "4 min(n, m) 8 ");
  CHECK(sliced(number(0), number(-1), 1, 1) == "4 ? 8 ");  // n - 1 may be 0
  CHECK(sliced(number(-1), number(-2'000'000'000), 1, -1) == "4 n 8 ");
  CHECK(sliced(number(0), number(2'000'000'000), 1, 2) == "4 div(n + 1, 2) 8 ");
  CHECK(sliced(number(1), number(3), 2, 1) == "4 n 2 ");
}

TEST_CASE("int32 sizes that may exceed 32 bits are not known", "[shapes]") {
  Sizes sizes(1);
  const Poly n = sizes.size("n"), m = sizes.size("m");
  const auto product = [&](const Poly& a, const Poly& b, int type) {
    return sizes.text(sizes.evaluate("Mul", {sizes.list({a}, type), sizes.list({b}, type)}));
  };
  CHECK(product(n, m, Proto::INT64) == "= [n*m]");
  CHECK(product(n, m, Proto::INT32) == "1 ");
  CHECK(product(n, 2, Proto::INT32) == "= [2*n]");
  CHECK(product(n, 65536, Proto::INT32) == "1 ");
  CHECK(product(65536, 65536, Proto::INT32) == "1 ");
  std::set<Poly> dimensions = {n * m};  // that a tensor has, so that they are no more than memory holds
  EvaluationContext context{sizes.symbols, 0, 1, {}, &dimensions};
  CHECK(make_known(Proto::INT32, {1}, {n * m}, context).sizes);
}

TEST_CASE("a Resize by scales has the sizes that runtimes compute in float32", "[shapes]") {
  Sizes sizes(1);
  const Poly n = sizes.size("n");
  const auto resized = [&](const Poly& dim, float scale) {
    RawTensor scales = make_raw_tensor(Proto::FLOAT, {1}, std::string(reinterpret_cast<const char*>(&scale), 4));
    return sizes.text(sizes.evaluate("Resize", {sizes.tensor({dim}), KnownTensor(), make_known(scales)}));
  };
  CHECK(resized(5, 1.5F) == "7 ");
  CHECK(resized(3, 1.0F / 3) == "1 ");
  CHECK(resized(n, 2) == "2*n ");
  CHECK(resized(n, 1.5F) == "n + div(n, 2) ");
  CHECK(resized(n, 0.5F) == "? ");  // 0 for n = 1
  CHECK(resized(n, 0.3F) == "? ");
}

TEST_CASE("the dimensions of an Einsum are those of its letters", "[shapes]") {
  const auto dims = [](const std::string& equation, const std::vector<algebra::Shape>& shapes) {
    Sizes sizes(1);
    OnnxLiteral literal;
    literal.string_value = equation;
    std::vector<KnownTensor> inputs;
    for (const algebra::Shape& shape : shapes) inputs.push_back(sizes.tensor(shape));
    return sizes.text(sizes.evaluate("Einsum", inputs, {{"equation", literal}}));
  };
  CHECK(dims("byhwc,hkc->byhwk", {{1, 2, 5, 7, 96}, {5, 3, 96}}) == "1 2 5 7 3 ");
  CHECK(dims("ij, jk -> ki", {{2, 3}, {3, 4}}) == "4 2 ");
  CHECK(dims("ij,ij->ij", {{1, 3}, {2, 1}}) == "2 3 ");
  CHECK(dims("ij,jk->kl", {{2, 3}, {3, 4}}) == "unknown");
  CHECK(dims("...j,jk->...k", {{2, 3}, {3, 4}}) == "unknown");
  CHECK(dims("ij,jk", {{2, 3}, {3, 4}}) == "unknown");
  CHECK(dims("ijk,jk->i", {{2, 3}, {3, 4}}) == "unknown");
}

}  // namespace rulemill::optimize
