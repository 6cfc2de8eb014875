#include "optimize/search/saturate.h"

#include <catch2/catch.hpp>
#include <set>

#include "optimize/onnx/export.h"
#include "optimize/search/window_cuts.h"
#include "tests/optimize/models.h"

namespace rulemill::optimize {
namespace {

/// An imported model with a saturator.
struct SaturationFixture {
  SaturationFixture(const ModelText& text, const std::string& rules_text, bool reversible = false)
      : rules(rules_text, reversible),
        bank(rules.library, rules.symbols),
        import(import_model(text.parsed(), bank)),
        fusion(bank),
        cost(bank, fusion, find_device("t4"), {}),
        saturator(bank, rules.terms, rules.rules, cost) {}

  Region whole_region() {
    return RegionBuilder(bank, fusion, import.outputs).build_region(bank.live_nodes(import.outputs));
  }
  std::vector<ValueId> build(const Region& region, const Solution& solution) {
    std::vector<ValueId> leaves;
    for (const RegionLeaf& leaf : region.leaves) leaves.push_back(leaf.value);
    return *build_graph(solution.graph, region, leaves, bank);
  }
  std::vector<std::string> fired(const Solution& solution) const {
    std::vector<std::string> names;
    for (const RewriteStep& step : solution.steps) names.push_back(rules.rules[step.rule].rule.id);
    return names;
  }

