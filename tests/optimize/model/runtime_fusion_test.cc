#include "optimize/model/runtime_fusion.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "optimize/cost/calibration.h"
#include "optimize/model/numbers.h"
#include "optimize/search/saturate.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"
#include "tests/optimize/graph_fixture.h"
#include "tests/optimize/models.h"
#include "tests/shipped_operators.h"

namespace rulemill::optimize {
namespace {

constexpr const char* gated = "# x times a function of it\ngated: mul(x, sigmoid(scale(x, a)))  # a: any number\n";

TEST_CASE("a pattern matches the arguments of a commutative operator in both orders", "[runtime_fusion]") {
  GraphFixture fixture;
  const auto inner_nodes = [&](const char* patterns, ValueId last) {
    Fusion fusion(fixture.bank, RuntimeFusions::parse(patterns, "p"));
    const auto found = fusion.one_pass(fixture.node(last));
    return found ? found->inner : std::vector<NodeId>();
  };
  const ValueId x = fixture.input("x", {3, 5}), a = fixture.weight("a", {});
  const ValueId scaled = fixture.op("scale", {x, a}), gate = fixture.op("sigmoid", {scaled});
  const std::vector<NodeId> inner{fixture.node(scaled), fixture.node(gate)};
  CHECK(inner_nodes(gated, fixture.op("mul", {x, gate})) == inner);
  const ValueId y = fixture.op("relu", {scaled});  // has a larger id, so it is the second argument
  CHECK(inner_nodes(gated, fixture.op("mul", {gate, y})).empty());
  CHECK(inner_nodes(gated, gate).empty());
  CHECK(inner_nodes(gated, x).empty());
  CHECK(inner_nodes("", fixture.op("mul", {x, gate})).empty());
}

TEST_CASE("a number of a pattern is only matched by the model's number", "[runtime_fusion]") {
  GraphFixture fixture;
  const RuntimeFusions fusions = RuntimeFusions::parse("halved: scale(relu(x), half())", "p");
  CHECK(fusions.numbers() == std::set<std::string>{"half"});
  Fusion fusion(fixture.bank, fusions);
  const ValueId y = fixture.op("relu", {fixture.input("x", {3, 5})});
  CHECK(fusion.one_pass(fixture.node(fixture.op("scale", {y, fixture.op("half", {})}))));
  CHECK_FALSE(fusion.one_pass(fixture.node(fixture.op("scale", {y, fixture.op("two", {})}))));
  CHECK(fusion.one_pass(fixture.node(fixture.op("scale", {y, fixture.weight("c", {}, {0.5})}))));
  CHECK_FALSE(fusion.one_pass(fixture.node(fixture.op("scale", {y, fixture.weight("d", {}, {0.25})}))));
}

TEST_CASE("an error in a pattern is reported with its place", "[runtime_fusion]") {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      RuntimeFusions::parse(text, "p");
      return "none";
    } catch (const runtime::InputError& error) {
      return error.what();
    }
  };
  CHECK(error_of("\n# nothing\n") == "none");
  const std::string no_colon = "expected ':' or 'absorbs:' or 'slows:' after the pattern's name, found ";
  CHECK(error_of("\ngelu") == "p:2:5: " + no_colon + "the end of the text");
  CHECK(error_of("a took: add(neg(x), y)") == "p:1:3: " + no_colon + "'took'");
  CHECK(error_of("a absorbs: add(x, y)") == "p:1:12: expected one operator inside the other");
  CHECK(error_of("a absorbs: add(neg(x), neg(y))") == "p:1:12: expected one operator inside the other");
  CHECK(error_of("a absorbs: add(turn(x; perm = [1, b]), y)") == "p:1:35: expected an integer, found 'b'");
  CHECK(error_of("a absorbs: add(turn(x; perm [1]), y)") ==
        "p:1:29: expected '=' after the parameter's name, found '['");
  CHECK(error_of("a absorbs: add(turn(x; perm = [1, 0]), y)") == "none");
  CHECK(error_of("a slows: add(turn(x:3; perm = []), y:2)") == "none");
  CHECK(error_of("a slows: add(x, y)") == "p:1:10: expected one operator inside the other");
  CHECK(error_of("a slows: add(x, neg(y))") == "p:1:10: expected an operator as the first argument");
  CHECK(error_of("a slows add(neg(x), y)") == "p:1:9: expected ':' after 'slows', found 'add'");
  CHECK(error_of("a slows: add(neg(x:b), y)") == "p:1:20: expected a rank, found 'b'");
  CHECK(error_of(": add(x, y)") == "p:1:1: expected the pattern's name, found ':'");
  CHECK(error_of("a: x") == "p:1:4: expected an operator with its arguments");
  CHECK(error_of("a: half()") == "p:1:9: expected an operator or a value, found ')'");
  CHECK(error_of("a: add(x, half())") == "none");
  CHECK(error_of("a: add(x, )") == "p:1:11: expected an operator or a value, found ')'");
  CHECK(error_of("a: add(x, y") == "p:1:12: expected ')' after the arguments of 'add', found the end of the text");
  CHECK(error_of("a: add(x, y) z") == "p:1:15: " + no_colon + "the end of the text");
  std::string deep = "a: ";
  for (int i = 0; i < 40; ++i) deep += "relu(";
  CHECK(error_of(deep) == "p:1:169: expected at most 32 nested operators");
}

