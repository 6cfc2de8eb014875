#include "optimize/together.h"

#include <catch2/catch.hpp>

#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "tests/optimize/graphs.h"
#include "tests/optimize/models.h"

namespace rulemill::optimize {
namespace {

constexpr const char* gated = "# x times what is made of it\ngated: mul(x, sigmoid(scale(x, a)))  # a: any number\n";

TEST_CASE("a pattern is found with the arguments of a commutative operator either way round", "[together]") {
  Workshop shop;
  const Together together = Together::parse(gated, "p");
  const ValueId x = shop.input("x", {3, 5}), a = shop.weight("a", {});
  const ValueId scaled = shop.op("scale", {x, a}), gate = shop.op("sigmoid", {scaled});
  const std::vector<NodeId> inner{shop.node(scaled), shop.node(gate)};
  CHECK(together.with(shop.bank, shop.node(shop.op("mul", {x, gate}))) == inner);
  const ValueId y = shop.op("relu", {scaled});  // made later, so that it stands second
  CHECK(together.with(shop.bank, shop.node(shop.op("mul", {gate, y}))).empty());
  CHECK(together.with(shop.bank, shop.node(gate)).empty());
  CHECK(together.with(shop.bank, shop.node(x)).empty());
  CHECK(Together().with(shop.bank, shop.node(shop.op("mul", {x, gate}))).empty());
}

TEST_CASE("what is wrong with a pattern is said with its place", "[together]") {
  const auto fault = [](const std::string& text) -> std::string {
    try {
      Together::parse(text, "p");
      return "none";
    } catch (const runtime::InputError& error) {
      return error.what();
    }
  };
  CHECK(fault("\n# nothing\n") == "none");
  CHECK(fault("\ngelu") == "p:2:5: expected ':' or 'takes:'");
  CHECK(fault("a took: add(neg(x), y)") == "p:1:7: expected ':' or 'takes:'");
  CHECK(fault("a takes: add(x, y)") == "p:1:19: expected one operator inside the other");
  CHECK(fault("a takes: add(neg(x), neg(y))") == "p:1:29: expected one operator inside the other");
  CHECK(fault("a takes: add(turn(x; perm = [1, b]), y)") == "p:1:34: expected an integer of up to three digits");
  CHECK(fault("a takes: add(turn(x; perm [1]), y)") == "p:1:27: expected '='");
  CHECK(fault("a takes: add(turn(x; perm = [1, 0]), y)") == "none");
  CHECK(fault(": add(x, y)") == "p:1:1: expected the pattern's name");
  CHECK(fault("a: x") == "p:1:5: expected an operator with its arguments");
  CHECK(fault("a: add(x, )") == "p:1:11: expected an operator or a value");
  CHECK(fault("a: add(x, y") == "p:1:12: expected ')'");
  CHECK(fault("a: add(x, y) z") == "p:1:14: expected the end of the line");
  std::string deep = "a: ";
  for (int i = 0; i < 40; ++i) deep += "relu(";
  CHECK(fault(deep) == "p:1:169: expected no more than 32 operators inside each other");
}

/// x · sigmoid(x) · s, then a product with a weight that could take the s.
ModelText gated_row() {
  ModelText text;
  text.input("x", {"4", "64", "256"}).output("y", {"4", "64", "8"});
  text.weight("s", {}).weight("w", {256, 8});
  text.node("Sigmoid", {"x"}, {"g"}).node("Mul", {"x", "g"}, {"m"}).node("Mul", {"m", "s"}, {"t"});
  return text.node("MatMul", {"t", "w"}, {"y"});
}

std::size_t steps_with(Together together) {
  RulesFromText rules(R"(
rule scale_of_weights(x:3, w:2, s:0)
  linear(scale(x, s), w) => linear(x, scale(w, s))
)");
  GraphBank bank(rules.library, rules.symbols);
  const Import import = import_model(gated_row().parsed(), bank);
  Fusion fusion(bank, std::move(together));
  CostModel cost(bank, fusion, find_device("t4"), {});
  Saturator saturator(bank, rules.terms, rules.rules, cost);
  const Region region = Regions(bank, fusion, import.outputs).cut_out(bank.live(import.outputs));
  return saturator.solve(region).steps.size();
}

TEST_CASE("nothing is taken out of what the runtime computes in one pass", "[together]") {
  CHECK(steps_with({}) == 1);
  CHECK(steps_with(Together::parse("swish: scale(mul(x, sigmoid(x)), s)", "p")) == 0);
}

constexpr const char* turned_operands =
    "left takes: matmul(transpose(x; perm = [1, 0]), y)\nright takes: matmul(x, transpose(y; perm = [1, 0]))";

TEST_CASE("a layout is taken at the place, by the operator and with the parameters that the pattern has",
          "[together]") {
  Workshop shop;
  const Together right = Together::parse("right takes: matmul(x, transpose(y; perm = [1, 0]))", "p");
  const auto instance = [&](const char* name, const algebra::Parameters& parameters, std::vector<std::uint32_t> ranks) {
    return shop.library.instantiate(name, parameters, ranks);
  };
  const auto perm = [](std::vector<std::int64_t> list) { return algebra::Parameters{{"perm", std::move(list)}}; };
  const auto product = instance("matmul", {}, {2, 2}), turned = instance("transpose", perm({1, 0}), {2});
  CHECK(right.takes(product, 1, turned));
  CHECK_FALSE(right.takes(product, 0, turned));
  CHECK_FALSE(right.takes(product, 1, instance("transpose", perm({0, 1}), {2})));
  CHECK_FALSE(right.takes(instance("add", {}, {2, 2}), 1, turned));
  CHECK_FALSE(Together().takes(product, 1, turned));
}

/// sigmoid(transpose(a · b)), where a and b are larger than their product.
double cost_of_a_turned_product(const Together& together) {
  RulesFromText rules(R"(
rule other_way_round(a:2, b:2)
  transpose(matmul(a, b); perm=[1, 0]) => matmul(transpose(b; perm=[1, 0]), transpose(a; perm=[1, 0]))
)");
  ModelText text;
  text.input("a", {"256", "512"}).input("b", {"512", "256"}).output("y", {"256", "256"});
  text.node("MatMul", {"a", "b"}, {"p"}).node("Transpose", {"p"}, {"t"}, {"perm=1,0"}).node("Sigmoid", {"t"}, {"y"});
  GraphBank bank(rules.library, rules.symbols);
  const Import import = import_model(text.parsed(), bank);
  Fusion fusion(bank, together);
  CostModel cost(bank, fusion, find_device("t4"), {});
  Saturator saturator(bank, rules.terms, rules.rules, cost);
  const Region region = Regions(bank, fusion, import.outputs).cut_out(bank.live(import.outputs));
  const Solution& solution = saturator.solve(region);
  std::vector<ValueId> leaves;
  for (const RegionLeaf& leaf : region.leaves) leaves.push_back(leaf.value);
  return cost.graph_seconds(*build(solution.graph, region, leaves, bank)) / cost.graph_seconds(import.outputs);
}

TEST_CASE("rules are chosen for layouts that cost nothing: a result that is turned is a product of turned operands",
          "[together]") {
  CHECK(cost_of_a_turned_product({}) == 1);
  const double share = cost_of_a_turned_product(Together::parse(turned_operands, "p"));
  CHECK(share < 0.9);
  CHECK(share > 0.5);  // the product and the sigmoid are left
}

TEST_CASE("the patterns that are shipped are read, and name operators that there are", "[together]") {
  const std::string file = "data/runtimes/onnxruntime.patterns";
  CHECK_NOTHROW(Together::load(file));
  const algebra::Library library = algebra::Library::load("data/operators");
  const auto names = library.operator_names();
  std::string word;
  for (const char sign : runtime::read_file(file).substr(runtime::read_file(file).find("gelu:"))) {
    if (sign == '(') CHECK(std::ranges::find(names, word) != names.end());
    word = std::isalnum(static_cast<unsigned char>(sign)) != 0 || sign == '_' ? word + sign : "";
  }
}

}  // namespace
}  // namespace rulemill::optimize
