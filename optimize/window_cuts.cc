#include "optimize/window_cuts.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace rulemill::optimize {

namespace {

bool computed(const Node& node) {
  return !node.constant && node.kind != Node::Kind::Input && node.kind != Node::Kind::Constant;
}

/// Depth first: what belongs together stands together.
std::vector<NodeId> in_depth_first_order(const GraphBank& bank, std::span<const ValueId> outputs) {
  std::vector<NodeId> order;
  std::vector<bool> seen(bank.node_count(), false);
  struct Frame {
    NodeId node;
    std::size_t next = 0;
  };
  std::vector<Frame> stack;
  auto open = [&](NodeId id) {
    if (seen[index(id)] || !computed(bank.node(id))) return;
    seen[index(id)] = true;
    stack.push_back({id});
  };
  for (ValueId output : outputs) {
    open(bank.value(output).node);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const Node& node = bank.node(frame.node);
      if (frame.next < node.arguments.size()) {
        ValueId argument = node.arguments[frame.next++];
        open(bank.value(argument).node);
      } else {
        order.push_back(frame.node);
        stack.pop_back();
      }
    }
  }
  return order;
}

/// How many values made before each position are used at or after it.
std::vector<std::size_t> crossings(const GraphBank& bank, const std::vector<NodeId>& order,
                                   std::span<const ValueId> outputs) {
  std::unordered_map<NodeId, std::size_t> position;
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  std::unordered_map<ValueId, std::size_t> last_use;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (ValueId argument : bank.node(order[i]).arguments) last_use[argument] = i;
  }
  for (ValueId output : outputs) last_use[output] = order.size();
  std::vector<std::ptrdiff_t> change(order.size() + 2, 0);
  for (const auto& [value, last] : last_use) {
    auto made = position.find(bank.value(value).node);
    if (made == position.end()) continue;
    ++change[made->second + 1];
    --change[last + 1];
  }
  std::vector<std::size_t> result;
  std::ptrdiff_t open = 0;
  for (std::size_t i = 0; i <= order.size(); ++i) {
    open += change[i];
    result.push_back(static_cast<std::size_t>(open));
  }
  return result;
}

/// Before which positions a node would be parted from the one that it runs inside.
std::vector<bool> partings(const GraphBank& bank, Fusion& fusion, const std::vector<NodeId>& order) {
  std::vector<bool> result(order.size() + 1, false);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Node& node = bank.node(order[i]);
    const bool behind = node.kind == Node::Kind::Algebra && node.arguments.size() == 1 &&
                        bank.value(node.arguments[0]).node == order[i - 1];
    const algebra::InstanceId instance = node.instance;  // looking for composites makes nodes
    result[i] = behind && fusion.runs_inside(order[i - 1], instance);
  }
  return result;
}

/// Where to cut: where nothing is parted from what it runs inside; where the fewest values cross, the shortest window
/// among equals; not near the `others`, where that can be, which have a shorter window before them all for that.
std::vector<std::size_t> cuts(const std::vector<std::size_t>& crossing, const std::vector<bool>& parting,
                              const WindowOptions& windows, const std::vector<std::size_t>& others) {
  const std::size_t near = windows.smallest / 2, end = crossing.size() - 1;
  const auto is_near = [&](std::size_t place) {
    const auto next = std::ranges::lower_bound(others, place);
    return (next != others.end() && *next < place + near) ||
           (next != others.begin() && *std::prev(next) + near > place);
  };
  const auto rank = [&](std::size_t place) {
    return std::tuple<bool, bool, std::size_t>(parting[place], is_near(place), crossing[place]);
  };
  std::vector<std::size_t> result;
  for (std::size_t begin = 0; end - begin > windows.largest; begin = result.back()) {
    std::size_t place = begin + (begin == 0 && !others.empty() ? std::max<std::size_t>(near, 1) : windows.smallest);
    for (std::size_t other = place + 1; other <= begin + windows.largest; ++other) {
      if (rank(other) < rank(place)) place = other;
    }
    result.push_back(place);
  }
  return result;
}

}  // namespace

std::vector<std::vector<NodeId>> split_into_windows(const GraphBank& bank, Fusion& fusion,
                                                    std::span<const ValueId> outputs, const WindowOptions& windows,
                                                    Cuts kind) {
  const std::vector<NodeId> order = in_depth_first_order(bank, outputs);
  const std::vector<std::size_t> crossing = crossings(bank, order, outputs);
  const std::vector<bool> parting = partings(bank, fusion, order);
  std::vector<std::size_t> cut = cuts(crossing, parting, windows, {});
  if (kind == Cuts::Between) cut = cuts(crossing, parting, windows, cut);
  cut.push_back(order.size());
  std::vector<std::vector<NodeId>> result;
  std::size_t begin = 0;
  for (const std::size_t end : cut) {
    if (end > begin)
      result.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(begin),
                          order.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
  return result;
}

}  // namespace rulemill::optimize
