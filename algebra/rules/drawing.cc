#include "algebra/rules/drawing.h"

#include <algorithm>

#include "algebra/rules/layered_layout.h"
#include "runtime/text/printable.h"

namespace rulemill::algebra {

namespace {

constexpr int padding = 20;
constexpr int node_gap = 14;  // between neighbours
constexpr int margin = 6;
constexpr int max_height = 38;

int columns(const std::string& text) { return static_cast<int>(runtime::display_width(text)); }

}  // namespace

void place(Drawing& drawing, int row_height) {
  std::vector<LayeredNode> nodes;
  for (DrawnNode& node : drawing.nodes) {
    const bool is_output = node.kind == DrawnNode::Kind::Output;
    const int text = std::max(8 * columns(node.label), 13 * columns(node.detail) / 2);  // fixed pitch
    node.width = is_output ? 14 + 6 * columns(node.label) : padding + text;
    node.height = is_output ? 18 : node.detail.empty() ? 26 : max_height;
    nodes.push_back({node.width, is_output});
  }
  std::vector<LayeredEdge> edges;
  for (const DrawnEdge& edge : drawing.edges) edges.push_back({edge.from, edge.to});
  const LayeredPositions positions = layout_in_layers(nodes, edges, node_gap);
  const auto middle_of = [&](int row) { return margin + max_height / 2 + row * row_height; };
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    drawing.nodes[n].x = margin + positions.x[n];
    drawing.nodes[n].y = middle_of(positions.row[n]);
  }
  for (std::size_t e = 0; e < edges.size(); ++e) {
    int row = positions.row[edges[e].from];
    for (const int x : positions.bends[e]) drawing.edges[e].bends.push_back({margin + x, middle_of(++row)});
  }
  drawing.width = positions.width + 2 * margin;
  drawing.height = (positions.rows - 1) * row_height + max_height + 2 * margin;
  drawing.row_half_height = max_height / 2;
}

runtime::Json to_json(const Drawing& drawing) {
  runtime::Json nodes = runtime::Json::array(), edges = runtime::Json::array();
  for (const DrawnNode& node : drawing.nodes) {
    nodes.push_back({static_cast<int>(node.kind), node.x, node.y, node.width, node.height, node.label, node.detail,
                     node.type, node.name});
  }
  for (const DrawnEdge& edge : drawing.edges) {
    runtime::Json bends = runtime::Json::array();
    for (const DrawnPoint& bend : edge.bends) bends.push_back({bend.x, bend.y});
    edges.push_back({edge.from, edge.to, edge.label, std::move(bends)});
  }
  return {{"w", drawing.width},
          {"h", drawing.height},
          {"r", drawing.row_half_height},
          {"n", std::move(nodes)},
          {"e", std::move(edges)}};
}

}  // namespace rulemill::algebra
