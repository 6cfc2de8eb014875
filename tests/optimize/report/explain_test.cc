#include "optimize/report/explain.h"

#include <catch2/catch.hpp>

#include "algebra/rules/specialization.h"
#include "optimize/search/search_graph.h"
#include "runtime/text/error.h"
#include "tests/optimize/models.h"

namespace rulemill::optimize {
namespace {

constexpr const char* scale_rule = R"(
rule scale_of_rows(x:3, w:2, s:0)
  linear(scale(x, s), w) => linear(x, scale(w, s))
)";

std::vector<Explanation> explained(const ModelText& text, const std::string& rules_text, const std::string& target) {
  RulesFromText rules(rules_text);
  GraphBank bank(rules.library, rules.symbols);
  const ImportedModel import = import_model(text.parsed(), bank);
  Fusion fusion(bank);
  CostModel cost(bank, fusion, find_device("t4"), {});
  const auto specialized =
      algebra::specialize(rules.rules, used_operators(bank), rules.library, rules.terms, rules.symbols);
  Matcher matcher(bank, rules.terms, specialized);
  return explain({bank, import, rules.terms, rules.rules, specialized, matcher, cost}, target);
}

/// A row through these operators, then times a weight.
ModelText row_through(const std::string& op_type, const std::string& domain = {}) {
  ModelText text;
  text.input("x", {"2", "3", "4"}).output("y", {"2", "3", "5"}).weight("w", {4, 5}).weight("s", {});
  std::vector<std::string> inputs{"x"};
  if (op_type == "Mul") inputs.push_back("s");
  return text.node(op_type, inputs, {"g"}, {}, domain).node("MatMul", {"g", "w"}, {"y"});
}

TEST_CASE("an operator that differs from the rule's is named", "[explain]") {
  const auto found = explained(row_through("Sigmoid"), scale_rule, "scale_of_rows");
  REQUIRE(found.size() == 1);
  CHECK(found[0].place == "node_y");
  CHECK(found[0].matched_operators == 1);
  CHECK(found[0].reason == "the rule has scale where the model has sigmoid 'g'");
}

TEST_CASE("a rule that applies is reported with its effect on the cost", "[explain]") {
  for (const std::string target : {"scale_of_rows", "node_y"}) {
    const auto found = explained(row_through("Mul"), scale_rule, target);
    REQUIRE(found.size() == 1);
    CHECK(found[0].matched_operators == 2);
    CHECK(found[0].reason.starts_with("by the cost model the graph would take "));
  }
}

TEST_CASE("a constant that equals a number of the rule matches it", "[explain]") {
  constexpr const char* rules = R"(
rule elu_by_one(x:2)
  elu(x, ones(; d=[])) => celu(x, ones(; d=[]))
)";
  ModelText text;
  text.input("x", {"2", "4"}).output("y", {"2", "4"}).node("Elu", {"x"}, {"y"});
  const auto found = explained(text, rules, "node_y");
  REQUIRE(found.size() == 1);
  CHECK(found[0].reason.starts_with("by the cost model the graph would take "));
}

TEST_CASE("an opaque neighbor is named with the reason", "[explain]") {
  ModelText text;
  text.input("x", {"2", "3", "4"}).output("y", {"2", "3", "4"});
  text.node("Mystery", {"x"}, {"g"}, {}, "elsewhere").node("Relu", {"g"}, {"y"});
  CHECK_THROWS_WITH(explained(text, scale_rule, "node_g"), Catch::Contains("opaque"));
  ModelText two;
  two.input("x", {"2", "3", "4"}).output("y", {"2", "3", "5"}).weight("w", {4, 5}).weight("s", {});
  two.node("Mystery", {"x"}, {"g"}, {}, "elsewhere").node("Mul", {"g", "s"}, {"h"}).node("MatMul", {"h", "w"}, {"y"});
  const auto found = explained(two, scale_rule, "scale_of_rows");
  for (const Explanation& each : found) CHECK(each.reason.find("opaque") != std::string::npos);
}

TEST_CASE("a condition that does not hold is reported", "[explain]") {
  const auto found = explained(row_through("Mul"), R"(
rule scale_of_rows(x[e, m, k], w[k, n], s[])
  linear(scale(x, s), w) => linear(x, scale(w, s))
  when k = n
)",
                               "scale_of_rows");
  REQUIRE(found.size() == 1);
  CHECK(found[0].reason.starts_with("all its operators match, but sizes or uses do not"));
}

TEST_CASE("a target that is neither a rule nor a node is an error", "[explain]") {
  CHECK_THROWS_WITH(explained(row_through("Mul"), scale_rule, "absent"),
                    Catch::Contains("no rule and no node of the model is named 'absent'"));
}

constexpr const char* general_rules = R"(
rule r9(x[e, m, k], s[])
  scale(x, s) => neg(scale(neg(x), s))
rule r9g(x[d...], s[])
  scale(x, s) => neg(scale(neg(x), s))
rule r10g(x[d...], y[d...])
  add(x, relu(y)) => mul(x, y)
)";

TEST_CASE("a general rule is explained by its instances, also by one with an id of its own", "[explain]") {
  for (const std::string target : {"r9g", "r9"}) {
    const auto found = explained(row_through("Mul"), general_rules, target);
    REQUIRE(found.size() == 1);
    CHECK(found[0].rule == (target == "r9g" ? "r9g as r9" : "r9"));
    CHECK(found[0].place == "node_g");
    CHECK(found[0].seconds_after > 0);
  }
}

TEST_CASE("a rule without an instance for the model is no unknown rule", "[explain]") {
  const auto found = explained(row_through("Mul"), general_rules, "r10g");
  REQUIRE(found.size() == 1);
  CHECK(to_text(found) == "r10g has no instance for the model: the model has no mul\n");
}

TEST_CASE("an explanation is three sentences on the nearest rule", "[explain]") {
  const auto found = explained(row_through("Sigmoid"), general_rules + std::string(scale_rule), "node_y");
  CHECK(to_text(found) ==
        "At node_y stands MatMul, read as linear/3,2.\n"
        "Rule scale_of_rows comes nearest: the rule has scale where the model has sigmoid 'g'.\n"
        "It would apply if the model had scale there.\n");
  CHECK(to_text(explained(row_through("Sigmoid"), scale_rule, "node_g")) ==
        "At node_g stands Sigmoid, read as sigmoid/3.\nNo rule of the databases has this operator at its root.\n");
  const auto applies = to_text(explained(row_through("Mul"), scale_rule, "node_y"));
  CHECK_THAT(applies,
             Catch::Matches("At node_y stands MatMul, read as .*\nRule scale_of_rows applies: by the cost model "
                            "the graph would take .* ms\\.\nIt would be used if .*\\.\n"));
  // A rule that applies is nearer than one that lacks one operator, and that is nearer than one that lacks two.
  const auto distance = [](double seconds, std::size_t missing) {
    Explanation each;
    each.seconds_after = seconds, each.missing_operators = missing;
    return each.distance();
  };
  CHECK((distance(2, 0) < distance(0, 0) && distance(1, 0) < distance(2, 0) && distance(0, 1) < distance(0, 2)));
  CHECK(to_text(std::vector<Explanation>{}) == "no operator of the model is the root of a side of the rule\n");
}

}  // namespace
}  // namespace rulemill::optimize
