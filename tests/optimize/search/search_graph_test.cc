#include "optimize/search/search_graph.h"

#include <catch2/catch.hpp>

#include "tests/optimize/graph_fixture.h"

namespace rulemill::optimize {
namespace {

using Names = std::vector<std::string>;

constexpr const char* quotients = R"(
rule quotient_multiplied(x:2, y:2)
  mul(div(x, y), y) -> x
rule column_multiplied(x[m, k], y[m, 1])
  mul_column(div_column(x, y), y) -> x
rule inverse(x:2)
  exp(log(x)) -> x
rule scaled_product(x[m, k], y[m, 1], w[k, n])
  mul_column(matmul(div_column(x, y), w), y) => matmul(mul_column(div_column(x, y), y), w)
)";

/// Searches with a cost of one per node.
struct Search : GraphFixture {
  explicit Search(const std::string& rules_text, bool reversible = false)
      : GraphFixture(rules_text, reversible), matcher(bank, terms, rules) {}
  Candidate best(const std::vector<ValueId>& outputs, SearchMethod method = SearchMethod::Saturation) {
    CostModel cost(bank, fusion, counting_device(), {});
    const SearchOptions options{.method = method};
    const SearchContext context{options, windows, bank, terms, rules, matcher, {}};
    return search_graph(context, cost, outputs, [](std::span<const ValueId>) { return true; }).best.at(0);
  }
  Names result(const std::vector<ValueId>& outputs) { return computed(best(outputs).outputs); }

  WindowOptions windows;
  Matcher matcher;
};

TEST_CASE("a rule that widens replaces a value for all that read it", "[search_graph]") {
  Search search(quotients);
  const ValueId x = search.input("x", {4, 4}), y = search.input("y", {4, 4});
  const ValueId value = search.op("mul", {search.op("div", {x, y}), y});
  const std::vector<ValueId> outputs{search.op("matmul", {value, y}), value, search.op("add", {value, x})};
  for (const SearchMethod method : {SearchMethod::Saturation, SearchMethod::Backtracking}) {
    const Candidate best = search.best(outputs, method);
    CHECK(best.widens);
    CHECK(best.outputs[1] == x);
    CHECK(search.computed(best.outputs) == Names{"matmul", "add"});
  }
}

TEST_CASE("another output gets no part that is undefined at more points", "[search_graph]") {
  // As equations, the rules make ((a / y) @ w) · y of a @ w, because that is there anyway.
  Search search(quotients, true);
  const ValueId a = search.input("a", {4, 4}), y = search.input("y", {4, 1}), w = search.input("w", {4, 4});
  const ValueId product = search.op("matmul", {search.op("div_column", {a, y}), w});
  const std::vector<ValueId> outputs{search.op("matmul", {a, w}), product, search.op("mul_column", {product, y})};
  const Candidate best = search.best(outputs);
  CHECK(best.outputs == outputs);
  CHECK_FALSE(best.widens);
}

TEST_CASE("a rule that widens is not applied before an operator that may compute a number of what is none, or infinite",
          "[search_graph]") {
  Search search(quotients);
  const ValueId x = search.input("x", {4, 4}), y = search.input("y", {4, 4});
  const auto value = [&] { return search.op("mul", {search.op("div", {x, y}), y}); };
  const auto is_widened = [&](const std::vector<ValueId>& outputs) { return search.best(outputs).widens; };
  CHECK(is_widened({search.op("sqrt", {value()})}));
  CHECK(
      is_widened({search.op("transpose", {search.op("abs", {value()})}, {{"perm", std::vector<std::int64_t>{1, 0}}})}));
  for (const char* name : {"relu", "sign", "is_none", "is_infinite", "exp", "tanh", "sigmoid", "recip"}) {
    INFO(name);
    CHECK_FALSE(is_widened({search.op(name, {value()})}));
  }
  CHECK_FALSE(is_widened({search.op("relu", {search.op("sqrt", {value()})}), value()}));
  CHECK_FALSE(is_widened({search.op("larger", {value(), x})}));
  CHECK_FALSE(is_widened({search.op("power", {value(), x})}));
  const ValueType type(algebra::Shape{4, 4}, test_data_type());
  CHECK_FALSE(is_widened({search.opaque("secret", {search.op("add", {x, value()})}, type)}));
  CHECK(is_widened({search.opaque("secret", {x}, type), value()}));
}

TEST_CASE("what reads a value is found in other windows, too", "[search_graph]") {
  Search search(quotients);
  search.windows = {.min_nodes = 2, .max_nodes = 3};
  const ValueId x = search.input("x", {4, 4}), y = search.input("y", {4, 4});
  const ValueId far = search.chain(search.op("mul", {search.op("div", {x, y}), y}), Names(12, "sqrt"));
  CHECK(search.best({far}).widens);
  CHECK_FALSE(search.best({search.op("relu", {far})}).widens);
}

TEST_CASE("a rule that widens is applied if it holds element by element", "[search_graph]") {
  const auto patterns = [](const std::string& rule) {
    const GraphFixture fixture("rule r" + rule);
    return compile_patterns(fixture.rules, fixture.terms).size();
  };
  CHECK(patterns("(x:2) exp(log(x)) -> x") == 1);
  CHECK(patterns("(x[m, n], b[m, 1]) div_column(mul_column(x, b), b) -> x") == 1);
  CHECK(patterns("(x:2, y:2) split(concat(relu(x), log(y); axis=0); axis=0, at=?).first -> relu(x)") == 0);
  CHECK(patterns("(x[m, m], b[m]) add(mul_row(x, b), log(transpose(x; perm=[1,0]))) -> add(mul_row(x, b), log(x))") ==
        0);
  CHECK(patterns("(x:2) add(relu(x), sub(log(x), log(x))) -> x") == 0);
  CHECK(patterns("(x:2, y:2) add(power(log(x), sub(y, y)), abs(x)) -> x") == 0);
  CHECK(patterns("(x[m, k], y[k, n]) matmul(exp(log(x)), y) -> matmul(x, y)") == 0);
}

}  // namespace
}  // namespace rulemill::optimize
