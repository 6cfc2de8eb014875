#include <catch2/catch.hpp>
#include <set>

#include "optimize/onnx/export.h"
#include "tests/optimize/models.h"

namespace rulemill::optimize {
namespace {

/// A model in the bank, with what a saturation of it needs.
struct World {
  World(const ModelText& text, const std::string& rules_text, bool reversible = false)
      : rules(rules_text, reversible),
        bank(rules.library, rules.symbols),
        import(import_model(text.parsed(), bank)),
        fusion(bank),
        cost(bank, fusion, find_device("t4"), {}),
        saturator(bank, rules.terms, rules.rules, cost) {}

  Region whole() { return Regions(bank, fusion, import.outputs).cut_out(bank.live(import.outputs)); }
  std::vector<ValueId> built(const Region& region, const Solution& solution) {
    std::vector<ValueId> leaves;
    for (const RegionLeaf& leaf : region.leaves) leaves.push_back(leaf.value);
    return *build(solution.graph, region, leaves, bank);
  }
  std::vector<std::string> fired(const Solution& solution) const {
    std::vector<std::string> names;
    for (const Step& step : solution.steps) names.push_back(rules.rules[step.rule].rule.id);
    return names;
  }

  RulesFromText rules;
  GraphBank bank;
  Import import;
  Fusion fusion;
  CostModel cost;
  Saturator saturator;
};

TEST_CASE("a rule of two outputs is extracted for both at once", "[saturate]") {
  World world(two_products(), merge_products);
  const Region region = world.whole();
  const Solution& solution = world.saturator.solve(region);
  CHECK(world.fired(solution) == std::vector<std::string>{"merge"});
  const auto merged = world.built(region, solution);
  CHECK(world.cost.graph_seconds(merged) < world.cost.graph_seconds(world.import.outputs));
  std::size_t products = 0;
  for (NodeId id : world.bank.live(merged)) {
    const Node& node = world.bank.node(id);
    products += node.kind == Node::Kind::Algebra && !node.constant && world.bank.instance(node).outputs.size() == 1;
  }
  CHECK(products == 1);
  CHECK(verify(world.bank, world.import.outputs, merged, {}).equal());
}

TEST_CASE("a region that no rule makes cheaper stays as it is", "[saturate]") {
  World world(two_products(), R"(
rule swap(x:2, y:2)
  add(x, y) => add(y, x)
)");
  const Region region = world.whole();
  const Solution& solution = world.saturator.solve(region);
  CHECK(solution.steps.empty());
  CHECK(solution.saturated);
  CHECK(world.built(region, solution) == region.outputs);
}

TEST_CASE("a rule that holds one way is not used the other way", "[saturate]") {
  // Backwards it would make the model cheaper.
  const char* split_up = R"(
rule split_up(x:2, a:2, b:2)
  matmul(x, add(a, b)) => add(matmul(x, a), matmul(x, b))
)";
  ModelText text;
  text.input("x", {"16", "64"}).output("y", {"16", "64"}).weight("v", {64, 64}).weight("w", {64, 64});
  text.node("MatMul", {"x", "v"}, {"p"}).node("MatMul", {"x", "w"}, {"q"}).node("Add", {"p", "q"}, {"y"});
  World one_way(text, split_up);
  CHECK(one_way.saturator.solve(one_way.whole()).steps.empty());
  World both_ways(text, split_up, true);
  CHECK(both_ways.fired(both_ways.saturator.solve(both_ways.whole())) == std::vector<std::string>{"split_up"});
}

TEST_CASE("terms over constants alone are not rewritten", "[saturate]") {
  // Sums of weights in every order and grouping would be thousands.
  ModelText text;
  text.input("x", {"4", "4"}).output("y", {"4", "4"});
  std::string sum;
  for (int i = 0; i < 6; ++i) {
    const std::string w = "w" + std::to_string(i), p = "p" + std::to_string(i), s = "s" + std::to_string(i);
    text.weight(w, {4, 4}).node("MatMul", {"x", w}, {p});
    if (i > 0) text.node("Add", {sum, p}, {i == 5 ? "y" : s});
    sum = i == 0 ? p : s;
  }
  World world(text, R"(
rule distribute(x:2, a:2, b:2)
  add(matmul(x, a), matmul(x, b)) => matmul(x, add(a, b))
rule regroup(x:2, y:2, z:2)
  add(x, add(y, z)) => add(z, add(x, y))
)",
              true);
  const Region region = world.whole();
  const Solution& solution = world.saturator.solve(region);
  const auto merged = world.built(region, solution);
  std::size_t computed = 0;
  for (NodeId id : world.bank.live(merged)) {
    computed += world.bank.node(id).kind == Node::Kind::Algebra && !world.bank.node(id).constant;
  }
  CHECK(computed == 1);
  CHECK(solution.nodes < 12000);
  CHECK(verify(world.bank, world.import.outputs, merged, {}).equal());
}