  RulesFromText rules;
  GraphBank bank;
  ImportedModel import;
  Fusion fusion;
  CostModel cost;
  Saturator saturator;
};

/// Checks that one rule fires, and that the search has the prices of the graphs before and after it.
void check_prices(SaturationFixture& fixture) {
  const Region region = fixture.whole_region();
  const Solution& solution = fixture.saturator.solve(region);
  REQUIRE(solution.steps.size() == 1);
  CHECK(solution.steps[0].before == Approx(fixture.cost.graph_seconds(fixture.import.outputs)));
  CHECK(solution.steps[0].after == Approx(fixture.cost.graph_seconds(fixture.build(region, solution))));
}

TEST_CASE("a rule with two outputs is extracted for both outputs together", "[saturate]") {
  SaturationFixture fixture(two_products(), merge_products);
  const Region region = fixture.whole_region();
  const Solution& solution = fixture.saturator.solve(region);
  CHECK(fixture.fired(solution) == std::vector<std::string>{"merge"});
  const auto merged = fixture.build(region, solution);
  CHECK(fixture.cost.graph_seconds(merged) < fixture.cost.graph_seconds(fixture.import.outputs));
  std::size_t products = 0;
  for (NodeId id : fixture.bank.live_nodes(merged)) {
    const Node& node = fixture.bank.node(id);
    products += node.kind == Node::Kind::Algebra && !node.constant && fixture.bank.instance(node).outputs.size() == 1;
  }
  CHECK(products == 1);
  CHECK(verify(fixture.bank, fixture.import.outputs, merged, {}).is_equal());
}

TEST_CASE("a saturator can be restricted to some rules", "[saturate]") {
  SaturationFixture fixture(two_products(), merge_products);
  const Region region = fixture.whole_region();
  CHECK_FALSE(fixture.saturator.solve(region).steps.empty());
  fixture.saturator.restrict_rules({});
  CHECK(fixture.saturator.solve(region).steps.empty());
  fixture.saturator.restrict_rules({0});
  CHECK(fixture.fired(fixture.saturator.solve(region)) == std::vector<std::string>{"merge"});
}

TEST_CASE("a region that no rule makes cheaper is unchanged", "[saturate]") {
  SaturationFixture fixture(two_products(), R"(
rule swap(x:2, y:2)
  add(x, y) => add(y, x)
)");
  const Region region = fixture.whole_region();
  const Solution& solution = fixture.saturator.solve(region);
  CHECK(solution.steps.empty());
  CHECK(solution.saturated);
  CHECK(fixture.build(region, solution) == region.outputs);
}

TEST_CASE("a rule that is not reversible is applied in one direction only", "[saturate]") {
  // Reversed, the rule would reduce the cost.
  const char* split_up = R"(
rule split_up(x:2, a:2, b:2)
  matmul(x, add(a, b)) => add(matmul(x, a), matmul(x, b))
)";
  ModelText text;
  text.input("x", {"16", "64"}).output("y", {"16", "64"}).weight("v", {64, 64}).weight("w", {64, 64});
  text.node("MatMul", {"x", "v"}, {"p"}).node("MatMul", {"x", "w"}, {"q"}).node("Add", {"p", "q"}, {"y"});
  SaturationFixture one_way(text, split_up);
  CHECK(one_way.saturator.solve(one_way.whole_region()).steps.empty());
  SaturationFixture both_ways(text, split_up, true);
  CHECK(both_ways.fired(both_ways.saturator.solve(both_ways.whole_region())) == std::vector<std::string>{"split_up"});
  std::string widening = split_up;
  widening.replace(widening.find("=>"), 2, "->");
  SaturationFixture widens(text, widening, true);  // whatever its record says
  CHECK(widens.saturator.solve(widens.whole_region()).steps.empty());
}

TEST_CASE("the sides of a rule that widens do not become one class", "[saturate]") {
  ModelText text;
  text.input("x", {"16", "64"}).output("y", {"16", "64"}).node("Log", {"x"}, {"p"}).node("Exp", {"p"}, {"y"});
  SaturationFixture fixture(text, "rule inverse(x:2) exp(log(x)) -> x");
  CHECK(fixture.saturator.solve(fixture.whole_region()).steps.empty());
}

TEST_CASE("terms over constants only are not rewritten", "[saturate]") {
  // There would be thousands of orders and groupings of the weights.
  ModelText text;
  text.input("x", {"4", "4"}).output("y", {"4", "4"});
  std::string sum;
  for (int i = 0; i < 6; ++i) {
    const std::string w = "w" + std::to_string(i), p = "p" + std::to_string(i), s = "s" + std::to_string(i);
    text.weight(w, {4, 4}).node("MatMul", {"x", w}, {p});
    if (i > 0) text.node("Add", {sum, p}, {i == 5 ? "y" : s});
    sum = i == 0 ? p : s;
  }
  SaturationFixture fixture(text, R"(
rule distribute(x:2, a:2, b:2)
  add(matmul(x, a), matmul(x, b)) => matmul(x, add(a, b))
rule regroup(x:2, y:2, z:2)
  add(x, add(y, z)) => add(z, add(x, y))
)",
                            true);
  const Region region = fixture.whole_region();
  const Solution& solution = fixture.saturator.solve(region);
  const auto merged = fixture.build(region, solution);
  std::size_t computed = 0;
  for (NodeId id : fixture.bank.live_nodes(merged)) {
    computed += fixture.bank.node(id).kind == Node::Kind::Algebra && !fixture.bank.node(id).constant;
  }
  CHECK(computed == 1);
  CHECK(solution.egraph_nodes < 12000);
  CHECK(verify(fixture.bank, fixture.import.outputs, merged, {}).is_equal());
}

TEST_CASE("regions that differ only in their weights have the same key", "[saturate]") {
  ModelText text;
  text.input("x", {"8", "8"}).output("y", {"8", "8"});
  text.weight("v", {8, 8}).weight("w", {8, 8});
  text.node("MatMul", {"x", "v"}, {"a"}).node("Relu", {"a"}, {"b"});
  text.node("MatMul", {"b", "w"}, {"c"}).node("Relu", {"c"}, {"y"});
  SaturationFixture fixture(text, "");
  const auto nodes = split_into_windows(fixture.bank, fixture.fusion, fixture.import.outputs,
                                        {.min_nodes = 2, .max_nodes = 2}, CutPlacement::Narrowest);
  REQUIRE(nodes.size() == 2);
  const RegionBuilder regions(fixture.bank, fixture.fusion, fixture.import.outputs);
  const Region first = regions.build_region(nodes[0]), second = regions.build_region(nodes[1]);
  CHECK(region_key(first, fixture.bank) == region_key(second, fixture.bank));
  CHECK(first.outputs.size() == 1);
  // A window with other operators has another key.
  CHECK(region_key(regions.build_region({nodes[0][0]}), fixture.bank) != region_key(first, fixture.bank));
}