/// x · sigmoid(x) · s, then a product whose weights could absorb s.
ModelText gated_row() {
  ModelText text;
  text.input("x", {"4", "64", "256"}).output("y", {"4", "64", "8"});
  text.weight("s", {}).weight("w", {256, 8});
  text.node("Sigmoid", {"x"}, {"g"}).node("Mul", {"x", "g"}, {"m"}).node("Mul", {"m", "s"}, {"t"});
  return text.node("MatMul", {"t", "w"}, {"y"});
}

std::size_t steps_with(RuntimeFusions fusions) {
  RulesFromText rules(R"(
rule scale_of_weights(x:3, w:2, s:0)
  linear(scale(x, s), w) => linear(x, scale(w, s))
)");
  GraphBank bank(rules.library, rules.symbols);
  const ImportedModel import = import_model(gated_row().parsed(), bank);
  Fusion fusion(bank, std::move(fusions));
  CostModel cost(bank, fusion, find_device("t4"), {});
  Saturator saturator(bank, rules.terms, rules.rules, cost);
  const Region region = RegionBuilder(bank, fusion, import.outputs).build_region(bank.live_nodes(import.outputs));
  return saturator.solve(region).steps.size();
}

TEST_CASE("rewrites do not break a runtime fusion", "[runtime_fusion]") {
  CHECK(steps_with({}) == 1);
  CHECK(steps_with(RuntimeFusions::parse("swish: scale(mul(x, sigmoid(x)), s)", "p")) == 0);
}

constexpr const char* transposed_operands =
    "left absorbs: matmul(transpose(x; perm = [1, 0]), y)\nright absorbs: matmul(x, transpose(y; perm = [1, 0]))";

TEST_CASE("an operand is absorbed only with the position, operator and parameters of the pattern", "[runtime_fusion]") {
  GraphFixture fixture;
  const RuntimeFusions right = RuntimeFusions::parse("right absorbs: matmul(x, transpose(y; perm = [1, 0]))", "p");
  const auto instance = [&](const char* name, const algebra::Parameters& parameters, std::vector<std::uint32_t> ranks) {
    return fixture.library.instantiate(name, parameters, ranks);
  };
  const auto perm = [](std::vector<std::int64_t> list) { return algebra::Parameters{{"perm", std::move(list)}}; };
  const auto product = instance("matmul", {}, {2, 2}), transposed = instance("transpose", perm({1, 0}), {2});
  CHECK(right.absorbs_operand(product, 1, transposed));
  CHECK_FALSE(right.absorbs_operand(product, 0, transposed));
  CHECK_FALSE(right.absorbs_operand(product, 1, instance("transpose", perm({0, 1}), {2})));
  CHECK_FALSE(right.absorbs_operand(instance("add", {}, {2, 2}), 1, transposed));
  CHECK_FALSE(RuntimeFusions().absorbs_operand(product, 1, transposed));
}

/// The cost after saturation with the rules, as a share of the cost before.
double relative_cost(const char* rules_text, const ModelText& text, const RuntimeFusions& fusions,
                     const DeviceModel& device) {
  RulesFromText rules(rules_text);
  rules.library.restrict_domains({});  // as `optimize` without --runtime
  GraphBank bank(rules.library, rules.symbols);
  const ImportedModel import = import_model(text.parsed(), bank);
  Fusion fusion(bank, fusions);
  CostModel cost(bank, fusion, device, {});
  Saturator saturator(bank, rules.terms, rules.rules, cost);
  const Region region = RegionBuilder(bank, fusion, import.outputs).build_region(bank.live_nodes(import.outputs));
  const Solution& solution = saturator.solve(region);
  std::vector<ValueId> leaves;
  for (const RegionLeaf& leaf : region.leaves) leaves.push_back(leaf.value);
  return cost.graph_seconds(*build_graph(solution.graph, region, leaves, bank)) / cost.graph_seconds(import.outputs);
}

