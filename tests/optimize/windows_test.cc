#include "optimize/windows.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/optimize/graphs.h"

namespace rulemill::optimize {
namespace {

using Names = std::vector<std::string>;

bool anything(std::span<const ValueId>) { return true; }

std::vector<std::size_t> lengths(const std::vector<std::vector<NodeId>>& windows) {
  std::vector<std::size_t> result;
  for (const auto& window : windows) result.push_back(window.size());
  return result;
}

/// Both searches by windows, where every node costs one.
struct Searcher : Workshop {
  explicit Searcher(const std::string& text = {})
      : Workshop(text), matcher(bank, terms, rules), saturator(bank, terms, rules, cost) {}
  SearchResult backtrack(const std::vector<ValueId>& outputs, const WindowOptions& windows,
                         const SearchOptions& options = {}, const Acceptable& acceptable = anything) {
    return search_windows(bank, matcher, cost, outputs, options, windows, acceptable);
  }
  SearchResult saturate(const std::vector<ValueId>& outputs, const WindowOptions& windows,
                        const Acceptable& acceptable = anything) {
    return saturate_windows(bank, saturator, cost, outputs, {}, windows, acceptable);
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

TEST_CASE("windows hold every computed node once, arguments before users", "[windows]") {
  Workshop shop;
  const ValueId x = shop.input("x", {4, 4}), w = shop.op("add", {shop.weight("v", {4, 4}), shop.weight("w", {4, 4})});
  const ValueId low = shop.chain(shop.op("matmul", {x, w}), repeated({"relu", "tanh", "neg"}, 5));
  const ValueId hidden = shop.opaque("secret", {low}, algebra::Shape{4, 4});
  const std::vector<ValueId> outputs{shop.op("add", {shop.chain(hidden, {"exp", "relu"}), low}), low};
  const auto windows =
      split_into_windows(shop.bank, shop.fusion, outputs, {.smallest = 3, .largest = 5}, Cuts::Narrowest);
  std::set<NodeId> before;
  for (const auto& window : windows) {
    CHECK(window.size() <= 5);
    CHECK((window.size() >= 3 || &window == &windows.back()));
    for (NodeId id : window) {
      CHECK_FALSE(shop.bank.node(id).constant);
      for (ValueId argument : shop.bank.node(id).arguments) {
        const Node& made_by = shop.bank.node_of(argument);
        const bool given = made_by.constant || made_by.kind == Node::Kind::Input;
        CHECK((given || before.contains(shop.node(argument))));
      }
      CHECK(before.insert(id).second);
    }
  }
  CHECK(before.size() == 1 + 15 + 1 + 3);
}

TEST_CASE("windows are cut where few values cross", "[windows]") {
  // Between one diamond and the next a single value is alive, inside it two or more.
  Workshop shop;
  ValueId last = shop.input("x", {4, 4});
  for (int i = 0; i < 3; ++i) {
    const ValueId top = shop.op("relu", {last});
    last = shop.op("add", {shop.op("exp", {top}), shop.op("tanh", {top})});
  }
  const std::vector<ValueId> outputs{last};
  CHECK(lengths(split_into_windows(shop.bank, shop.fusion, outputs, {.smallest = 3, .largest = 5}, Cuts::Narrowest)) ==
        std::vector<std::size_t>{4, 4, 4});
  CHECK(lengths(split_into_windows(shop.bank, shop.fusion, outputs, {.smallest = 3, .largest = 12}, Cuts::Narrowest)) ==
        std::vector<std::size_t>{12});
}

TEST_CASE("the other cuts keep away from the narrowest, and so does the first of them", "[windows]") {
  Workshop shop;
  const std::vector<ValueId> chain{shop.chain(shop.input("x", {4}), repeated({"relu", "tanh"}, 5))};
  const WindowOptions options{.smallest = 4, .largest = 4};
  CHECK(lengths(split_into_windows(shop.bank, shop.fusion, chain, options, Cuts::Narrowest)) ==
        std::vector<std::size_t>{4, 4, 2});
  CHECK(lengths(split_into_windows(shop.bank, shop.fusion, chain, options, Cuts::Between)) ==
        std::vector<std::size_t>{2, 4, 4});

  // One value is alive after every fourth node alone, and yet the other cuts are elsewhere.
  ValueId last = shop.input("y", {4, 4});
  for (int i = 0; i < 6; ++i) {
    const ValueId top = shop.op("relu", {last});
    last = shop.op("add", {shop.op("exp", {top}), shop.op("tanh", {top})});
  }
  const WindowOptions wide{.smallest = 4, .largest = 8};
  CHECK(lengths(split_into_windows(shop.bank, shop.fusion, std::span(&last, 1), wide, Cuts::Narrowest)) ==
        std::vector<std::size_t>{4, 4, 4, 4, 8});
  CHECK(lengths(split_into_windows(shop.bank, shop.fusion, std::span(&last, 1), wide, Cuts::Between)) ==
        std::vector<std::size_t>{2, 4, 4, 4, 6, 4});
}

TEST_CASE("windows part no activation from the convolution that it runs inside", "[windows]") {
  Workshop shop;
  const ValueId k = shop.weight("k", {4, 4, 3, 3}), b = shop.weight("b", {4});
  ValueId last = shop.input("x", {1, 4, 9, 9});
  for (int i = 0; i < 3; ++i) last = shop.op("relu", {shop.op("add_channel", {shop.op("conv2d", {last, k}), b})});
  const auto cut = [&](const WindowOptions& options) {
    return lengths(split_into_windows(shop.bank, shop.fusion, std::span(&last, 1), options, Cuts::Narrowest));
  };
  CHECK(cut({.smallest = 2, .largest = 3}) == std::vector<std::size_t>{3, 3, 3});
  CHECK(cut({.smallest = 5, .largest = 6}) == std::vector<std::size_t>{6, 3});
  CHECK(cut({.smallest = 2, .largest = 2}) == std::vector<std::size_t>{2, 2, 2, 2, 1});  // no other way
}

TEST_CASE("what every window gains is put together in one graph", "[windows]") {
  Searcher searcher(once);
  const std::vector<ValueId> outputs{
      searcher.chain(searcher.input("x", {4, 4}), repeated({"tanh", "relu", "relu"}, 6))};
  const WindowOptions windows{.smallest = 3, .largest = 3};
  for (const bool saturating : {false, true}) {
    const SearchResult result = saturating ? searcher.saturate(outputs, windows) : searcher.backtrack(outputs, windows);
    CHECK(result.best.at(0).seconds == 12);
    CHECK(searcher.computed(result.best[0].outputs) == repeated({"tanh", "relu"}, 6));
    CHECK(result.best[0].steps.size() == 6);
    CHECK(result.exhausted);
    CHECK(std::ranges::is_sorted(result.best, {}, &Candidate::seconds));
  }
}

TEST_CASE("what a cut goes through is found when the cuts have moved", "[windows]") {
  Searcher searcher(once);
  const std::vector<ValueId> outputs{searcher.chain(searcher.input("x", {4, 4}), {"tanh", "relu", "relu", "tanh"})};
  for (const bool saturating : {false, true}) {
    const auto seconds = [&](std::uint32_t rounds) {
      const WindowOptions windows{.smallest = 2, .largest = 2, .rounds = rounds};
      return (saturating ? searcher.saturate(outputs, windows) : searcher.backtrack(outputs, windows))
          .best.at(0)
          .seconds;
    };
    CHECK(seconds(1) == 4);
    CHECK(seconds(2) == 3);
  }
}

TEST_CASE("a gain that keeps the graph from being said does not take the others with it", "[windows]") {
  Searcher searcher(std::string(once) + R"(
rule unsayable(x:2)
  exp(exp(x)) => sigmoid(x)
)");
  Names names = repeated({"relu", "relu"}, 5);
  names.insert(names.begin() + 4, {"exp", "exp"});
  const ValueId x = searcher.input("x", {4, 4});
  const std::vector<ValueId> outputs{searcher.chain(x, names)};
  // A window does not have the model's own input: by itself it can be said.
  const Acceptable acceptable = [&](std::span<const ValueId> graph) {
    return !searcher.bank.depends(graph, std::span(&x, 1)) ||
           std::ranges::count(searcher.computed(graph), "sigmoid") == 0;
  };
  const WindowOptions windows{.smallest = 2, .largest = 2, .rounds = 1};
  const Names kept{"relu", "relu", "exp", "exp", "relu", "relu", "relu"};
  for (const bool saturating : {false, true}) {
    const SearchResult result = saturating ? searcher.saturate(outputs, windows, acceptable)
                                           : searcher.backtrack(outputs, windows, {}, acceptable);
    CHECK(searcher.computed(result.best.at(0).outputs) == kept);
    const SearchResult all = saturating ? searcher.saturate(outputs, windows) : searcher.backtrack(outputs, windows);
    CHECK(std::ranges::count(searcher.computed(all.best.at(0).outputs), "sigmoid") == 1);
  }
}

TEST_CASE("the windows share one budget", "[windows]") {
  Searcher searcher(once);
  const std::vector<ValueId> outputs{
      searcher.chain(searcher.input("x", {4, 4}), repeated({"tanh", "relu", "relu"}, 6))};
  const SearchResult result = searcher.backtrack(outputs, {.smallest = 3, .largest = 3}, {.budget = 4});
  CHECK(result.made == 4);
  CHECK(result.best.at(0).seconds == 18 - 4);
  CHECK_FALSE(result.exhausted);
}

TEST_CASE("a node that nothing is known about is a border for saturation, and stays", "[windows]") {
  Searcher searcher(once);
  const ValueId below = searcher.chain(searcher.input("x", {4, 4}), {"relu", "relu"});
  const ValueId hidden = searcher.opaque("secret", {below}, algebra::Shape{4, 4});
  const std::vector<ValueId> outputs{searcher.chain(hidden, {"relu", "relu"})};
  const SearchResult result = searcher.saturate(outputs, {});
  CHECK(result.best.at(0).seconds == 3);
  CHECK(searcher.computed(result.best[0].outputs) == Names{"relu", "relu"});
  CHECK(result.windows == 2 + 2 + 2);  // both sides, and again in two rounds that gain nothing
  const auto nodes = searcher.bank.live(result.best[0].outputs);
  CHECK(std::ranges::count(nodes, Node::Kind::Opaque, [&](NodeId id) { return searcher.bank.node(id).kind; }) == 1);
}

}  // namespace
}  // namespace rulemill::optimize
