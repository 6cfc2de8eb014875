#include "optimize/windows.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <tuple>

#include "runtime/error.h"
#include "runtime/interrupt.h"

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

/// A window as a graph over placeholders, and what they stand for.
struct Window {
  std::vector<ValueId> outputs;               // of the whole graph, used outside the window
  std::vector<ValueId> inner;                 // the same over placeholders
  std::unordered_map<ValueId, ValueId> back;  // placeholder → value
};

/// Ways to put the gains of a round together, where not all go at once.
constexpr std::size_t most_tries = 64;

/// `uses`: how often each value is used in the whole graph, as an argument or an output.
Window cut_out(GraphBank& bank, const std::vector<NodeId>& nodes,
               const std::unordered_map<ValueId, std::uint32_t>& uses) {
  Window window;
  // Over placeholders, without a look at what is below them.
  std::unordered_map<ValueId, ValueId> now;
  std::unordered_map<ValueId, std::uint32_t> inside;
  std::vector<NodeId> ordered(nodes);
  std::ranges::sort(ordered);
  for (NodeId id : ordered) {
    const std::vector<ValueId> before = bank.node(id).arguments;
    std::vector<ValueId> arguments;
    for (ValueId argument : before) {
      ++inside[argument];
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
      auto used = uses.find(output);
      if (used == uses.end() || used->second == inside[output]) continue;
      window.outputs.push_back(output);
      window.inner.push_back(now.at(output));
    }
  }
  return window;
}

/// What is to stand for some values of the graph, once it is known what stands for the values that come in.
struct Gain {
  std::size_t number = 0;  // of the window
  std::vector<ValueId> outputs;
  std::function<std::vector<ValueId>(const std::function<ValueId(ValueId)>& current)> build;
  std::vector<Step> steps;
};

/// Goes over the windows of a graph, round by round; how a window becomes cheaper is the derived class's.
class WindowSearch {
 public:
  WindowSearch(GraphBank& bank, CostModel& cost, const SearchOptions& options, const WindowOptions& windows,
               const Acceptable& acceptable)
      : bank_(bank), cost_(cost), options_(options), windows_(windows), acceptable_(acceptable) {}
  virtual ~WindowSearch() = default;

  SearchResult run(std::span<const ValueId> outputs) {
    current_ = {{outputs.begin(), outputs.end()}, cost_.graph_seconds(outputs), {}};
    result_.best.push_back(current_);
    result_.exhausted = true;
    std::uint32_t idle = 0;  // rounds without a gain, one after the other: each has cuts of its own
    for (std::uint32_t round = 0; round < windows_.rounds && idle < 2 && !out_of_time(); ++round) {
      const double before = current_.seconds;
      const std::size_t windows = run_round(round % 2 == 0 ? Cuts::Narrowest : Cuts::Between);
      idle = current_.seconds < before ? 0 : idle + 1;
      if (idle > 0 && windows == 1) break;
    }
    return std::move(result_);
  }

 protected:
  using Split = std::vector<std::vector<NodeId>>;
  /// The windows to search, in topological order.
  virtual Split arranged(Split split) const { return split; }
  /// Called before the windows of a round.
  virtual void begin_round() {}
  virtual std::optional<Gain> improve(const std::vector<NodeId>& nodes, const SearchOptions& options) = 0;

  GraphBank& bank_;
  CostModel& cost_;
  SearchOptions options_;
  WindowOptions windows_;
  const Acceptable& acceptable_;
  Candidate current_;
  SearchResult result_;

 private:
  double spent() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  bool out_of_time() const { return options_.time_limit > 0 && spent() >= options_.time_limit; }