TEST_CASE("a region contains all or none of the nodes that one ONNX node encodes", "[saturate]") {
  ModelText text;
  text.input("x", {"1", "4", "5", "5"}).output("y", {"1", "4", "5", "5"});
  text.weight("g", {4}).weight("b", {4}).weight("m", {4});
  text.weight("v", {4});
  text.node("BatchNormalization", {"x", "g", "b", "m", "v"}, {"n"}).node("Relu", {"n"}, {"y"});
  SaturationFixture fixture(text, "");
  std::vector<NodeId> computed;
  for (NodeId id : fixture.bank.live_nodes(fixture.import.outputs)) {
    if (fixture.bank.node(id).kind == Node::Kind::Algebra && !fixture.bank.node(id).constant) computed.push_back(id);
  }
  REQUIRE(computed.size() == 3);  // scaled, shifted, relu
  const RegionBuilder regions(fixture.bank, fixture.fusion, fixture.import.outputs);
  CHECK(regions.build_region({computed[1], computed[2]}).graph.nodes.size() == 3);
  CHECK(regions.build_region({computed[0]}).graph.nodes.empty());
  CHECK(regions.build_region({computed[2]}).graph.nodes.size() == 1);
  CHECK(regions.build_region({computed[1]}).graph.fused_pairs == std::vector<RegionGraph::FusedPair>{{1, 0}});
}

TEST_CASE("a node whose input types changed is not exported as the original ONNX node", "[saturate]") {
  // The bias is applied to a convolution with a larger kernel.
  ModelText text;
  text.input("x", {"1", "4", "5", "5"}).output("y", {"1", "4", "5", "5"}).output("z", {"1", "4", "5", "5"});
  text.weight("j", {4, 4, 1, 1}).weight("k", {4, 4, 3, 3}).weight("b", {4});
  text.node("Conv", {"x", "j", "b"}, {"y"}, {"kernel_shape=1,1"}).node("Conv", {"x", "k"}, {"z"}, {"pads=1,1,1,1"});
  SaturationFixture fixture(text, "");
  GraphBank& bank = fixture.bank;
  const NodeId biased = bank.value(fixture.import.outputs[0]).node;
  const std::vector<ValueId> arguments{fixture.import.outputs[1], bank.node(biased).arguments[1]};
  const NodeId moved = bank.with_arguments(biased, arguments);
  REQUIRE(bank.node(moved).origin == bank.node(biased).origin);
  const std::vector<ValueId> outputs{bank.node(moved).outputs[0], bank.node(moved).outputs[0]};
  const OnnxModel model = text.parsed();
  const OnnxModel out = export_model(model, fixture.import, bank,
                                     plan_export(fixture.import, bank, fixture.fusion, outputs, 13), outputs);
  std::size_t convolutions = 0;
  for (const auto& node : out.proto().model.graph().node()) {
    if (node.op_type() != "Conv") continue;
    ++convolutions;
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == "kernel_shape") CHECK(attribute.ints(0) == 3);
    }
  }
  CHECK(convolutions == 1);
}

TEST_CASE("nodes that only provided sizes are removed", "[saturate]") {
  ModelText text;
  text.input("x", {"2", "3", "4"}).output("y", {"2", "3", "4"});
  text.node("Relu", {"x"}, {"r"}).node("Relu", {"r"}, {"s"}).node("Shape", {"s"}, {"d"});
  text.node("Reshape", {"s", "d"}, {"t"}).node("Sigmoid", {"t"}, {"y"});
  SaturationFixture fixture(text, R"(
rule twice(x:3)
  relu(relu(x)) => relu(x)
)");
  const Region region = fixture.whole_region();
  const auto outputs = fixture.build(region, fixture.saturator.solve(region));
  const OnnxModel out = export_model(text.parsed(), fixture.import, fixture.bank,
                                     plan_export(fixture.import, fixture.bank, fixture.fusion, outputs, 13), outputs);
  std::vector<std::string> names;
  for (const auto& node : out.proto().model.graph().node()) names.push_back(node.op_type());
  CHECK(names == std::vector<std::string>{"Relu", "Reshape", "Sigmoid"});
}

