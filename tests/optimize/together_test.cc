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
  CHECK(fault("\ngelu") == "p:2:5: expected ':'");
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
  Saturator saturator(bank, rules.terms, rules.rules, cost, fusion);
  const Region region = Regions(bank, fusion, import.outputs).cut_out(bank.live(import.outputs));
  return saturator.solve(region).steps.size();
}

TEST_CASE("nothing is taken out of what the runtime computes in one pass", "[together]") {
  CHECK(steps_with({}) == 1);
  CHECK(steps_with(Together::parse("swish: scale(mul(x, sigmoid(x)), s)", "p")) == 0);
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