  /// Searches each window of the graph as it is now, and puts all gains in at once; the number of windows.
  std::size_t run_round(Cuts cuts) {
    const auto split = arranged(split_into_windows(bank_, cost_.fusion(), current_.outputs, windows_, cuts));
    begin_round();
    std::vector<Gain> gains;
    for (std::size_t number = 0; number < split.size(); ++number) {
      runtime::throw_if_interrupted("optimize");
      if (result_.made >= options_.budget || out_of_time()) break;
      SearchOptions share = options_;
      share.keep = 1;
      share.budget = std::max<std::uint64_t>(1, (options_.budget - result_.made) / (split.size() - number));
      if (options_.time_limit > 0) share.time_limit = options_.time_limit - spent();
      std::optional<Gain> gain = improve(split[number], share);
      if (!gain) continue;
      gain->number = number;
      gains.push_back(std::move(*gain));
    }
    std::size_t tries = most_tries;
    std::vector<Gain> taken;
    Candidate best = current_;
    if (!gains.empty()) take(split, gains, taken, best, tries);
    if (best.seconds < current_.seconds) {
      current_ = std::move(best);
      result_.best.insert(result_.best.begin(), current_);
      if (result_.best.size() > options_.keep) result_.best.pop_back();
    }
    return split.size();
  }

  /// Adds these gains to those taken so far, or what of them can be: one may keep the whole graph from being said in
  /// ONNX, and is found by halves.
  void take(const std::vector<std::vector<NodeId>>& split, std::span<const Gain> gains, std::vector<Gain>& taken,
            Candidate& best, std::size_t& tries) {
    if (tries == 0) return;
    --tries;
    const std::size_t before = taken.size();
    taken.insert(taken.end(), gains.begin(), gains.end());
    Candidate next = with(split, taken);
    if (next.seconds < best.seconds && acceptable_(next.outputs)) {
      best = std::move(next);
      return;
    }
    taken.resize(before);
    const std::size_t half = gains.size() / 2;
    if (half == 0) return;
    take(split, gains.first(half), taken, best, tries);
    take(split, gains.subspan(half), taken, best, tries);
  }

  /// The current graph with these windows replaced. Windows stand in topological order: what one takes in was made, or
  /// replaced, before it.
  Candidate with(const std::vector<std::vector<NodeId>>& split, std::span<const Gain> gains) {
    Candidate next{{}, 0, current_.steps};
    std::unordered_map<ValueId, ValueId> now;
    const std::function<ValueId(ValueId)> current = [&](ValueId id) {
      auto found = now.find(id);
      return found == now.end() ? id : found->second;
    };
    auto gain = gains.begin();
    for (std::size_t number = 0; number < split.size(); ++number) {
      if (gain != gains.end() && gain->number == number) {
        const std::vector<ValueId> made = gain->build(current);
        for (std::size_t i = 0; i < made.size(); ++i) now.emplace(gain->outputs[i], made[i]);
        next.steps.insert(next.steps.end(), gain->steps.begin(), gain->steps.end());
        ++gain;
        continue;
      }
      for (NodeId id : split[number]) {
        std::vector<ValueId> arguments;
        for (ValueId argument : bank_.node(id).arguments) arguments.push_back(current(argument));
        const NodeId made = bank_.with_arguments(id, arguments);
        for (std::size_t i = 0; made != id && i < bank_.node(id).outputs.size(); ++i) {
          now.emplace(bank_.node(id).outputs[i], bank_.node(made).outputs[i]);
        }
      }
    }
    for (ValueId output : current_.outputs) next.outputs.push_back(current(output));
    next.seconds = cost_.graph_seconds(next.outputs);
    return next;
  }

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class Backtracking final : public WindowSearch {
 public:
  Backtracking(GraphBank& bank, Matcher& matcher, CostModel& cost, const SearchOptions& options,
               const WindowOptions& windows, const Acceptable& acceptable)
      : WindowSearch(bank, cost, options, windows, acceptable), matcher_(matcher) {}

 private:
  void begin_round() override { uses_ = count_uses(bank_, bank_.live(current_.outputs), current_.outputs); }

  std::optional<Gain> improve(const std::vector<NodeId>& nodes, const SearchOptions& options) override {
    Window window = cut_out(bank_, nodes, uses_);
    SearchResult found = search(bank_, matcher_, cost_, window.inner, options, acceptable_);
    matcher_.forget();
    result_.made += found.made;
    result_.extended += found.extended;
    result_.exhausted = result_.exhausted && found.exhausted;
    Candidate& best = found.best.at(0);
    if (best.steps.empty()) return std::nullopt;
    Gain gain;
    gain.outputs = std::move(window.outputs);
    gain.steps = std::move(best.steps);
    gain.build = [this, inner = std::move(best.outputs), back = std::move(window.back)](const auto& current) {
      std::unordered_map<ValueId, ValueId> values;
      for (const auto& [placeholder, value] : back) values.emplace(placeholder, current(value));
      return bank_.replace(inner, values);
    };
    return gain;
  }

  Matcher& matcher_;
  std::unordered_map<ValueId, std::uint32_t> uses_;
};

class Saturating final : public WindowSearch {
 public:
  Saturating(GraphBank& bank, Saturator& saturator, CostModel& cost, Fusion& fusion, const SearchOptions& options,
             const WindowOptions& windows, const Acceptable& acceptable)
      : WindowSearch(bank, cost, options, windows, acceptable), fusion_(fusion), saturator_(saturator) {}

