#include "optimize/exact_extraction.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "algebra/library/library.h"
#include "egraph/egraph.h"

using namespace rulemill;
using namespace rulemill::optimize;
using egraph::ENode;
using egraph::Value;

namespace {

/// An e-graph over one vector; a node's cost is in its operator's name.
struct Bench {
  algebra::Library library;
  algebra::Symbols symbols;
  egraph::SizeTable sizes{library, symbols};
  egraph::EGraph egraph{library, sizes};
  std::vector<double> seconds;
  Value x{};

  Bench() {
    for (const char* name : {"one", "ten", "four", "three", "half", "other_three", "other_half"})
      library.add("operator " + std::string(name) + "(x[m])\n  y[i < m] = x[i]\n", "test.op");
    library.add("operator twice(x[m])\n  y[i < m] = x[i]\n  z[i < m] = x[i]\n", "test.op");
    library.add("operator both(a[m], b[m])\n  y[i < m] = a[i] + b[i]\n", "test.op");
    x = egraph.add_variable(0, sizes.shape(algebra::Shape{algebra::Poly(symbols.size("m"))}), false);
  }

  ENode node(const std::string& name, std::initializer_list<Value> arguments) {
    const std::map<std::string, double> costs = {{"one", 1},          {"ten", 10},   {"four", 4},
                                                 {"three", 3},        {"half", 0.5}, {"other_three", 3},
                                                 {"other_half", 0.5}, {"both", 1},   {"twice", 2}};
    const std::vector<std::uint32_t> ranks(arguments.size(), 1);
    const ENode made = egraph.add_node(library.instantiate(name, {}, ranks).id, std::vector<Value>(arguments), {});
    seconds.resize(made + 1);
    seconds[made] = costs.at(name) * 1e-6;
    return made;
  }
  Value of(ENode made) const { return egraph.output(made, 0); }

  std::optional<std::vector<ENode>> cheapest(Value root, std::size_t nodes = 100) {
    egraph.rebuild();
    const auto given = [&](Value value) { return egraph.equal(value, x); };
    auto found = cheapest_nodes({egraph, seconds, given, std::span(&root, 1)}, {.nodes = nodes});
    if (found) std::ranges::sort(*found);
    return found;
  }
};

}  // namespace

TEST_CASE("what is shared counts once, which the cheapest trees do not see") {
  Bench bench;
  const ENode shared = bench.node("four", {bench.x});
  const ENode left = bench.node("half", {bench.of(shared)}), right = bench.node("other_half", {bench.of(shared)});
  const ENode alone = bench.node("three", {bench.x}), other = bench.node("other_three", {bench.x});
  const ENode root = bench.node("both", {bench.of(left), bench.of(right)});
  bench.egraph.unite(bench.of(left), bench.of(alone), 0);
  bench.egraph.unite(bench.of(right), bench.of(other), 1);
  CHECK(bench.cheapest(bench.of(root)) == std::vector<ENode>{shared, left, right, root});
  bench.seconds[shared] *= 2;
  CHECK(bench.cheapest(bench.of(root)) == std::vector<ENode>{alone, other, root});
}

TEST_CASE("nothing rests on itself, however cheap the circle is") {
  Bench bench;
  const ENode dear = bench.node("ten", {bench.x});
  const ENode root = bench.node("one", {bench.of(dear)});
  const ENode back = bench.node("half", {bench.of(root)});
  bench.egraph.unite(bench.of(back), bench.of(dear), 0);
  CHECK(bench.cheapest(bench.of(root)) == std::vector<ENode>{dear, root});
}

TEST_CASE("a node whose outputs are one class, or its arguments, counts once") {
  Bench bench;
  std::vector<ENode> chain;
  Value last = bench.x;
  for (int i = 0; i < 12; ++i) {
    chain.push_back(bench.node("twice", {last}));
    bench.egraph.unite(bench.egraph.output(chain.back(), 0), bench.egraph.output(chain.back(), 1), 0);
    chain.push_back(bench.node("both", {bench.of(chain.back()), bench.egraph.output(chain.back(), 1)}));
    last = bench.of(chain.back());
  }
  CHECK(bench.cheapest(last) == chain);
}

TEST_CASE("an e-graph beyond the limit is not asked about") {
  Bench bench;
  const ENode root = bench.node("one", {bench.of(bench.node("ten", {bench.x}))});
  CHECK(bench.cheapest(bench.of(root), 2).has_value());
  CHECK_FALSE(bench.cheapest(bench.of(root), 1).has_value());
}
