#include "optimize/search/ilp_extraction.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "algebra/library/library.h"
#include "egraph/egraph.h"

using namespace rulemill;
using namespace rulemill::optimize;
using egraph::EClassId;
using egraph::ENodeId;

namespace {

/// An e-graph over one vector.
struct EGraphFixture {
  algebra::Library library;
  algebra::Symbols symbols;
  egraph::SizeTable sizes{library, symbols};
  egraph::EGraph egraph{library, sizes};
  std::vector<double> seconds;
  EClassId x{};

  EGraphFixture() {
    for (const char* name : {"one", "ten", "four", "three", "half", "other_three", "other_half"})
      library.add("operator " + std::string(name) + "(x[m])\n  y[i < m] = x[i]\n", "test.op");
    library.add("operator twice(x[m])\n  y[i < m] = x[i]\n  z[i < m] = x[i]\n", "test.op");
    library.add("operator pair(a[m], b[m])\n  y[i < m] = a[i] + b[i]\n", "test.op");
    x = egraph.add_variable(0, sizes.shape(algebra::Shape{algebra::Poly(symbols.size("m"))}), false);
  }

  ENodeId node(const std::string& name, std::initializer_list<EClassId> arguments) {
    const std::map<std::string, double> costs = {{"one", 1},          {"ten", 10},   {"four", 4},
                                                 {"three", 3},        {"half", 0.5}, {"other_three", 3},
                                                 {"other_half", 0.5}, {"pair", 1},   {"twice", 2}};
    const std::vector<std::uint32_t> ranks(arguments.size(), 1);
    const ENodeId added =
        egraph.add_node(library.instantiate(name, {}, ranks).id, std::vector<EClassId>(arguments), {});
    seconds.resize(added + 1);
    seconds[added] = costs.at(name) * 1e-6;
    return added;
  }
  EClassId of(ENodeId node) const { return egraph.output(node, 0); }

  std::optional<std::vector<ENodeId>> cheapest(EClassId root, std::size_t nodes = 100) {
    egraph.rebuild();
    const auto needs_no_node = [&](EClassId value) { return egraph.are_equal(value, x); };
    auto found = solve_extraction_ilp({egraph, seconds, needs_no_node, std::span(&root, 1)}, {.nodes = nodes});
    if (found) std::ranges::sort(*found);
    return found;
  }
};

}  // namespace

TEST_CASE("a shared node counts once") {
  EGraphFixture fixture;
  const ENodeId shared = fixture.node("four", {fixture.x});
  const ENodeId left = fixture.node("half", {fixture.of(shared)}),
                right = fixture.node("other_half", {fixture.of(shared)});
  const ENodeId unshared = fixture.node("three", {fixture.x}), other = fixture.node("other_three", {fixture.x});
  const ENodeId root = fixture.node("pair", {fixture.of(left), fixture.of(right)});
  fixture.egraph.merge(fixture.of(left), fixture.of(unshared), 0);
  fixture.egraph.merge(fixture.of(right), fixture.of(other), 1);
  CHECK(fixture.cheapest(fixture.of(root)) == std::vector<ENodeId>{shared, left, right, root});
  fixture.seconds[shared] *= 2;
  CHECK(fixture.cheapest(fixture.of(root)) == std::vector<ENodeId>{unshared, other, root});
}

TEST_CASE("the selection has no cycle, even if the cycle is cheap") {
  EGraphFixture fixture;
  const ENodeId expensive = fixture.node("ten", {fixture.x});
  const ENodeId root = fixture.node("one", {fixture.of(expensive)});
  const ENodeId back = fixture.node("half", {fixture.of(root)});
  fixture.egraph.merge(fixture.of(back), fixture.of(expensive), 0);
  CHECK(fixture.cheapest(fixture.of(root)) == std::vector<ENodeId>{expensive, root});
}

TEST_CASE("a class that is several outputs or arguments of a node counts once") {
  EGraphFixture fixture;
  std::vector<ENodeId> chain;
  EClassId last = fixture.x;
  for (int i = 0; i < 12; ++i) {
    chain.push_back(fixture.node("twice", {last}));
    fixture.egraph.merge(fixture.egraph.output(chain.back(), 0), fixture.egraph.output(chain.back(), 1), 0);
    chain.push_back(fixture.node("pair", {fixture.of(chain.back()), fixture.egraph.output(chain.back(), 1)}));
    last = fixture.of(chain.back());
  }
  CHECK(fixture.cheapest(last) == chain);
}

TEST_CASE("an e-graph beyond the limit is not solved") {
  EGraphFixture fixture;
  const ENodeId root = fixture.node("one", {fixture.of(fixture.node("ten", {fixture.x}))});
  CHECK(fixture.cheapest(fixture.of(root), 2).has_value());
  CHECK_FALSE(fixture.cheapest(fixture.of(root), 1).has_value());
}