TEST_CASE("regions that differ in their weights alone have one key", "[saturate]") {
  ModelText text;
  text.input("x", {"8", "8"}).output("y", {"8", "8"});
  text.weight("v", {8, 8}).weight("w", {8, 8});
  text.node("MatMul", {"x", "v"}, {"a"}).node("Relu", {"a"}, {"b"});
  text.node("MatMul", {"b", "w"}, {"c"}).node("Relu", {"c"}, {"y"});
  World world(text, "");
  const auto nodes = split_into_windows(world.bank, world.fusion, world.import.outputs, {.smallest = 2, .largest = 2},
                                        Cuts::Narrowest);
  REQUIRE(nodes.size() == 2);
  const Regions regions(world.bank, world.fusion, world.import.outputs);
  const Region first = regions.cut_out(nodes[0]), second = regions.cut_out(nodes[1]);
  CHECK(key_of(first, world.bank) == key_of(second, world.bank));
  CHECK(first.outputs.size() == 1);
  // A window of other operators is another one.
  CHECK(key_of(regions.cut_out({nodes[0][0]}), world.bank) != key_of(first, world.bank));
}

TEST_CASE("what one node of the model says is in a region as a whole, or not at all", "[saturate]") {
  ModelText text;
  text.input("x", {"1", "4", "5", "5"}).output("y", {"1", "4", "5", "5"});
  text.weight("g", {4}).weight("b", {4}).weight("m", {4});
  text.weight("v", {4});
  text.node("BatchNormalization", {"x", "g", "b", "m", "v"}, {"n"}).node("Relu", {"n"}, {"y"});
  World world(text, "");
  std::vector<NodeId> computed;
  for (NodeId id : world.bank.live(world.import.outputs)) {
    if (world.bank.node(id).kind == Node::Kind::Algebra && !world.bank.node(id).constant) computed.push_back(id);
  }
  REQUIRE(computed.size() == 3);  // scaled, shifted, relu
  const Regions regions(world.bank, world.fusion, world.import.outputs);
  CHECK(regions.cut_out({computed[1], computed[2]}).graph.nodes.size() == 3);
  CHECK(regions.cut_out({computed[0]}).graph.nodes.empty());
  CHECK(regions.cut_out({computed[2]}).graph.nodes.size() == 1);
  CHECK(regions.cut_out({computed[1]}).graph.said == std::vector<RegionGraph::Said>{{1, 0}});
}

