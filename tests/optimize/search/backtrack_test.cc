#include "optimize/search/backtrack.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "optimize/verify/verify.h"
#include "tests/optimize/graph_fixture.h"

namespace rulemill::optimize {
namespace {

using Names = std::vector<std::string>;

bool accept_any(std::span<const ValueId>) { return true; }

/// A search with a cost of one per node.
struct BacktrackSearcher : GraphFixture {
  explicit BacktrackSearcher(const std::string& text) : GraphFixture(text), matcher(bank, terms, rules) {}
  SearchResult search(const std::vector<ValueId>& outputs, const SearchOptions& options,
                      const IsExportable& is_exportable = accept_any) {
    return backtrack(bank, matcher, cost, outputs, options, is_exportable);
  }

  CostModel cost{bank, fusion, counting_device(), {}};
  Matcher matcher;
};

constexpr const char* associate = R"(
rule associate(x:2, a:2, b:2)
  matmul(matmul(x, a), b) => matmul(x, matmul(a, b))
)";

/// x·a·b·c: three nodes that can become one.
ValueId three_products(GraphFixture& fixture) {
  ValueId last = fixture.input("x", {4, 4});
  for (const char* name : {"a", "b", "c"}) last = fixture.op("matmul", {last, fixture.weight(name, {4, 4})});
  return last;
}

TEST_CASE("a graph that no rule matches is its own best result", "[backtrack]") {
  BacktrackSearcher searcher(associate);
  const std::vector<ValueId> outputs{searcher.chain(searcher.input("x", {4, 4}), {"relu", "tanh"})};
  const SearchResult result = searcher.search(outputs, {});
  REQUIRE(result.best.size() == 1);
  CHECK(result.best[0].outputs == outputs);
  CHECK(result.best[0].seconds == 2);
  CHECK(result.best[0].steps.empty());
  CHECK(result.graphs_created == 0);
  CHECK(result.exhausted);
}

TEST_CASE("results are sorted by cost, have their steps, and are limited in number", "[backtrack]") {
  BacktrackSearcher searcher(associate);
  const std::vector<ValueId> outputs{three_products(searcher)};
  const SearchResult result = searcher.search(outputs, {.alpha = 2, .max_results = 2});
  REQUIRE(result.best.size() == 2);
  CHECK(result.best[0].seconds == 1);
  CHECK(result.best[1].seconds == 2);
  CHECK(result.exhausted);
  REQUIRE(result.best[0].steps.size() == 2);
  CHECK(result.best[0].steps[0].before == 3);
  CHECK(result.best[0].steps[0].after == 2);
  CHECK(result.best[0].steps[1].before == 2);
  CHECK(result.best[0].steps[1].after == 1);
  for (const Candidate& candidate : result.best) {
    CHECK(searcher.cost.graph_seconds(candidate.outputs) == candidate.seconds);
    CHECK(verify(searcher.bank, outputs, candidate.outputs, {}).is_equal());
  }
}

TEST_CASE("a search stops at its budget and reports that it is not exhausted", "[backtrack]") {
  BacktrackSearcher searcher(associate);
  const std::vector<ValueId> outputs{three_products(searcher)};
  const SearchResult one = searcher.search(outputs, {.budget = 1});
  CHECK(one.graphs_created == 1);
  CHECK_FALSE(one.exhausted);
  CHECK(one.best[0].seconds == 2);
  const SearchResult none = searcher.search(outputs, {.budget = 0});
  CHECK(none.graphs_created == 0);
  CHECK(none.best[0].seconds == 3);
}

TEST_CASE("graphs are kept if they cost less than alpha times the best", "[backtrack]") {
  // Two nodes, then three, then one. The rules are wrong, which does not matter to the search.
  BacktrackSearcher searcher(R"(
rule detour(x:2)
  relu(x) => relu(relu(x))
rule pays(x:2)
  exp(relu(relu(x))) => tanh(x)
)");
  const std::vector<ValueId> outputs{searcher.chain(searcher.input("x", {4, 4}), {"relu", "exp"})};
  const auto found = [&](double alpha) { return searcher.search(outputs, {.alpha = alpha}).best[0]; };
  CHECK(found(1).seconds == 2);
  CHECK(found(1.4).seconds == 2);
  CHECK(found(1.6).seconds == 1);
  CHECK(searcher.computed(found(1.6).outputs) == Names{"tanh"});
  CHECK(found(1.6).steps.at(0).after == 3);
}

TEST_CASE("unexportable graphs are intermediate steps but not results", "[backtrack]") {
  BacktrackSearcher searcher(R"(
rule first(x:2)
  neg(neg(neg(x))) => tanh(tanh(x))
rule second(x:2)
  tanh(tanh(x)) => sigmoid(x)
)");
  const std::vector<ValueId> outputs{searcher.chain(searcher.input("x", {4, 4}), {"neg", "neg", "neg"})};
  const auto without = [&](const Names& unexportable) {
    const IsExportable is_exportable = [&](std::span<const ValueId> graph) {
      return std::ranges::none_of(searcher.computed(graph),
                                  [&](const std::string& name) { return std::ranges::count(unexportable, name) > 0; });
    };
    return searcher.search(outputs, {.alpha = 2}, is_exportable).best;
  };
  const auto all = without({});
  REQUIRE(all.size() == 3);
  CHECK(all[0].seconds == 1);
  const auto some = without({"tanh"});
  REQUIRE(some.size() == 2);
  CHECK(searcher.computed(some[0].outputs) == Names{"sigmoid"});
  CHECK(some[0].steps.size() == 2);
  CHECK(some[1].outputs == outputs);
  const auto none = without({"tanh", "sigmoid"});
  REQUIRE(none.size() == 1);
  CHECK(none[0].outputs == outputs);
}

TEST_CASE("a duplicate graph is not extended again", "[backtrack]") {
  BacktrackSearcher searcher(R"(
rule there(x:2)
  neg(x) => tanh(x)
rule back(x:2)
  tanh(x) => neg(x)
)");
  const std::vector<ValueId> outputs{searcher.chain(searcher.input("x", {4, 4}), {"neg"})};
  const SearchResult result = searcher.search(outputs, {.alpha = 2});
  CHECK(result.graphs_created == 2);  // one rewrite, and the reverse one to a known graph
  CHECK(result.graphs_extended == 2);
  CHECK(result.best.size() == 2);
  CHECK(result.exhausted);
}

TEST_CASE("independent rewrites are not tried in every order", "[backtrack]") {
  BacktrackSearcher searcher(R"(
rule once(x:2)
  relu(relu(x)) => relu(x)
)");
  const ValueId x = searcher.input("x", {4, 4}), y = searcher.input("y", {4, 4});
  const std::vector<ValueId> outputs{searcher.chain(x, {"relu", "relu"}), searcher.chain(y, {"relu", "relu"})};
  const SearchResult result = searcher.search(outputs, {.alpha = 3});
  CHECK(result.graphs_created == 3);  // two of the original graph, and the second one after the first
  CHECK(result.best[0].seconds == 2);
}

TEST_CASE("the replacement of a value gets its name", "[backtrack]") {
  BacktrackSearcher searcher(associate);
  const std::vector<ValueId> outputs{three_products(searcher)};
  searcher.bank.set_name(outputs[0], "logits");
  CHECK(searcher.bank.value(searcher.search(outputs, {.alpha = 2}).best[0].outputs[0]).name == "logits");
}

}  // namespace
}  // namespace rulemill::optimize
