#include "optimize/windows.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "runtime/error.h"
#include "runtime/interrupt.h"

namespace rulemill::optimize {

namespace {

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
  Saturating(GraphBank& bank, Saturator& saturator, CostModel& cost, const SearchOptions& options,
             const WindowOptions& windows, const Acceptable& acceptable)
      : WindowSearch(bank, cost, options, windows, acceptable), saturator_(saturator) {}

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

  void begin_round() override { regions_.emplace(bank_, cost_.fusion(), current_.outputs); }

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

  Saturator& saturator_;
  std::optional<Regions> regions_;  // of the graph at the beginning of the round
};

}  // namespace

SearchResult search_windows(GraphBank& bank, Matcher& matcher, CostModel& cost, std::span<const ValueId> outputs,
                            const SearchOptions& options, const WindowOptions& windows, const Acceptable& acceptable) {
  return Backtracking(bank, matcher, cost, options, windows, acceptable).run(outputs);
}

SearchResult saturate_windows(GraphBank& bank, Saturator& saturator, CostModel& cost, std::span<const ValueId> outputs,
                              const SearchOptions& options, const WindowOptions& windows,
                              const Acceptable& acceptable) {
  return Saturating(bank, saturator, cost, options, windows, acceptable).run(outputs);
}

}  // namespace rulemill::optimize
