#include "optimize/report/drawing.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "algebra/rules/drawing.h"
#include "runtime/text/join_text.h"

namespace rulemill::optimize {
namespace {

std::string shape_label(const ValueType& type, const algebra::Symbols& symbols) {
  if (!type) return "";
  std::string text;
  for (const algebra::Poly& dim : *type) text += (text.empty() ? "" : "×") + size_text(dim, symbols);
  return text.empty() ? "scalar" : text;
}

}  // namespace

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

runtime::Json to_json(const Drawing& drawing) {
  using Kind = algebra::DrawnNode::Kind;
  algebra::Drawing drawn;
  for (const Drawing::Box& box : drawing.boxes) {
    const Kind kind = box.is_input ? Kind::Input : box.changed ? Kind::Operator : Kind::Neighbor;
    const std::string constants = runtime::join_text(box.constants, &Drawing::Constant::shape);
    const std::size_t added = drawn.add({kind, box.label, constants, box.shape, box.name});
    for (const std::uint32_t input : box.inputs) drawn.connect(input, added, "");
  }
  return drawn.json();
}

}  // namespace rulemill::optimize
