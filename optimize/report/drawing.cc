#include "optimize/report/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "algebra/rules/layered_layout.h"

namespace rulemill::optimize {

namespace {

/// Wide drawings are scaled down to this factor, which is still readable.
constexpr double min_scale = 0.65;

constexpr int line_height = 15, character = 7, padding = 14, gap_x = 16, gap_y = 40, margin = 8;

/// Returns the shapes of the constants, shown below the operator.
std::string constants_text(const Drawing::Box& box) {
  std::string text;
  for (const Drawing::Constant& each : box.constants) text += (text.empty() ? "" : ", ") + each.shape;
  return text;
}

int height_of(const Drawing::Box& box) { return (box.constants.empty() ? 1 : 2) * line_height + 8; }

/// Returns the width of the longest text. A character of two bytes counts twice, which is wide enough.
int width_of(const Drawing::Box& box) {
  const std::size_t longest = std::max({box.label.size(), constants_text(box).size(), box.shape.size()});
  return static_cast<int>(std::min<std::size_t>(longest, 40)) * character + padding;
}

algebra::LayeredPositions layout(const Drawing& drawing) {
  std::vector<algebra::LayeredNode> nodes;
  for (const Drawing::Box& box : drawing.boxes) nodes.push_back({width_of(box), false});
  std::vector<algebra::LayeredEdge> edges;
  for (std::size_t i = 0; i < drawing.boxes.size(); ++i) {
    for (std::uint32_t input : drawing.boxes[i].inputs) edges.push_back({input, i});
  }
  return algebra::layout_in_layers(nodes, edges, gap_x);
}

std::string shape_label(const ValueType& type, const algebra::Symbols& symbols) {
  if (!type) return "";
  std::string text;
  for (const algebra::Poly& dim : *type) text += (text.empty() ? "" : "×") + symbols.to_string(dim);
  return text.empty() ? "scalar" : text;
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

Drawing draw_model(const ImportedModel& import, const GraphBank& bank) {
  Drawing drawing;
  std::map<NodeId, std::uint32_t> producer_box;
  const auto shape = [&](ValueId value) { return shape_label(bank.value(value).type, bank.symbols()); };
  for (ValueId input : import.inputs) {
    producer_box[bank.value(input).node] = static_cast<std::uint32_t>(drawing.boxes.size());
    Drawing::Box& box = drawing.boxes.emplace_back();
    box.name = box.label = bank.value(input).name;
    box.shape = shape(input);
    box.is_input = true;
  }
  for (const ImportedModel::NodeRecord& record : import.nodes) {
    if (record.is_constant() || record.elided) continue;
    Drawing::Box box;
    box.name = record.name;
    box.label = record.op_type;
    auto add = [&](ValueId value) {
      auto found = producer_box.find(bank.value(value).node);
      if (found != producer_box.end()) box.inputs.push_back(found->second);
      if (bank.node_of(value).kind == Node::Kind::Constant)
        box.constants.push_back({bank.value(value).name, shape(value)});
    };
    for (const auto& input : record.inputs) {
      if (input) add(*input);
    }
    for (ValueId value : record.captured) add(value);
    const std::vector<ValueId>& outputs = bank.node(record.node).outputs;
    if (!outputs.empty()) box.shape = shape(record.outputs.empty() ? outputs[0] : record.outputs[0]);
    producer_box.emplace(record.node, static_cast<std::uint32_t>(drawing.boxes.size()));
    drawing.boxes.push_back(std::move(box));
  }
  return drawing;
}

void mark_differences(Drawing& before, Drawing& after) {
  using Key = std::tuple<std::string, std::string, std::vector<Drawing::Constant>>;
  const auto key = [](const Drawing::Box& box) { return Key(box.name, box.label, box.constants); };
  const auto keys = [&](const Drawing& drawing) {
    std::set<Key> result;
    for (const auto& box : drawing.boxes) result.insert(key(box));
    return result;
  };
  const auto keys_before = keys(before), keys_after = keys(after);
  for (auto& box : before.boxes) box.changed = !keys_after.contains(key(box));
  for (auto& box : after.boxes) box.changed = !keys_before.contains(key(box));
}

Drawing excerpt(const Drawing& drawing, std::span<const std::uint32_t> boxes) {
  std::set<std::uint32_t> shown(boxes.begin(), boxes.end());
  const std::set<std::uint32_t> chosen = shown;
  for (std::uint32_t i = 0; i < drawing.boxes.size(); ++i) {
    for (std::uint32_t input : drawing.boxes[i].inputs) {
      if (chosen.contains(i)) shown.insert(input);
      if (chosen.contains(input)) shown.insert(i);
    }
  }
  std::map<std::uint32_t, std::uint32_t> number;
  Drawing result;
  for (const std::uint32_t i : shown) {
    number[i] = static_cast<std::uint32_t>(result.boxes.size());
    Drawing::Box box = drawing.boxes[i];
    box.changed = chosen.contains(i);
    std::erase_if(box.inputs, [&](std::uint32_t input) {
      return !shown.contains(input) || (!box.changed && !chosen.contains(input));
    });
    for (std::uint32_t& input : box.inputs) input = number.at(input);
    result.boxes.push_back(std::move(box));
  }
  return result;
}

std::string to_svg(const Drawing& drawing) {
  if (drawing.boxes.empty()) return "<svg width='1' height='1'></svg>\n";
  const algebra::LayeredPositions places = layout(drawing);
  const int row_height = 2 * line_height + 8 + gap_y;
  const auto center = [&](std::size_t i) { return margin + places.x[i]; };
  const auto top = [&](std::size_t i) { return margin + places.row[i] * row_height; };
  const int height = places.rows * row_height - gap_y + line_height + 2 * margin;
  const int width = places.width + 2 * margin;
  std::string svg =
      fmt::format("<svg width='{0}' height='{1}' viewBox='0 0 {0} {1}' style='min-width: {2}px' role='img'>\n", width,
                  height, static_cast<int>(width * min_scale));
  for (std::size_t i = 0; i < drawing.boxes.size(); ++i) {
    for (std::uint32_t input : drawing.boxes[i].inputs) {
      const int x1 = center(input), y1 = top(input) + height_of(drawing.boxes[input]), x2 = center(i), y2 = top(i);
      svg += fmt::format("<path d='M{} {}C{} {} {} {} {} {}'/>\n", x1, y1, x1, y1 + gap_y, x2, y2 - gap_y / 2, x2, y2);
    }
  }
  const auto text = [&](int x, int y, const char* kind, const std::string& words) {
    return fmt::format("<text x='{}' y='{}'{}>{}</text>", x, y, kind, html_escaped(words));
  };
  for (std::size_t i = 0; i < drawing.boxes.size(); ++i) {
    const Drawing::Box& box = drawing.boxes[i];
    svg += fmt::format("<g class='{}{}'><title>{}</title><rect x='{}' y='{}' width='{}' height='{}' rx='4'/>",
                       box.is_input ? "input" : "node", box.changed ? " changed" : "", html_escaped(box.name),
                       center(i) - width_of(box) / 2, top(i), width_of(box), height_of(box));
    svg += text(center(i), top(i) + line_height + 1, "", box.label);
    if (!box.constants.empty()) svg += text(center(i), top(i) + 2 * line_height, " class='small'", constants_text(box));
    if (!box.shape.empty()) {
      const int below = top(i) + height_of(box) + line_height - 2;
      svg += text(center(i), below, " class='shape'", box.shape);
    }
    svg += "</g>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace rulemill::optimize