TEST_CASE("a node is not written as it was where its inputs have other types", "[saturate]") {
  // The bias stays where it was, on a convolution whose kernel has become larger.
  ModelText text;
  text.input("x", {"1", "4", "5", "5"}).output("y", {"1", "4", "5", "5"}).output("z", {"1", "4", "5", "5"});
  text.weight("j", {4, 4, 1, 1}).weight("k", {4, 4, 3, 3}).weight("b", {4});
  text.node("Conv", {"x", "j", "b"}, {"y"}, {"kernel_shape=1,1"}).node("Conv", {"x", "k"}, {"z"}, {"pads=1,1,1,1"});
  World world(text, "");
  GraphBank& bank = world.bank;
  const NodeId biased = bank.value(world.import.outputs[0]).node;
  const std::vector<ValueId> arguments{world.import.outputs[1], bank.node(biased).arguments[1]};
  const NodeId moved = bank.with_arguments(biased, arguments);
  REQUIRE(bank.node(moved).origin == bank.node(biased).origin);
  const std::vector<ValueId> outputs{bank.node(moved).outputs[0], bank.node(moved).outputs[0]};
  const OnnxModel model = text.parsed();
  const OnnxModel out =
      export_model(model, world.import, bank, plan_export(world.import, bank, world.fusion, outputs, 13), outputs);
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

TEST_CASE("what sizes were computed from is not kept for their sake", "[saturate]") {
  ModelText text;
  text.input("x", {"2", "3", "4"}).output("y", {"2", "3", "4"});
  text.node("Relu", {"x"}, {"r"}).node("Relu", {"r"}, {"s"}).node("Shape", {"s"}, {"d"});
  text.node("Reshape", {"s", "d"}, {"t"}).node("Sigmoid", {"t"}, {"y"});
  World world(text, R"(
rule twice(x:3)
  relu(relu(x)) => relu(x)
)");
  const Region region = world.whole();
  const auto outputs = world.built(region, world.saturator.solve(region));
  const OnnxModel out = export_model(text.parsed(), world.import, world.bank,
                                     plan_export(world.import, world.bank, world.fusion, outputs, 13), outputs);
  std::vector<std::string> names;
  for (const auto& node : out.proto().model.graph().node()) names.push_back(node.op_type());
  CHECK(names == std::vector<std::string>{"Relu", "Reshape", "Sigmoid"});
}

TEST_CASE("an activation stays with its convolution, and comes to it, whether or not that has a bias", "[saturate]") {
  // By itself it would cost less behind the pool, which leaves a quarter of the elements.
  const char* exchange = R"(
rule exchange(x[n, c, h, w])
  max_pool(relu(x); kernel=2, stride=2, pad=valid) => relu(max_pool(x; kernel=2, stride=2, pad=valid))
)";
  for (const bool bias : {false, true}) {
    for (const bool behind : {false, true}) {
      INFO(bias << behind);
      ModelText text;
      text.input("x", {"1", "4", "64", "64"}).output("y", {"1", "4", "32", "32"});
      text.weight("k", {4, 4, 3, 3}).weight("b", {4});
      text.node("Conv", bias ? std::vector<std::string>{"x", "k", "b"} : std::vector<std::string>{"x", "k"}, {"c"},
                {"pads=1,1,1,1"});
      if (!behind) text.node("Relu", {"c"}, {"r"});
      text.node("MaxPool", {behind ? "c" : "r"}, {behind ? "p" : "y"}, {"kernel_shape=2,2", "strides=2,2"});
      if (behind) text.node("Relu", {"p"}, {"y"});
      World world(text, exchange, true);
      const Region region = world.whole();
      const Solution& solution = world.saturator.solve(region);
      CHECK(solution.steps.empty() == !behind);
      const auto built = world.built(region, solution);
      CHECK(world.bank.instance(world.bank.node_of(built.at(0))).operator_name == "max_pool");
      CHECK(world.cost.graph_seconds(built) <= world.cost.graph_seconds(world.import.outputs));
    }
  }
}

TEST_CASE("what an extraction says that a graph costs is what the graph costs", "[saturate]") {
  ModelText text;
  text.input("x", {"1", "4", "64", "64"}).output("y", {"1", "4", "32", "32"});
  text.weight("k", {4, 4, 3, 3}).weight("b", {4});
  text.node("Conv", {"x", "k", "b"}, {"c"}, {"pads=1,1,1,1"}).node("Relu", {"c"}, {"r"});
  text.node("MaxPool", {"r"}, {"p"}, {"kernel_shape=2,2", "strides=2,2"}).node("Relu", {"p"}, {"y"});
  World world(text, R"(
rule outer_is_nothing(x[n, c, h, w])
  relu(max_pool(relu(x); kernel=2, stride=2, pad=valid)) => max_pool(relu(x); kernel=2, stride=2, pad=valid)
)");
  const Region region = world.whole();
  const Solution& solution = world.saturator.solve(region);
  REQUIRE(solution.steps.size() == 1);
  CHECK(solution.steps[0].before == Approx(world.cost.graph_seconds(world.import.outputs)));
  CHECK(solution.steps[0].after == Approx(world.cost.graph_seconds(world.built(region, solution))));
}

TEST_CASE("a concatenation in a concatenation costs an extraction nothing, as in the whole graph", "[saturate]") {
  // Regrouped, both are one node of ONNX.
  ModelText text;
  text.input("x", {"4", "8"}).input("z", {"4", "8"}).input("v", {"4", "8"}).output("y", {"4", "24"});
  text.node("Concat", {"z", "v"}, {"c"}, {"axis=1"}).node("Concat", {"x", "c"}, {"y"}, {"axis=1"});
  World world(text, R"(
rule regroup(x[m, k], y[m, l], z[m, n])
  concat(x, concat(y, z; axis=1); axis=1) => concat(concat(x, y; axis=1), z; axis=1)
)",
              true);
  const Region region = world.whole();
  const Solution& solution = world.saturator.solve(region);
  REQUIRE(solution.steps.size() == 1);
  const auto built = world.built(region, solution);
  CHECK(solution.steps[0].after == Approx(world.cost.graph_seconds(built)));
  CHECK(world.cost.graph_seconds(built) < world.cost.graph_seconds(world.import.outputs));
}