/// sigmoid(transpose(a · b)), where a and b are larger than their product.
double relative_cost_of_transposed_product(const RuntimeFusions& fusions) {
  ModelText text;
  text.input("a", {"256", "512"}).input("b", {"512", "256"}).output("y", {"256", "256"});
  text.node("MatMul", {"a", "b"}, {"p"}).node("Transpose", {"p"}, {"t"}, {"perm=1,0"}).node("Sigmoid", {"t"}, {"y"});
  constexpr const char* rules = R"(
rule other_way_round(a:2, b:2)
  transpose(matmul(a, b); perm=[1, 0]) => matmul(transpose(b; perm=[1, 0]), transpose(a; perm=[1, 0]))
)";
  return relative_cost(rules, text, fusions, find_device("t4"));
}

TEST_CASE("a transposed product becomes a product of transposed operands if these are absorbed", "[runtime_fusion]") {
  CHECK(relative_cost_of_transposed_product({}) == 1);
  const double relative_cost = relative_cost_of_transposed_product(RuntimeFusions::parse(transposed_operands, "p"));
  CHECK(relative_cost < 0.9);
  CHECK(relative_cost > 0.5);  // the product and the sigmoid remain
}

constexpr const char* slower_norm = "Skip slows: layer_norm(add(x:3, y:3; left = []; right = []), g, b, e)";

/// A device on which operators take these nanoseconds per element, and a node 1 ns.
DeviceModel device_with(const std::string& nanoseconds_per_element) {
  const std::string head = R"(
runtime = "a"
node_nanoseconds = 1
product_gflops = 50
elements = [100, 10000]
by_result = []
[nanoseconds_per_element]
)";
  const std::string text = head + nanoseconds_per_element + "[nanoseconds_per_further_element]\n";
  return calibrated(find_device("cpu"), Calibration::parse(text, "c.toml"));
}

/// Skip takes 5 ns per element, and all other operators of the test 1 ns. A normalization of 10 columns has 1.2
/// elements per element of its input, because its means and variances count.
DeviceModel device_with_slower_norm() {
  return device_with("Add = [1, 1]\nLayerNormalization = [1, 1]\nRelu = [1, 1]\nSkip = [5, 5]\nSum = [1, 1]\n");
}

TEST_CASE("two nodes that are slower as one have the cost of that one, if nothing else reads the first",
          "[runtime_fusion]") {
  GraphFixture fixture;
  Fusion fusion(fixture.bank, RuntimeFusions::parse(slower_norm, "p"));
  CostModel cost(fixture.bank, fusion, device_with_slower_norm(), {});
  const ValueId x = fixture.input("x", {10, 100, 10}), y = fixture.input("y", {10, 100, 10});
  const ValueId g = fixture.weight("g", {10}), b = fixture.weight("b", {10}), e = fixture.weight("e", {});
  const auto microseconds = [&](ValueId sum, std::vector<ValueId> outputs = {}) {
    outputs.push_back(fixture.op("layer_norm", {sum, g, b, e}));
    return cost.graph_seconds(outputs) * 1e6;
  };
  const ValueId sum = fixture.op("add", {x, y});
  CHECK(microseconds(sum) == Approx(50).epsilon(0.01));
  CHECK(microseconds(sum, {sum}) == Approx(22).epsilon(0.01));
  CHECK(microseconds(fixture.op("sequence_sum", {x, y})) == Approx(22).epsilon(0.01));
  const ValueId row = fixture.input("row", {10, 1, 10});
  const algebra::Parameters spread{{"right", std::vector<std::int64_t>{0, 1, 0}}};
  CHECK(microseconds(fixture.op("add", {x, row}, spread)) == Approx(22).epsilon(0.01));
  const ValueId p = fixture.input("p", {1000, 10}), q = fixture.input("q", {1000, 10});
  CHECK(microseconds(fixture.op("add", {p, q})) == Approx(22).epsilon(0.01));
}

TEST_CASE("a search avoids a slower fusion", "[runtime_fusion]") {
  ModelText text(17);
  text.input("x", {"10", "100", "10"}).input("y", {"10", "100", "10"}).output("r", {"10", "100", "10"});
  text.weight("g", {10}).weight("b", {10}).node("Add", {"x", "y"}, {"s"});
  text.node("LayerNormalization", {"s", "g", "b"}, {"n"}, {"axis=-1"}).node("Relu", {"n"}, {"r"});
  constexpr const char* rules = "rule as_sum(x:3, y:3)\n  add(x, y) => sequence_sum(x, y)\n";
  CHECK(relative_cost(rules, text, {}, device_with_slower_norm()) == 1);
  const RuntimeFusions fusions = RuntimeFusions::parse(slower_norm, "p");
  CHECK(relative_cost(rules, text, fusions, device_with_slower_norm()) == Approx(32.0 / 60).epsilon(0.01));
}

/// Sigmoid takes 3 ns per element, and silu_of_tests 2 ns, and all other operators of the test 1 ns.
DeviceModel device_with_slow_sigmoid() {
  return device_with("Add = [1, 1]\nMul = [1, 1]\nSigmoid = [3, 3]\nTanh = [1, 1]\nsilu_of_tests = [2, 2]\n");
}

