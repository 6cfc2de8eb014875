#include "optimize/drawing.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "algebra/rules/layered_layout.h"

namespace rulemill::optimize {

namespace {

constexpr int box_width = 92, box_height = 22, gap_x = 14, gap_y = 22, margin = 8;

algebra::LayeredPlaces places_of(const Drawing& drawing) {
  const std::vector<algebra::LayeredNode> nodes(drawing.boxes.size(), {box_width, false});
  std::vector<algebra::LayeredEdge> edges;
  for (std::size_t i = 0; i < drawing.boxes.size(); ++i) {
    for (std::uint32_t input : drawing.boxes[i].inputs) edges.push_back({input, i});
  }
  return algebra::place_in_layers(nodes, edges, gap_x);
}

}  // namespace

std::string html_escaped(const std::string& text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

Drawing drawing_of(const Import& import, const GraphBank& bank) {
  Drawing drawing;
  std::map<std::string, std::uint32_t> number;  // of the box that gives a value, by the value's ONNX name
  std::map<NodeId, std::uint32_t> giver;
  for (ValueId input : import.inputs) {
    giver[bank.value(input).node] = static_cast<std::uint32_t>(drawing.boxes.size());
    drawing.boxes.push_back({bank.value(input).name, bank.value(input).name, {}});
  }
  for (const Import::NodeRecord& record : import.nodes) {
    if (record.is_constant() || record.dropped) continue;
    Drawing::Box box{record.name, record.op_type, {}};
    auto add = [&](ValueId value) {
      auto found = giver.find(bank.value(value).node);
      if (found != giver.end()) box.inputs.push_back(found->second);
    };
    for (const auto& input : record.inputs) {
      if (input) add(*input);
    }
    for (ValueId value : record.captured) add(value);
    giver.emplace(record.node, static_cast<std::uint32_t>(drawing.boxes.size()));
    drawing.boxes.push_back(std::move(box));
  }
  return drawing;
}

void mark_differences(Drawing& before, Drawing& after) {
  auto names = [](const Drawing& drawing) {
    std::set<std::pair<std::string, std::string>> result;
    for (const auto& box : drawing.boxes) result.emplace(box.name, box.label);
    return result;
  };
  auto there = names(before), here = names(after);
  for (auto& box : before.boxes) box.only_here = !here.contains({box.name, box.label});
  for (auto& box : after.boxes) box.only_here = !there.contains({box.name, box.label});
}

std::string to_svg(const Drawing& drawing) {
  if (drawing.boxes.empty()) return "<svg width='1' height='1'></svg>\n";
  const algebra::LayeredPlaces places = places_of(drawing);
  const auto centre = [&](std::size_t i) { return margin + places.x[i]; };
  const auto top = [&](std::size_t i) { return margin + places.row[i] * (box_height + gap_y); };
  const int height = (places.rows - 1) * (box_height + gap_y) + box_height + 2 * margin;
  std::string svg = fmt::format("<svg width='{}' height='{}' role='img'>\n", places.width + 2 * margin, height);
  for (std::size_t i = 0; i < drawing.boxes.size(); ++i) {
    for (std::uint32_t input : drawing.boxes[i].inputs) {
      const int x1 = centre(input), y1 = top(input) + box_height, x2 = centre(i), y2 = top(i);
      svg += fmt::format("<path d='M{} {}C{} {} {} {} {} {}'/>\n", x1, y1, x1, y1 + gap_y, x2, y2 - gap_y, x2, y2);
    }
  }
  for (std::size_t i = 0; i < drawing.boxes.size(); ++i) {
    const Drawing::Box& box = drawing.boxes[i];
    const std::string label = box.label.size() > 14 ? box.label.substr(0, 13) + "…" : box.label;
    svg += fmt::format(
        "<g{}><title>{}</title><rect x='{}' y='{}' width='{}' height='{}' rx='4'/><text x='{}' y='{}'>{}</text></g>\n",
        box.only_here ? " class='changed'" : "", html_escaped(box.name), centre(i) - box_width / 2, top(i), box_width,
        box_height, centre(i), top(i) + 15, html_escaped(label));
  }
  return svg + "</svg>\n";
}

}  // namespace rulemill::optimize