TEST_CASE("an activation stays next to or moves to its convolution, with or without a bias", "[saturate]") {
  // A separate activation would cost less after the pool, which leaves a quarter of the elements.
  const char* exchange = R"(
rule exchange(x[n, c, h, w])
  max_pool(relu(x); kernel=2, stride=2, pad=valid) => relu(max_pool(x; kernel=2, stride=2, pad=valid))
)";
  for (const bool bias : {false, true}) {
    for (const bool after_pool : {false, true}) {
      INFO(bias << after_pool);
      ModelText text;
      text.input("x", {"1", "4", "64", "64"}).output("y", {"1", "4", "32", "32"});
      text.weight("k", {4, 4, 3, 3}).weight("b", {4});
      text.node("Conv", bias ? std::vector<std::string>{"x", "k", "b"} : std::vector<std::string>{"x", "k"}, {"c"},
                {"pads=1,1,1,1"});
      if (!after_pool) text.node("Relu", {"c"}, {"r"});
      text.node("MaxPool", {after_pool ? "c" : "r"}, {after_pool ? "p" : "y"}, {"kernel_shape=2,2", "strides=2,2"});
      if (after_pool) text.node("Relu", {"p"}, {"y"});
      SaturationFixture fixture(text, exchange, true);
      const Region region = fixture.whole_region();
      const Solution& solution = fixture.saturator.solve(region);
      CHECK(solution.steps.empty() == !after_pool);
      const auto built = fixture.build(region, solution);
      CHECK(fixture.bank.instance(fixture.bank.node_of(built.at(0))).operator_name == "max_pool");
      CHECK(fixture.cost.graph_seconds(built) <= fixture.cost.graph_seconds(fixture.import.outputs));
    }
  }
}

TEST_CASE("the cost of an extraction equals the cost of the extracted graph", "[saturate]") {
  ModelText text;
  text.input("x", {"1", "4", "64", "64"}).output("y", {"1", "4", "32", "32"});
  text.weight("k", {4, 4, 3, 3}).weight("b", {4});
  text.node("Conv", {"x", "k", "b"}, {"c"}, {"pads=1,1,1,1"}).node("Relu", {"c"}, {"r"});
  text.node("MaxPool", {"r"}, {"p"}, {"kernel_shape=2,2", "strides=2,2"}).node("Relu", {"p"}, {"y"});
  SaturationFixture fixture(text, R"(
rule drop_outer(x[n, c, h, w])
  relu(max_pool(relu(x); kernel=2, stride=2, pad=valid)) => max_pool(relu(x); kernel=2, stride=2, pad=valid)
)");
  check_prices(fixture);
}

TEST_CASE("a concatenation within a concatenation is free in an extraction, as in the whole graph", "[saturate]") {
  // Regrouped, both are one ONNX node.
  ModelText text;
  text.input("x", {"4", "8"}).input("z", {"4", "8"}).input("v", {"4", "8"}).output("y", {"4", "24"});
  text.node("Concat", {"z", "v"}, {"c"}, {"axis=1"}).node("Concat", {"x", "c"}, {"y"}, {"axis=1"});
  SaturationFixture fixture(text, R"(
rule regroup(x[m, k], y[m, l], z[m, n])
  concat(x, concat(y, z; axis=1); axis=1) => concat(concat(x, y; axis=1), z; axis=1)
)",
                            true);
  const Region region = fixture.whole_region();
  const Solution& solution = fixture.saturator.solve(region);
  REQUIRE(solution.steps.size() == 1);
  const auto built = fixture.build(region, solution);
  CHECK(solution.steps[0].after == Approx(fixture.cost.graph_seconds(built)));
  CHECK(fixture.cost.graph_seconds(built) < fixture.cost.graph_seconds(fixture.import.outputs));
}

TEST_CASE("a concatenation of three values has its price in a search, as in the whole graph", "[saturate]") {
  ModelText text;
  text.input("x", {"64", "8"}).input("z", {"64", "8"}).input("v", {"64", "8"}).output("y", {"64", "24"});
  text.node("Concat", {"x", "z", "v"}, {"c"}, {"axis=1"}).node("Relu", {"c"}, {"r"}).node("Relu", {"r"}, {"y"});
  SaturationFixture fixture(text, R"(
rule drop_outer(x[m, n])
  relu(relu(x)) => relu(x)
)");
  check_prices(fixture);
}

