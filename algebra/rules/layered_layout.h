// Layered graph layout, every node below its arguments (after Sugiyama, Tagawa and Toda, 1981): assigns rows, orders
// each row, then computes positions. An edge over several rows gets a place of its own in each row between its ends, so
// that it does not run behind a node. Equal graphs get equal layouts.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rulemill::algebra {

struct LayeredNode {
  int width = 0;
  bool in_last_row = false;
};

/// `from` is an argument of `to`. The edges to a node are in the order of its arguments.
struct LayeredEdge {
  std::size_t from = 0, to = 0;
};

struct LayeredPositions {
  std::vector<int> x;                   // of each node's centre, from the left edge of the drawing
  std::vector<int> row;                 // from the top
  std::vector<std::vector<int>> bends;  // of each edge: its x in each row between its ends, downward
  int width = 0, rows = 0;
};

/// Lays out an acyclic graph. Neighbours in a row are at least `gap` apart; every node has a positive width.
LayeredPositions layout_in_layers(std::span<const LayeredNode> nodes, std::span<const LayeredEdge> edges, int gap);

}  // namespace rulemill::algebra