TEST_CASE("nodes in one pass cost what their name costs, or else as much as the last, if nothing else reads the others",
          "[runtime_fusion]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {100, 100}), gate = fixture.op("sigmoid", {x});
  const ValueId gated_x = fixture.op("mul", {x, gate});
  const auto microseconds = [&](const char* patterns, std::vector<ValueId> outputs) {
    Fusion fusion(fixture.bank, RuntimeFusions::parse(patterns, "p"));
    return CostModel(fixture.bank, fusion, device_with_slow_sigmoid(), {}).graph_seconds(outputs) * 1e6;
  };
  CHECK(microseconds("", {gated_x}) == Approx(40).epsilon(0.01));
  CHECK(microseconds("silu: mul(x, sigmoid(x))", {gated_x}) == Approx(10).epsilon(0.01));
  CHECK(microseconds("silu: mul(x, sigmoid(x))", {gated_x, gate}) == Approx(40).epsilon(0.01));
  CHECK(microseconds("silu_of_tests: mul(x, sigmoid(x))", {gated_x}) == Approx(20).epsilon(0.01));
}

TEST_CASE("a search prices nodes in one pass that a rewrite creates as those of a model", "[runtime_fusion]") {
  ModelText text;
  text.input("x", {"100", "100"}).output("y", {"100", "100"});
  text.node("Tanh", {"x"}, {"t"}).node("Mul", {"x", "t"}, {"m"}).node("Add", {"x", "m"}, {"y"});
  constexpr const char* rules = R"(
rule as_sigmoid(x:2)
  add(x, mul(x, tanh(x))) => mul(add(x, x), sigmoid(add(x, x)))
)";
  CHECK(relative_cost(rules, text, {}, device_with_slow_sigmoid()) == 1);
  const RuntimeFusions fusions = RuntimeFusions::parse("silu: mul(x, sigmoid(x))", "p");
  CHECK(relative_cost(rules, text, fusions, device_with_slow_sigmoid()) == Approx(2.0 / 3).epsilon(0.01));
}

TEST_CASE("a search keeps the half of a gelu, which could be multiplied into the next weights", "[runtime_fusion]") {
  ModelText text;
  text.input("x", {"4", "64", "256"})
      .output("y", {"4", "64", "8"})
      .weight("a", {})
      .weight("b", {})
      .weight("w", {256, 8});
  *text.graph().add_initializer() = make_tensor_proto("half", algebra::Tensor{{}, {0.5}}, test_data_type());
  text.node("Div", {"x", "a"}, {"d"}).node("Erf", {"d"}, {"e"}).node("Add", {"e", "b"}, {"p"});
  text.node("Mul", {"x", "p"}, {"m"}).node("Mul", {"m", "half"}, {"g"}).node("MatMul", {"g", "w"}, {"y"});
  RulesFromText rules(R"(
rule scale_of_weights(x:3, w:2, s:0)
  linear(scale(x, s), w) => linear(x, scale(w, s))
)");
  GraphBank bank(rules.library, rules.symbols);
  const ImportedModel import = import_model(text.parsed(), bank);
  const auto steps = [&](const RuntimeFusions& fusions) {
    Fusion fusion(bank, fusions);
    const std::vector<ValueId> named = name_constants(bank, import.outputs, rules.terms, {}, fusions.numbers()).outputs;
    CostModel cost(bank, fusion, find_device("t4"), {});
    Saturator saturator(bank, rules.terms, rules.rules, cost);
    CHECK(cost.graph_seconds(named) == Approx(cost.graph_seconds(import.outputs)));
    return saturator.solve(RegionBuilder(bank, fusion, named).build_region(bank.live_nodes(named))).steps.size();
  };
  CHECK(steps({}) == 1);
  CHECK(steps(RuntimeFusions::load("data/runtimes/onnxruntime.patterns")) == 0);
}

TEST_CASE("the shipped patterns are valid and name existing operators", "[runtime_fusion]") {
  const std::string file = "data/runtimes/onnxruntime.patterns";
  CHECK_NOTHROW(RuntimeFusions::load(file));
  const algebra::Library& library = shipped_operators();
  const auto names = library.operator_names();
  std::istringstream lines(runtime::read_file(file));
  for (std::string line; std::getline(lines, line);) {
    std::string word;
    for (const char sign : line.substr(0, line.find('#'))) {
      if (sign == '(') CHECK(std::ranges::find(names, word) != names.end());
      word = std::isalnum(static_cast<unsigned char>(sign)) != 0 || sign == '_' ? word + sign : "";
    }
  }
}

}  // namespace
}  // namespace rulemill::optimize