TEST_CASE("a node that needs a neighbor to be exported is not extracted without it", "[saturate]") {
  // A bias after the sum would have no convolution to be fused into.
  ModelText text;
  text.input("x", {"1", "4", "5", "5"}).input("z", {"1", "4", "5", "5"}).output("y", {"1", "4", "5", "5"});
  text.weight("k", {4, 4, 3, 3}).weight("b", {4});
  text.node("Conv", {"x", "k", "b"}, {"c"}, {"pads=1,1,1,1"}).node("Add", {"c", "z"}, {"y"});
  SaturationFixture fixture(text, branch_rules);
  CHECK(fixture.saturator.solve(fixture.whole_region()).steps.empty());
}

/// Combine two factors per column after relu.
constexpr const char* factors_of_columns = R"(
rule scaled(x[m, n], c[n] of positive)
  relu(mul_row(x, c)) => mul_row(relu(x), c)
rule twice(x[m, n], a[n], b[n])
  mul_row(mul_row(x, a), b) => mul_row(x, mul(a, b))
)";

/// A factor for each column after a product and before an activation: relu(x·w · c).
ModelText scaled_product(const std::vector<double>& factors) {
  ModelText text;
  text.input("x", {"64", "256"}).output("y", {"64", "4"}).weight("w", {256, 4});
  *text.graph().add_initializer() = make_tensor_proto("c", algebra::Tensor{{4}, factors}, text.data_type);
  text.node("MatMul", {"x", "w"}, {"p"}).node("Mul", {"p", "c"}, {"s"}).node("Relu", {"s"}, {"r"});
  text.node("Mul", {"r", "c"}, {"y"});
  return text;
}

TEST_CASE("rules over positive variables apply to positive constants only", "[saturate]") {
  SaturationFixture fixture(scaled_product({0.5, 2, 3, 0.25}), factors_of_columns);
  const Region region = fixture.whole_region();
  const Solution& solution = fixture.saturator.solve(region);
  const std::vector<std::string> fired = fixture.fired(solution);
  CHECK(std::set<std::string>(fired.begin(), fired.end()) == std::set<std::string>{"scaled", "twice"});
  const auto built = fixture.build(region, solution);
  CHECK(fixture.cost.graph_seconds(built) < fixture.cost.graph_seconds(fixture.import.outputs));
  for (NodeId id : fixture.bank.live_nodes(built)) {
    const Node& node = fixture.bank.node(id);
    if (node.kind == Node::Kind::Algebra) CHECK_FALSE(algebra::is_positive_operator(fixture.bank.instance(node)));
  }
  CHECK(verify(fixture.bank, fixture.import.outputs, built, {}).is_equal());
  for (const double factor : {-2.0, 0.0}) {
    SaturationFixture other_sign(scaled_product({0.5, factor, 3, 0.25}), factors_of_columns);
    CHECK(other_sign.saturator.solve(other_sign.whole_region()).steps.empty());
  }
}

TEST_CASE("regions that differ only in the sign of a constant have different solutions", "[saturate]") {
  ModelText text;
  text.input("x", {"64", "4"}).output("y", {"64", "4"}).output("z", {"64", "4"});
  *text.graph().add_initializer() = make_tensor_proto("c", algebra::Tensor{{4}, {1, 2, 3, 4}}, text.data_type);
  *text.graph().add_initializer() = make_tensor_proto("d", algebra::Tensor{{4}, {1, -2, 3, 4}}, text.data_type);
  text.node("Mul", {"x", "c"}, {"s"}).node("Relu", {"s"}, {"r"}).node("Mul", {"r", "c"}, {"y"});
  text.node("Mul", {"x", "d"}, {"t"}).node("Relu", {"t"}, {"u"}).node("Mul", {"u", "d"}, {"z"});
  SaturationFixture fixture(text, factors_of_columns);
  const RegionBuilder regions(fixture.bank, fixture.fusion, fixture.import.outputs);
  const auto solved = [&](std::size_t output) {
    const ValueId root[] = {fixture.import.outputs[output]};
    return fixture.saturator.solve(regions.build_region(fixture.bank.live_nodes(root))).steps.size();
  };
  CHECK(solved(0) == 2);
  CHECK(solved(1) == 0);
}

}  // namespace
}  // namespace rulemill::optimize
