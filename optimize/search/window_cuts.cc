#include "optimize/search/window_cuts.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace rulemill::optimize {
namespace {

/// Depth first, so that connected nodes are close to each candidate.
std::vector<NodeId> depth_first_order(const GraphBank& bank, std::span<const ValueId> outputs) {
  std::vector<NodeId> order;
  std::vector<bool> seen(bank.node_count(), false);
  struct Frame {
    NodeId node;
    std::size_t next = 0;
  };
  std::vector<Frame> stack;
  auto open = [&](NodeId id) {
    const Node& node = bank.node(id);
    if (seen[index(id)] || node.constant || node.kind == Node::Kind::Input || node.kind == Node::Kind::Constant) return;
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

/// Returns for each position the number of values that are produced before it and used at or after it.
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
    auto producer = position.find(bank.value(value).node);
    if (producer == position.end()) continue;
    ++change[producer->second + 1];
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

/// Returns for each position whether a cut would separate an activation from the node into which it is fused, or two
/// nodes that the runtime computes as a slower one.
std::vector<bool> fused_positions(const GraphBank& bank, Fusion& fusion, const std::vector<NodeId>& order) {
  std::vector<bool> result(order.size() + 1, false);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Node& node = bank.node(order[i]);
    const Node& before = bank.node(order[i - 1]);
    const bool follows = node.kind == Node::Kind::Algebra && !node.arguments.empty() &&
                         bank.value(node.arguments[0]).node == order[i - 1];
    if (!follows) continue;
    const algebra::InstanceId instance = node.instance;  // a copy, because the search for composites creates nodes
    const bool is_slower_pair =
        before.kind == Node::Kind::Algebra && fusion.slower_pair(instance, before.instance) != nullptr;
    result[i] = is_slower_pair || (node.arguments.size() == 1 && fusion.fuses_activation(order[i - 1], instance));
  }
  return result;
}

/// Returns cut positions. Preferred are cuts that separate no fused activation, then cuts away from `avoided` cuts,
/// then cuts that the fewest values cross, then the shortest window. If cuts are avoided, the first window may be
/// shorter.
std::vector<std::size_t> choose_cuts(const std::vector<std::size_t>& crossing, const std::vector<bool>& fused,
                                     const WindowOptions& windows, const std::vector<std::size_t>& avoided) {
  const std::size_t near = windows.min_nodes / 2, end = crossing.size() - 1;
  const auto is_near = [&](std::size_t position) {
    const auto next = std::ranges::lower_bound(avoided, position);
    return (next != avoided.end() && *next < position + near) ||
           (next != avoided.begin() && *std::prev(next) + near > position);
  };
  const auto rank = [&](std::size_t position) {
    return std::tuple<bool, bool, std::size_t>(fused[position], is_near(position), crossing[position]);
  };
  std::vector<std::size_t> result;
  for (std::size_t begin = 0; end - begin > windows.max_nodes; begin = result.back()) {
    std::size_t position =
        begin + (begin == 0 && !avoided.empty() ? std::max<std::size_t>(near, 1) : windows.min_nodes);
    for (std::size_t candidate = position + 1; candidate <= begin + windows.max_nodes; ++candidate) {
      if (rank(candidate) < rank(position)) position = candidate;
    }
    result.push_back(position);
  }
  return result;
}

}  // namespace

std::vector<std::vector<NodeId>> split_into_windows(const GraphBank& bank, Fusion& fusion,
                                                    std::span<const ValueId> outputs, const WindowOptions& windows,
                                                    CutPlacement placement) {
  const std::vector<NodeId> order = depth_first_order(bank, outputs);
  const std::vector<std::size_t> crossing = crossings(bank, order, outputs);
  const std::vector<bool> fused = fused_positions(bank, fusion, order);
  std::vector<std::size_t> cuts = choose_cuts(crossing, fused, windows, {});
  if (placement == CutPlacement::Staggered) cuts = choose_cuts(crossing, fused, windows, cuts);
  cuts.push_back(order.size());
  std::vector<std::vector<NodeId>> result;
  std::size_t begin = 0;
  for (const std::size_t end : cuts) {
    if (end > begin)
      result.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(begin),
                          order.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
  return result;
}

}  // namespace rulemill::optimize