TEST_CASE("what no ONNX operator says is not extracted alone", "[saturate]") {
  // The bias behind the sum would have no convolution to go into.
  ModelText text;
  text.input("x", {"1", "4", "5", "5"}).input("z", {"1", "4", "5", "5"}).output("y", {"1", "4", "5", "5"});
  text.weight("k", {4, 4, 3, 3}).weight("b", {4});
  text.node("Conv", {"x", "k", "b"}, {"c"}, {"pads=1,1,1,1"}).node("Add", {"c", "z"}, {"y"});
  World world(text, branch_rules);
  CHECK(world.saturator.solve(world.whole()).steps.empty());
}

/// Two factors of columns become one behind relu.
constexpr const char* factors_of_columns = R"(
rule scaled(x[m, n], c[n] of positives)
  relu(mul_row(x, c)) => mul_row(relu(x), c)
rule twice(x[m, n], a[n], b[n])
  mul_row(mul_row(x, a), b) => mul_row(x, mul(a, b))
)";

/// A factor for each column behind a product, in front of an activation: relu(x·w · c).
ModelText scaled_product(const std::vector<double>& factors) {
  ModelText text;
  text.input("x", {"64", "256"}).output("y", {"64", "4"}).weight("w", {256, 4});
  *text.graph().add_initializer() = number_proto("c", algebra::Tensor{{4}, factors});
  text.node("MatMul", {"x", "w"}, {"p"}).node("Mul", {"p", "c"}, {"s"}).node("Relu", {"s"}, {"r"});
  text.node("Mul", {"r", "c"}, {"y"});
  return text;
}

TEST_CASE("rules of positives are used where a constant is positive, and not where it is not", "[saturate]") {
  World world(scaled_product({0.5, 2, 3, 0.25}), factors_of_columns);
  const Region region = world.whole();
  const Solution& solution = world.saturator.solve(region);
  const std::vector<std::string> fired = world.fired(solution);
  CHECK(std::set<std::string>(fired.begin(), fired.end()) == std::set<std::string>{"scaled", "twice"});
  const auto built = world.built(region, solution);
  CHECK(world.cost.graph_seconds(built) < world.cost.graph_seconds(world.import.outputs));
  for (NodeId id : world.bank.live(built)) {
    const Node& node = world.bank.node(id);
    if (node.kind == Node::Kind::Algebra) CHECK_FALSE(algebra::is_positives(world.bank.instance(node)));
  }
  CHECK(verify(world.bank, world.import.outputs, built, {}).equal());
  for (const double other : {-2.0, 0.0}) {
    World left(scaled_product({0.5, other, 3, 0.25}), factors_of_columns);
    CHECK(left.saturator.solve(left.whole()).steps.empty());
  }
}

TEST_CASE("regions that differ by the sign of a constant alone are solved apart", "[saturate]") {
  ModelText text;
  text.input("x", {"64", "4"}).output("y", {"64", "4"}).output("z", {"64", "4"});
  *text.graph().add_initializer() = number_proto("c", algebra::Tensor{{4}, {1, 2, 3, 4}});
  *text.graph().add_initializer() = number_proto("d", algebra::Tensor{{4}, {1, -2, 3, 4}});
  text.node("Mul", {"x", "c"}, {"s"}).node("Relu", {"s"}, {"r"}).node("Mul", {"r", "c"}, {"y"});
  text.node("Mul", {"x", "d"}, {"t"}).node("Relu", {"t"}, {"u"}).node("Mul", {"u", "d"}, {"z"});
  World world(text, factors_of_columns);
  const Regions regions(world.bank, world.fusion, world.import.outputs);
  const auto solved = [&](std::size_t output) {
    const ValueId root[] = {world.import.outputs[output]};
    return world.saturator.solve(regions.cut_out(world.bank.live(root))).steps.size();
  };
  CHECK(solved(0) == 2);
  CHECK(solved(1) == 0);
}

}  // namespace
}  // namespace rulemill::optimize
