#include "optimize/search/windows.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "optimize/search/window_cuts.h"
#include "tests/optimize/graph_fixture.h"

namespace rulemill::optimize {
namespace {

using Names = std::vector<std::string>;

bool accept_all(std::span<const ValueId>) { return true; }

std::vector<std::size_t> lengths(const std::vector<std::vector<NodeId>>& windows) {
  std::vector<std::size_t> result;
  for (const auto& window : windows) result.push_back(window.size());
  return result;
}

/// Both searches over windows, with a cost of one per node.
struct Searcher : GraphFixture {
  explicit Searcher(const std::string& text = {})
      : GraphFixture(text), matcher(bank, terms, rules), saturator(bank, terms, rules, cost) {}
  SearchResult backtrack(const std::vector<ValueId>& outputs, const WindowOptions& windows,
                         const SearchOptions& options = {}, const IsExportable& is_exportable = accept_all) {
    return search_windows(bank, matcher, cost, outputs, options, windows, is_exportable);
  }
  SearchResult saturate(const std::vector<ValueId>& outputs, const WindowOptions& windows,
                        const IsExportable& is_exportable = accept_all) {
    return saturate_windows(bank, saturator, cost, outputs, {}, windows, is_exportable);
  }

  CostModel cost{bank, fusion, counting_device(), {}};
  Matcher matcher;
  Saturator saturator;
};

constexpr const char* once = R"(
rule once(x:2)
  relu(relu(x)) => relu(x)
)";

Names repeated(const Names& block, int times) {
  Names result;
  for (int i = 0; i < times; ++i) result.insert(result.end(), block.begin(), block.end());
  return result;
}

TEST_CASE("windows contain every computed node once, arguments before users", "[windows]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {4, 4}),
                w = fixture.op("add", {fixture.weight("v", {4, 4}), fixture.weight("w", {4, 4})});
  const ValueId low = fixture.chain(fixture.op("matmul", {x, w}), repeated({"relu", "tanh", "neg"}, 5));
  const ValueId hidden = fixture.opaque("secret", {low}, ValueType(algebra::Shape{4, 4}, test_data_type()));
  const std::vector<ValueId> outputs{fixture.op("add", {fixture.chain(hidden, {"exp", "relu"}), low}), low};
  const auto windows = split_into_windows(fixture.bank, fixture.fusion, outputs, {.min_nodes = 3, .max_nodes = 5},
                                          CutPlacement::Narrowest);
  std::set<NodeId> before;
  for (const auto& window : windows) {
    CHECK(window.size() <= 5);
    CHECK((window.size() >= 3 || &window == &windows.back()));
    for (NodeId id : window) {
      CHECK_FALSE(fixture.bank.node(id).constant);
      for (ValueId argument : fixture.bank.node(id).arguments) {
        const Node& producer = fixture.bank.node_of(argument);
        const bool is_leaf = producer.constant || producer.kind == Node::Kind::Input;
        CHECK((is_leaf || before.contains(fixture.node(argument))));
      }
      CHECK(before.insert(id).second);
    }
  }
  CHECK(before.size() == 1 + 15 + 1 + 3);
}

TEST_CASE("windows are cut where few values cross", "[windows]") {
  // One value is live between two diamonds, and two or more within a diamond.
  GraphFixture fixture;
  ValueId last = fixture.input("x", {4, 4});
  for (int i = 0; i < 3; ++i) {
    const ValueId top = fixture.op("relu", {last});
    last = fixture.op("add", {fixture.op("exp", {top}), fixture.op("tanh", {top})});
  }
  const std::vector<ValueId> outputs{last};
  CHECK(lengths(split_into_windows(fixture.bank, fixture.fusion, outputs, {.min_nodes = 3, .max_nodes = 5},
                                   CutPlacement::Narrowest)) == std::vector<std::size_t>{4, 4, 4});
  CHECK(lengths(split_into_windows(fixture.bank, fixture.fusion, outputs, {.min_nodes = 3, .max_nodes = 12},
                                   CutPlacement::Narrowest)) == std::vector<std::size_t>{12});
}

TEST_CASE("staggered cuts keep a distance from the narrowest cuts", "[windows]") {
  GraphFixture fixture;
  const std::vector<ValueId> chain{fixture.chain(fixture.input("x", {4}), repeated({"relu", "tanh"}, 5))};
  const WindowOptions options{.min_nodes = 4, .max_nodes = 4};
  CHECK(lengths(split_into_windows(fixture.bank, fixture.fusion, chain, options, CutPlacement::Narrowest)) ==
        std::vector<std::size_t>{4, 4, 2});
  CHECK(lengths(split_into_windows(fixture.bank, fixture.fusion, chain, options, CutPlacement::Staggered)) ==
        std::vector<std::size_t>{2, 4, 4});

  // Only after every fourth node a single value is live, but staggered cuts are elsewhere.
  ValueId last = fixture.input("y", {4, 4});
  for (int i = 0; i < 6; ++i) {
    const ValueId top = fixture.op("relu", {last});
    last = fixture.op("add", {fixture.op("exp", {top}), fixture.op("tanh", {top})});
  }
  const WindowOptions wide{.min_nodes = 4, .max_nodes = 8};
  CHECK(lengths(split_into_windows(fixture.bank, fixture.fusion, std::span(&last, 1), wide, CutPlacement::Narrowest)) ==
        std::vector<std::size_t>{4, 4, 4, 4, 8});
  CHECK(lengths(split_into_windows(fixture.bank, fixture.fusion, std::span(&last, 1), wide, CutPlacement::Staggered)) ==
        std::vector<std::size_t>{2, 4, 4, 4, 6, 4});
}

TEST_CASE("windows do not separate an activation from the convolution into which it is fused", "[windows]") {
  GraphFixture fixture;
  const ValueId k = fixture.weight("k", {4, 4, 3, 3}), b = fixture.weight("b", {4});
  ValueId last = fixture.input("x", {1, 4, 9, 9});
  for (int i = 0; i < 3; ++i)
    last = fixture.op("relu", {fixture.op("add_channel", {fixture.op("conv2d", {last, k}), b})});
  const auto cut = [&](const WindowOptions& options) {
    return lengths(
        split_into_windows(fixture.bank, fixture.fusion, std::span(&last, 1), options, CutPlacement::Narrowest));
  };
  CHECK(cut({.min_nodes = 2, .max_nodes = 3}) == std::vector<std::size_t>{3, 3, 3});
  CHECK(cut({.min_nodes = 5, .max_nodes = 6}) == std::vector<std::size_t>{6, 3});
  CHECK(cut({.min_nodes = 2, .max_nodes = 2}) ==
        std::vector<std::size_t>{2, 2, 2, 2, 1});  // no longer windows are allowed
}

TEST_CASE("windows do not separate nodes that are slower as one", "[windows]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {2, 3, 4}), y = fixture.input("y", {2, 3, 4});
  const ValueId g = fixture.weight("g", {4}), b = fixture.weight("b", {4}), e = fixture.weight("e", {});
  const ValueId sum = fixture.op("add", {fixture.chain(x, {"relu", "tanh"}), y});
  const ValueId last = fixture.chain(fixture.op("layer_norm", {sum, g, b, e}), {"relu", "tanh"});
  const auto first_length = [&](const RuntimeFusions& fusions) {
    Fusion fusion(fixture.bank, fusions);
    const WindowOptions options{.min_nodes = 3, .max_nodes = 4};
    return split_into_windows(fixture.bank, fusion, std::span(&last, 1), options, CutPlacement::Narrowest)[0].size();
  };
  CHECK(first_length({}) == 3);
  CHECK(first_length(RuntimeFusions::parse("Skip slows: layer_norm(add(x, y), g, b, e)", "p")) == 4);
}

TEST_CASE("the gains of all windows are combined in one graph", "[windows]") {
  Searcher searcher(once);
  const std::vector<ValueId> outputs{
      searcher.chain(searcher.input("x", {4, 4}), repeated({"tanh", "relu", "relu"}, 6))};
  const WindowOptions windows{.min_nodes = 3, .max_nodes = 3};
  for (const bool saturating : {false, true}) {
    const SearchResult result = saturating ? searcher.saturate(outputs, windows) : searcher.backtrack(outputs, windows);
    CHECK(result.best.at(0).seconds == 12);
    CHECK(searcher.computed(result.best[0].outputs) == repeated({"tanh", "relu"}, 6));
    CHECK(result.best[0].steps.size() == 6);
    CHECK(result.exhausted);
    CHECK(std::ranges::is_sorted(result.best, {}, &Candidate::seconds));
  }
}

TEST_CASE("a rewrite across a cut is found after the cuts have moved", "[windows]") {
  Searcher searcher(once);
  const std::vector<ValueId> outputs{searcher.chain(searcher.input("x", {4, 4}), {"tanh", "relu", "relu", "tanh"})};
  for (const bool saturating : {false, true}) {
    const auto seconds = [&](std::uint32_t rounds) {
      const WindowOptions windows{.min_nodes = 2, .max_nodes = 2, .rounds = rounds};
      return (saturating ? searcher.saturate(outputs, windows) : searcher.backtrack(outputs, windows))
          .best.at(0)
          .seconds;
    };
    CHECK(seconds(1) == 4);
    CHECK(seconds(2) == 3);
  }
}

TEST_CASE("a gain that makes the graph unexportable does not prevent the other gains", "[windows]") {
  Searcher searcher(std::string(once) + R"(
rule unexportable(x:2)
  exp(exp(x)) => sigmoid(x)
)");
  Names names = repeated({"relu", "relu"}, 5);
  names.insert(names.begin() + 4, {"exp", "exp"});
  const ValueId x = searcher.input("x", {4, 4});
  const std::vector<ValueId> outputs{searcher.chain(x, names)};
  // A window alone is exportable, because it does not contain the model's input.
  const IsExportable is_exportable = [&](std::span<const ValueId> graph) {
    return !searcher.bank.depend_on(graph, std::span(&x, 1)) ||
           std::ranges::count(searcher.computed(graph), "sigmoid") == 0;
  };
  const WindowOptions windows{.min_nodes = 2, .max_nodes = 2, .rounds = 1};
  const Names kept{"relu", "relu", "exp", "exp", "relu", "relu", "relu"};
  for (const bool saturating : {false, true}) {
    const SearchResult result = saturating ? searcher.saturate(outputs, windows, is_exportable)
                                           : searcher.backtrack(outputs, windows, {}, is_exportable);
    CHECK(searcher.computed(result.best.at(0).outputs) == kept);
    const SearchResult all = saturating ? searcher.saturate(outputs, windows) : searcher.backtrack(outputs, windows);
    CHECK(std::ranges::count(searcher.computed(all.best.at(0).outputs), "sigmoid") == 1);
  }
}

TEST_CASE("the windows share one budget", "[windows]") {
  Searcher searcher(once);
  const std::vector<ValueId> outputs{
      searcher.chain(searcher.input("x", {4, 4}), repeated({"tanh", "relu", "relu"}, 6))};
  const SearchResult result = searcher.backtrack(outputs, {.min_nodes = 3, .max_nodes = 3}, {.budget = 4});
  CHECK(result.graphs_created == 4);
  CHECK(result.best.at(0).seconds == 18 - 4);
  CHECK_FALSE(result.exhausted);
}

TEST_CASE("rules that paid in one window reach further in another one", "[windows]") {
  Searcher searcher(std::string(once) + R"(
rule move(x:2)
  relu(tanh(x)) => tanh(relu(x))
rule reorder(x:2)
  exp(sigmoid(x)) => sigmoid(exp(x))
)");
  SaturationOptions options;
  options.limits.nodes = options.core_limits.nodes = 30;
  const Names easy{"relu", "tanh", "relu"};
  Names hard{"relu", "tanh", "tanh", "tanh", "tanh", "relu"};
  for (int i = 0; i < 4; ++i) hard.insert(hard.end(), {"sigmoid", "exp"});
  const auto saving = [&](const std::vector<ValueId>& outputs) {
    Saturator saturator(searcher.bank, searcher.terms, searcher.rules, searcher.cost, options);
    const double before = searcher.cost.graph_seconds(outputs);
    const SearchResult found = saturate_windows(searcher.bank, saturator, searcher.cost, outputs, {}, {}, accept_all);
    CHECK_FALSE(found.exhausted);
    return before - found.best.at(0).seconds;
  };
  const ValueId x = searcher.input("x", {4, 4});
  CHECK(saving({searcher.chain(x, hard)}) == 0);  // orders of the other nodes fill the e-graph
  const ValueId hidden = searcher.opaque("secret", {searcher.chain(x, easy)}, algebra::Shape{4, 4});
  CHECK(saving({searcher.chain(hidden, hard)}) == 2);
}

TEST_CASE("an opaque node separates windows of saturation and is kept", "[windows]") {
  Searcher searcher(once);
  const ValueId below = searcher.chain(searcher.input("x", {4, 4}), {"relu", "relu"});
  const ValueId hidden = searcher.opaque("secret", {below}, algebra::Shape{4, 4});
  const std::vector<ValueId> outputs{searcher.chain(hidden, {"relu", "relu"})};
  const SearchResult result = searcher.saturate(outputs, {});
  CHECK(result.best.at(0).seconds == 3);
  CHECK(searcher.computed(result.best[0].outputs) == Names{"relu", "relu"});
  CHECK(result.windows == 2 + 2 + 2);  // both sides, in one round with gains and two without
  const auto nodes = searcher.bank.live_nodes(result.best[0].outputs);
  CHECK(std::ranges::count(nodes, Node::Kind::Opaque, [&](NodeId id) { return searcher.bank.node(id).kind; }) == 1);
}

}  // namespace
}  // namespace rulemill::optimize
