#include "optimize/windows.h"

#include <algorithm>
#include <chrono>
#include <set>

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

/// A window as a graph over placeholders, and the way back.
struct Window {
  std::vector<ValueId> outputs;               // of the whole graph, used outside the window
  std::vector<ValueId> inner;                 // the same over placeholders
  std::unordered_map<ValueId, ValueId> back;  // placeholder → value
};

Window cut_out(GraphBank& bank, const std::vector<NodeId>& nodes, std::span<const ValueId> graph_outputs) {
  Window window;
  std::set<NodeId> inside(nodes.begin(), nodes.end());
  std::set<ValueId> used(graph_outputs.begin(), graph_outputs.end());
  for (NodeId id : bank.live(graph_outputs)) {
    if (inside.contains(id)) continue;
    used.insert(bank.node(id).arguments.begin(), bank.node(id).arguments.end());
  }
  // Over placeholders, without a look at what is below them.
  std::unordered_map<ValueId, ValueId> now;
  std::vector<NodeId> ordered(nodes);
  std::ranges::sort(ordered);
  for (NodeId id : ordered) {
    const std::vector<ValueId> before = bank.node(id).arguments;
    std::vector<ValueId> arguments;
    for (ValueId argument : before) {
      if (auto there = now.find(argument); there != now.end()) {
        arguments.push_back(there->second);
      } else if (bank.node_of(argument).constant) {
        arguments.push_back(argument);
      } else {
        ValueId placeholder = bank.input("window " + std::to_string(index(argument)), bank.value(argument).type);
        now.emplace(argument, placeholder);
        window.back.emplace(placeholder, argument);
        arguments.push_back(placeholder);
      }
    }
    NodeId inner = bank.with_arguments(id, arguments);
    for (std::size_t i = 0; i < bank.node(id).outputs.size(); ++i) {
      now.emplace(bank.node(id).outputs[i], bank.node(inner).outputs[i]);
    }
  }
  for (NodeId id : ordered) {
    for (ValueId output : bank.node(id).outputs) {
      if (!used.contains(output)) continue;
      window.outputs.push_back(output);
      window.inner.push_back(now.at(output));
    }
  }
  return window;
}

class WindowSearch {
 public:
  WindowSearch(GraphBank& bank, Matcher& matcher, CostModel& cost, const SearchOptions& options,
               const WindowOptions& windows, const std::function<bool(std::span<const ValueId>)>& acceptable)
      : bank_(bank), matcher_(matcher), cost_(cost), options_(options), windows_(windows), acceptable_(acceptable) {}

  SearchResult run(std::span<const ValueId> outputs) {
    Candidate current{{outputs.begin(), outputs.end()}, cost_.graph_seconds(outputs), {}};
    result_.best.push_back(current);
    result_.exhausted = true;
    auto start = std::chrono::steady_clock::now();
    for (std::uint32_t round = 0; round < windows_.rounds; ++round) {
      double before = current.seconds;
      std::size_t offset = round % 2 == 0 ? 0 : windows_.largest / 2;
      std::size_t count = split_into_windows(bank_, current.outputs, windows_, offset).size();
      // The graph changes under way: each window is cut out of the graph as it is by then.
      for (std::size_t number = 0; number < count; ++number) {
        auto split = split_into_windows(bank_, current.outputs, windows_, offset);
        if (number >= split.size() || result_.made >= options_.budget) break;
        std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        if (options_.time_limit > 0 && spent.count() >= options_.time_limit) break;
        SearchOptions share = options_;
        share.keep = 1;
        share.budget = (options_.budget - result_.made) / (count - number);
        if (options_.time_limit > 0) share.time_limit = options_.time_limit - spent.count();
        improve(current, split[number], share);
      }
      if (current.seconds >= before || (count == 1 && round > 0)) break;
    }
    return std::move(result_);
  }

 private:
  void improve(Candidate& current, const std::vector<NodeId>& nodes, const SearchOptions& options) {
    Window window = cut_out(bank_, nodes, current.outputs);
    SearchResult found = search(bank_, matcher_, cost_, window.inner, options, acceptable_);
    result_.made += found.made;
    result_.extended += found.extended;
    result_.exhausted = result_.exhausted && found.exhausted;
    const Candidate& best = found.best.at(0);
    if (best.steps.empty()) return;
    std::vector<ValueId> outer = bank_.replace(best.outputs, window.back);
    std::unordered_map<ValueId, ValueId> replacements;
    for (std::size_t i = 0; i < outer.size(); ++i) replacements.emplace(window.outputs[i], outer[i]);
    Candidate next = current;
    next.outputs = bank_.replace(current.outputs, replacements);
    next.seconds = cost_.graph_seconds(next.outputs);
    if (next.seconds >= current.seconds || !acceptable_(next.outputs)) return;
    next.steps.insert(next.steps.end(), best.steps.begin(), best.steps.end());
    current = std::move(next);
    result_.best.insert(result_.best.begin(), current);
    if (result_.best.size() > options_.keep) result_.best.pop_back();
  }

  GraphBank& bank_;
  Matcher& matcher_;
  CostModel& cost_;
  SearchOptions options_;
  WindowOptions windows_;
  const std::function<bool(std::span<const ValueId>)>& acceptable_;
  SearchResult result_;
};

}  // namespace

std::vector<std::vector<NodeId>> split_into_windows(const GraphBank& bank, std::span<const ValueId> outputs,
                                                    const WindowOptions& windows, std::size_t offset) {
  std::vector<NodeId> order = in_depth_first_order(bank, outputs);
  std::vector<std::size_t> crossing = crossings(bank, order, outputs);
  std::vector<std::vector<NodeId>> result;
  std::size_t begin = 0;
  while (begin < order.size()) {
    std::size_t left = order.size() - begin;
    std::size_t length = left;
    if (begin == 0 && offset > 0 && offset < left) {
      length = offset;
    } else if (left > windows.largest) {
      // The narrowest cut; the shortest window among equals.
      length = windows.smallest;
      for (std::size_t other = windows.smallest; other <= windows.largest; ++other) {
        if (crossing[begin + other] < crossing[begin + length]) length = other;
      }
    }
    auto first = order.begin() + static_cast<std::ptrdiff_t>(begin);
    result.emplace_back(first, first + static_cast<std::ptrdiff_t>(length));
    begin += length;
  }
  return result;
}

SearchResult search_windows(GraphBank& bank, Matcher& matcher, CostModel& cost, std::span<const ValueId> outputs,
                            const SearchOptions& options, const WindowOptions& windows,
                            const std::function<bool(std::span<const ValueId>)>& acceptable) {
  return WindowSearch(bank, matcher, cost, options, windows, acceptable).run(outputs);
}

}  // namespace rulemill::optimize