 private:
  /// Opaque nodes stand alone: a region must not have one between two of its nodes.
  Split arranged(Split split) const override {
    Split result;
    for (const std::vector<NodeId>& window : split) {
      bool fresh = true;
      for (NodeId id : window) {
        const bool opaque = bank_.node(id).kind == Node::Kind::Opaque;
        if (fresh || opaque) result.emplace_back();
        result.back().push_back(id);
        fresh = opaque;
      }
    }
    return result;
  }

  void begin_round() override { regions_.emplace(bank_, fusion_, current_.outputs); }

  std::optional<Gain> improve(const std::vector<NodeId>& nodes, const SearchOptions&) override {
    Region region = regions_->cut_out(nodes);
    if (region.outputs.empty()) return std::nullopt;
    const Solution& solution = saturator_.solve(region);
    ++result_.windows;
    result_.extracted += solution.extracted;
    result_.exactly += solution.exactly;
    result_.nodes += solution.nodes;
    result_.exhausted = result_.exhausted && solution.saturated;
    if (solution.steps.empty()) return std::nullopt;
    Gain gain;
    gain.outputs = region.outputs;
    gain.steps = solution.steps;
    gain.build = [this, graph = solution.graph, region = std::move(region)](const auto& current) {
      std::vector<ValueId> leaves;
      for (const RegionLeaf& leaf : region.leaves) leaves.push_back(current(leaf.value));
      const auto made = build(graph, region, leaves, bank_);
      RM_CHECK(made.has_value(), "what types in the e-graph types in the model");
      for (std::size_t i = 0; i < made->size(); ++i) {
        bank_.set_name((*made)[i], bank_.value(region.outputs[i]).name);
      }
      return *made;
    };
    return gain;
  }

  Fusion& fusion_;
  Saturator& saturator_;
  std::optional<Regions> regions_;  // of the graph at the beginning of the round
};

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

SearchResult search_windows(GraphBank& bank, Matcher& matcher, CostModel& cost, std::span<const ValueId> outputs,
                            const SearchOptions& options, const WindowOptions& windows, const Acceptable& acceptable) {
  return Backtracking(bank, matcher, cost, options, windows, acceptable).run(outputs);
}

SearchResult saturate_windows(GraphBank& bank, Saturator& saturator, CostModel& cost, Fusion& fusion,
                              std::span<const ValueId> outputs, const SearchOptions& options,
                              const WindowOptions& windows, const Acceptable& acceptable) {
  return Saturating(bank, saturator, cost, fusion, options, windows, acceptable).run(outputs);
}

}  // namespace rulemill::optimize
