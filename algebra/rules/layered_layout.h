// A graph placed in rows from top to bottom, every node under those that it uses (after Sugiyama, Tagawa and Toda,
// 1981): rows first, then the order in each row, then places. Equal graphs get equal places.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rulemill::algebra {

struct LayeredNode {
  int width = 0;
  bool in_last_row = false;
};

/// `from` is used by `to`; a node's edges come in the order of its arguments.
struct LayeredEdge {
  std::size_t from = 0, to = 0;
};

struct LayeredPlaces {
  std::vector<int> x;    // of each node's centre, from the drawing's left end
  std::vector<int> row;  // from the top
  int width = 0, rows = 0;
};

/// Neighbours in a row are at least `gap` apart. The graph has no circle, and no node without a width.
LayeredPlaces place_in_layers(std::span<const LayeredNode> nodes, std::span<const LayeredEdge> edges, int gap);

}  // namespace rulemill::algebra
