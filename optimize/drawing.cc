#include "optimize/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace rulemill::optimize {

namespace {

constexpr double box_width = 92, box_height = 22, gap_x = 14, gap_y = 22, margin = 8;

/// Layer of each box: one below its lowest input.
std::vector<std::size_t> layers_of(const Drawing& drawing) {
  std::vector<std::size_t> layer(drawing.boxes.size(), 0);
  for (std::size_t i = 0; i < drawing.boxes.size(); ++i) {
    for (std::uint32_t input : drawing.boxes[i].inputs) layer[i] = std::max(layer[i], layer[input] + 1);
  }
  return layer;
}

/// Horizontal centres: in each layer, boxes in the order of their inputs' mean, spread around the middle.
std::vector<double> centres_of(const Drawing& drawing, const std::vector<std::size_t>& layer) {
  std::map<std::size_t, std::vector<std::size_t>> rows;
  for (std::size_t i = 0; i < layer.size(); ++i) rows[layer[i]].push_back(i);
  std::vector<double> centre(layer.size(), 0);
  for (auto& [number, row] : rows) {
    std::map<std::size_t, double> wanted;
    for (std::size_t i : row) {
      double sum = 0;
      for (std::uint32_t input : drawing.boxes[i].inputs) sum += centre[input];
      wanted[i] = sum / std::max<double>(1, static_cast<double>(drawing.boxes[i].inputs.size()));
    }
    std::ranges::stable_sort(row, [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
    double middle = 0;
    for (std::size_t i : row) middle += wanted[i] / static_cast<double>(row.size());
    for (std::size_t k = 0; k < row.size(); ++k) {
      double offset = static_cast<double>(k) - (static_cast<double>(row.size()) - 1) / 2;
      centre[row[k]] = middle + offset * (box_width + gap_x);
    }
  }
  return centre;
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
  std::vector<std::size_t> layer = layers_of(drawing);
  std::vector<double> centre = centres_of(drawing, layer);
  if (drawing.boxes.empty()) return "<svg width='1' height='1'></svg>\n";
  auto [left, right] = std::ranges::minmax(centre);
  double shift = margin + box_width / 2 - left;
  auto top = [&](std::size_t i) { return margin + static_cast<double>(layer[i]) * (box_height + gap_y); };
  double width = right - left + box_width + 2 * margin;
  double height = static_cast<double>(std::ranges::max(layer)) * (box_height + gap_y) + box_height + 2 * margin;
  std::string svg = fmt::format("<svg width='{:.0f}' height='{:.0f}' role='img'>\n", width, height);
  for (std::size_t i = 0; i < drawing.boxes.size(); ++i) {
    for (std::uint32_t input : drawing.boxes[i].inputs) {
      double x1 = centre[input] + shift, y1 = top(input) + box_height, x2 = centre[i] + shift, y2 = top(i);
      svg += fmt::format("<path d='M{:.0f} {:.0f}C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}'/>\n", x1, y1, x1,
                         y1 + gap_y, x2, y2 - gap_y, x2, y2);
    }
  }
  for (std::size_t i = 0; i < drawing.boxes.size(); ++i) {
    const Drawing::Box& box = drawing.boxes[i];
    double x = centre[i] + shift;
    std::string label = box.label.size() > 14 ? box.label.substr(0, 13) + "…" : box.label;
    svg += fmt::format(
        "<g{}><title>{}</title><rect x='{:.0f}' y='{:.0f}' width='{:.0f}' height='{:.0f}' rx='4'/>"
        "<text x='{:.0f}' y='{:.0f}'>{}</text></g>\n",
        box.only_here ? " class='changed'" : "", html_escaped(box.name), x - box_width / 2, top(i), box_width,
        box_height, x, top(i) + box_height * 0.68, html_escaped(label));
  }
  return svg + "</svg>\n";
}

}  // namespace rulemill::optimize
