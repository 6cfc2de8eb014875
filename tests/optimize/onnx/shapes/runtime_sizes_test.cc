// Results with sizes that are computed at run time from the shapes of the model's inputs.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "optimize/onnx/shapes/runtime_sizes.h"
#include "tests/optimize/models.h"

namespace rulemill::optimize {
namespace {

constexpr const char* resize_later_rules = R"(
rule later(x[n, g*q, h, w], k[q*q2, g, 1, 1])
  conv2d(resize_linear(x; rows=rows, cols=cols), k) => resize_linear(conv2d(x, k); rows=rows, cols=cols)
rule merge(x[n, g*q, h, w], k[q*q2, g, r, s], l[q*q2, g, r, s])
  add(conv2d(x, k), conv2d(x, l)) => conv2d(x, add(k, l))
)";

ModelText& add_integers(ModelText& text, const std::string& name, const std::vector<std::int64_t>& values) {
  OnnxLiteral literal;
  literal.is_list = true;
  for (const std::int64_t value : values) literal.integers.emplace_back(value);
  *text.graph().add_initializer() = make_integer_proto(name, literal);
  return text;
}

/// Adds a shape with the first two sizes of `first` and the others of `last`.
ModelText& add_shape(ModelText& text, const std::string& first, const std::string& last, const std::string& name) {
  text.node("Shape", {first}, {name + "_first"}).node("Shape", {last}, {name + "_last"});
  text.node("Slice", {name + "_first", "zero", "two"}, {name + "_outer"});
  text.node("Slice", {name + "_last", "two", "four"}, {name + "_inner"});
  return text.node("Concat", {name + "_outer", name + "_inner"}, {name}, {"axis=0"});
}

/// A model that resizes sixteen channels to another image's size.
ModelText resized_model(int opset) {
  ModelText text(opset);
  text.input("x", {"batch", "16", "height", "width"}).input("image", {"batch", "16", "rows", "columns"});
  text.weight("k", {2, 16, 1, 1}).weight("l", {16, 16, 1, 1}).weight("m", {16, 16, 1, 1});
  add_integers(add_integers(add_integers(text, "zero", {0}), "two", {2}), "four", {4});
  return text;
}

Options options_for(ScratchFolder& scratch, const ModelText& text) {
  Options options;
  options.model = text.save(scratch / "in.onnx");
  options.out = scratch / "out.onnx";
  options.benchmark.enabled = false;
  options.input_shapes = {{"x", {1, 16, 4, 4}}, {"image", {1, 16, 24, 24}}};
  return options;
}

std::multiset<std::string> operators_of(const std::filesystem::path& path) {
  std::multiset<std::string> operators;
  const OnnxModel model = OnnxModel::read(path);
  for (const auto& node : model.proto().model.graph().node()) operators.insert(node.op_type());
  return operators;
}

TEST_CASE("a node with sizes that the model does not compute takes them from the inputs", "[open_sizes]") {
  ScratchFolder scratch;
  ModelText text = resized_model(13);
  add_shape(text, "x", "image", "sizes");
  text.node("Resize", {"x", "", "", "sizes"}, {"large"}, {"mode='linear'"}).node("Conv", {"large", "k"}, {"y"});
  text.output("y", {"batch", "2", "rows", "columns"});
  *text.graph().add_value_info() = text.graph().output(0);
  onnx::ValueInfoProto& large = *text.graph().mutable_value_info(0);
  large.set_name("large");
  large.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_value(16);
  const Summary summary = RulesFromText(resize_later_rules).optimize(options_for(scratch, text));
  REQUIRE(summary.changed);
  CHECK(OnnxModel::read(scratch / "out.onnx").proto().model.graph().value_info_size() == 0);
  CHECK(summary.operations_after < summary.operations_before / 2);
  // With two channels a new list is written, and the nodes of the old one are removed.
  const auto operators = operators_of(scratch / "out.onnx");
  CHECK(operators.count("Slice") == 0);
  CHECK(operators.count("Shape") == 2);
  CHECK(operators.count("Concat") == 1);
}

TEST_CASE("a model is unchanged if its sizes cannot be computed at run time", "[open_sizes]") {
  ScratchFolder scratch;
  ModelText text = resized_model(12);
  add_shape(text, "x", "image", "sizes");
  text.node("Resize", {"x", "", "", "sizes"}, {"large"}, {"mode='linear'"}).node("Conv", {"large", "k"}, {"y"});
  text.output("y", {"batch", "2", "rows", "columns"});
  CHECK_FALSE(RulesFromText(resize_later_rules).optimize(options_for(scratch, text)).changed);
}

TEST_CASE("a shape of a removed value is computed from another one", "[open_sizes]") {
  ScratchFolder scratch;
  ModelText text = resized_model(13);
  text.node("Conv", {"image", "l"}, {"one"})
      .node("Conv", {"image", "m"}, {"other"})
      .node("Add", {"one", "other"}, {"z"});
  add_shape(text, "one", "one", "sizes");
  text.node("Resize", {"x", "", "", "sizes"}, {"y"}, {"mode='linear'"});
  text.output("y", {"batch", "16", "rows", "columns"}).output("z", {"batch", "16", "rows", "columns"});
  const Summary summary = RulesFromText(resize_later_rules).optimize(options_for(scratch, text));
  REQUIRE(summary.changed);
  CHECK(operators_of(scratch / "out.onnx").count("Conv") == 1);
}

TEST_CASE("divisions, minima and products of sizes are computed at run time, each once", "[open_sizes]") {
  RulesFromText rules;
  GraphBank bank(rules.library, rules.symbols);
  ModelText text;
  text.input("x", {"n", "h"}).output("y", {"n", "h"}).node("Relu", {"x"}, {"y"});
  const ImportedModel import = imported(text.parsed(), bank);
  const RuntimeSizes sizes(bank, import.inputs);
  algebra::Symbols& symbols = rules.symbols;
  const algebra::Poly n(symbols.size("$n")), h(symbols.size("$h")), unknown(symbols.size("$unknown"));
  CHECK(sizes.is_computable(symbols.floor_div(n * h - 7, 2) + 1));
  CHECK_FALSE(sizes.is_computable(symbols.min(n, unknown)));
  // Evaluates the written nodes as ONNX does: integer division truncates, remainders have the divisor's sign.
  std::map<std::string, std::int64_t> count;
  std::map<std::string, std::vector<std::int64_t>> values = {{"x", {}}};
  const auto add_value = [&](const std::vector<std::int64_t>& value) {
    const std::string name = "t" + std::to_string(values.size());
    values[name] = value;
    return name;
  };
  const auto node = [&](const std::string& op, const std::vector<std::string>& inputs) {
    ++count[op];
    if (op == "Shape") return add_value({2, 9});
    const std::vector<std::int64_t> left = values.at(inputs.at(0)), right = values.at(inputs.at(1));
    if (op == "Gather") return add_value({left.at(static_cast<std::size_t>(right.at(0)))});
    if (op == "Concat") {
      std::vector<std::int64_t> all;
      for (const std::string& input : inputs) all.push_back(values.at(input).at(0));
      return add_value(all);
    }
    const std::int64_t a = left.at(0), b = right.at(0);
    if (op == "Add") return add_value({a + b});
    if (op == "Sub") return add_value({a - b});
    if (op == "Mul") return add_value({a * b});
    if (op == "Div") return add_value({a / b});
    if (op == "Mod") return add_value({((a % b) + b) % b});
    return add_value({op == "Min" ? std::min(a, b) : std::max(a, b)});
  };
  SizeWriter writer(symbols, sizes,
                    {node, [&](std::int64_t number) { return add_value({number}); },
                     [&](ValueId input) { return bank.value(input).name; }});
  const std::string list =
      writer.write_list({symbols.floor_div(n - h, 2), symbols.floor_div(h - 7, 2), symbols.min(n, h), n * h});
  CHECK(values.at(list) == std::vector<std::int64_t>{-4, 1, 2, 18});
  CHECK(count["Shape"] == 1);
  CHECK(count["Gather"] == 2);
}

}  // namespace
}  // namespace rulemill::optimize
