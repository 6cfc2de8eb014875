#include "algebra/rules/layered_layout.h"

#include <catch2/catch.hpp>
#include <cstdlib>

using namespace rulemill::algebra;

namespace {

constexpr int gap = 5;

/// Two inputs, a product of both, two users of it, and an output.
const std::vector<LayeredNode> nodes{{10, false}, {30, false}, {20, false}, {40, false}, {40, false}, {12, true}};
const std::vector<LayeredEdge> edges{{0, 2}, {1, 2}, {2, 3}, {2, 4}, {3, 5}};

}  // namespace

TEST_CASE("every node is below its arguments, and outputs are in the last row") {
  const LayeredPositions places = layout_in_layers(nodes, edges, gap);
  CHECK(places.row == std::vector<int>{0, 0, 1, 2, 2, 3});
  CHECK(places.rows == 4);
}

TEST_CASE("neighbours keep the minimum gap and the order of arguments, within the width") {
  const LayeredPositions places = layout_in_layers(nodes, edges, gap);
  CHECK(places.x[1] - places.x[0] >= (10 + 30) / 2 + gap);
  CHECK(places.x[4] - places.x[3] >= 40 + gap);
  int left = places.width, right = 0;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    left = std::min(left, places.x[n] - nodes[n].width / 2);
    right = std::max(right, places.x[n] + nodes[n].width / 2);
  }
  CHECK(left == 0);
  CHECK(right == places.width);
}

TEST_CASE("an input is just above its first user, and an empty graph has size 0") {
  // A chain of three, and an input of its last node.
  const std::vector<LayeredNode> chain(5, LayeredNode{10, false});
  const LayeredPositions places =
      layout_in_layers(chain, std::vector<LayeredEdge>{{0, 1}, {1, 2}, {2, 3}, {4, 3}}, gap);
  CHECK(places.row == std::vector<int>{0, 1, 2, 3, 2});
  const LayeredPositions nothing = layout_in_layers({}, {}, gap);
  CHECK(nothing.width == 0);
  CHECK(nothing.rows == 0);
}

TEST_CASE("an edge over several rows passes beside the nodes of the rows between its ends") {
  // A chain of four, and an edge from its first to its last node.
  const std::vector<LayeredNode> chain(4, LayeredNode{30, false});
  const std::vector<LayeredEdge> with_skip{{0, 1}, {1, 2}, {0, 3}, {2, 3}};
  const LayeredPositions places = layout_in_layers(chain, with_skip, gap);
  CHECK(places.x.size() == 4);
  CHECK(places.row == std::vector<int>{0, 1, 2, 3});
  REQUIRE(places.bends.size() == 4);
  REQUIRE(places.bends[2].size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(std::abs(places.bends[2][i] - places.x[i + 1]) >= 30 / 2 + gap);
  CHECK(places.bends[2][1] < places.x[2]);  // the first argument, so on the left
  CHECK(places.bends[0].empty());
}
