// A drawing of a graph: boxes in layers with edges from top to bottom. Units are pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/text/json.h"

namespace rulemill::algebra {

struct DrawnNode {
  enum class Kind : std::uint8_t { Input, Operator, Output, Neighbor } kind = Kind::Operator;
  std::string label;   // the name of the input or operator
  std::string detail;  // below the label: an input's shape, an operator's parameters and sizes
  std::string type;    // the shapes of its outputs, if known
  std::string name;    // of a model's node
  int x = 0, y = 0;    // centre
  int width = 0, height = 0;
};

struct DrawnPoint {
  int x = 0, y = 0;
};

struct DrawnEdge {
  std::size_t from = 0, to = 0;
  std::string label;                // the output's name, if there are several
  std::vector<DrawnPoint> bends{};  // in the middle of each row between its ends, beside the nodes of that row
};

struct Drawing {
  std::vector<DrawnNode> nodes;
  std::vector<DrawnEdge> edges;
  int width = 0, height = 0;
  int row_half_height = 0;  // no node reaches further up or down from the middle of its row
};

/// Computes sizes and positions. `row_height` is the distance of the centres of adjacent rows. Outputs are in the last
/// row. Equal graphs get equal positions.
void place(Drawing& drawing, int row_height);

/// Returns nodes as [kind, x, y, width, height, label, detail, type, name] and edges as [from, to, label, bends].
runtime::Json to_json(const Drawing& drawing);

}  // namespace rulemill::algebra
