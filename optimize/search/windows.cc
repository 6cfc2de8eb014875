#include "optimize/search/windows.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "optimize/model/value_range.h"
#include "optimize/search/window_cuts.h"
#include "runtime/process/interrupt.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

/// A window as a graph over placeholders for its inputs.
struct Window {
  std::vector<ValueId> outputs;                       // of the whole graph, used outside of the window
  std::vector<ValueId> inner_outputs;                 // the same over placeholders
  std::unordered_map<ValueId, ValueId> input_values;  // by placeholder
};

/// Combinations of a round's gains that are tried if not all of them can be applied at once.
constexpr std::size_t max_attempts = 64;

/// Arithmetic of a window for which its range is compared; that of larger ones is left to the verifiers.
constexpr double max_range_operations = 1e9;

/// `uses` counts the uses of each value in the whole graph, as an argument or an output.
Window extract_window(GraphBank& bank, const std::vector<NodeId>& nodes,
                      const std::unordered_map<ValueId, std::uint32_t>& uses) {
  Window window;
  std::unordered_map<ValueId, ValueId> replaced;
  std::unordered_map<ValueId, std::uint32_t> inside;
  std::vector<NodeId> ordered(nodes);
  std::ranges::sort(ordered);
  for (NodeId id : ordered) {
    const std::vector<ValueId> before = bank.node(id).arguments;
    std::vector<ValueId> arguments;
    for (ValueId argument : before) {
      ++inside[argument];
      if (auto found = replaced.find(argument); found != replaced.end()) {
        arguments.push_back(found->second);
      } else if (bank.node_of(argument).constant) {
        arguments.push_back(argument);
      } else {
        ValueId placeholder = bank.input("window " + std::to_string(index(argument)), bank.value(argument).type);
        replaced.emplace(argument, placeholder);
        window.input_values.emplace(placeholder, argument);
        arguments.push_back(placeholder);
      }
    }
    NodeId inner = bank.with_arguments(id, arguments);
    for (std::size_t i = 0; i < bank.node(id).outputs.size(); ++i)
      replaced.emplace(bank.node(id).outputs[i], bank.node(inner).outputs[i]);
  }
  for (NodeId id : ordered) {
    for (ValueId output : bank.node(id).outputs) {
      auto used = uses.find(output);
      if (used == uses.end() || used->second == inside[output]) continue;
      window.outputs.push_back(output);
      window.inner_outputs.push_back(replaced.at(output));
    }
  }
  return window;
}

/// A cheaper graph of one window. `build` creates it, given the current values of the window's inputs, and returns the
/// values that replace `outputs`; nullopt if it is ill-typed.
struct Gain {
  std::size_t number = 0;  // of the window
  std::vector<ValueId> outputs;
  std::function<std::optional<std::vector<ValueId>>(const std::function<ValueId(ValueId)>& current)> build;
  std::vector<RewriteStep> steps;
  std::optional<ReplacedWindow> window{};  // of saturation
};

/// A search over the windows of a graph, round by round. Derived classes search one window.
class WindowSearch {
 public:
  WindowSearch(GraphBank& bank, CostModel& cost, const SearchOptions& options, const WindowOptions& windows,
               const IsExportable& is_exportable)
      : bank_(bank), cost_(cost), options_(options), windows_(windows), is_exportable_(is_exportable) {}
  virtual ~WindowSearch() = default;

  SearchResult run(std::span<const ValueId> outputs) {
    current_ = {{outputs.begin(), outputs.end()}, cost_.graph_seconds(outputs), {}};
    result_.best.push_back(current_);
    result_.exhausted = true;
    run_rounds();
    std::set<std::uint32_t> fired;
    for (const RewriteStep& step : current_.steps) fired.insert(step.rule);
    if (!result_.exhausted && !fired.empty() && restrict_rules(fired)) run_rounds();
    return std::move(result_);
  }

 protected:
  using Split = std::vector<std::vector<NodeId>>;
  /// Adapts the windows to the search; they stay in topological order.
  virtual Split arrange(Split split) const { return split; }
  /// Called before the windows of a round are searched.
  virtual void begin_round() {}
  /// Searches with these rules only from now on; returns false if the search has no use for that.
  virtual bool restrict_rules(const std::set<std::uint32_t>&) { return false; }
  virtual std::optional<Gain> improve(const std::vector<NodeId>& nodes, const SearchOptions& options) = 0;

  /// Returns true if 16-bit floats overflow in `after` on inputs on which they do not in `before`.
  bool may_overflow(std::span<const ValueId> before, std::span<const ValueId> after) const {
    try {
      const double draws = std::min(3.0, max_range_operations / std::max(1.0, cost_.operations(before)));
      return find_overflow({bank_, before, after, cost_.sizes(), static_cast<std::uint32_t>(draws)}).has_value();
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error&) {
      return false;  // it cannot be evaluated at these sizes; the verifiers decide
    }
  }

  GraphBank& bank_;
  CostModel& cost_;
  SearchOptions options_;
  WindowOptions windows_;
  const IsExportable& is_exportable_;
  Candidate current_;
  SearchResult result_;

 private:
  /// Runs rounds until two of them, which have different cuts, gain nothing.
  void run_rounds() {
    std::uint32_t idle = 0;
    for (std::uint32_t round = 0; round < windows_.rounds && idle < 2 && !out_of_time(); ++round) {
      const double before = current_.seconds;
      const std::size_t windows = run_round(round % 2 == 0 ? CutPlacement::Narrowest : CutPlacement::Staggered);
      idle = current_.seconds < before ? 0 : idle + 1;
      if (idle > 0 && windows == 1) break;
    }
  }

  bool out_of_time() const { return options_.time_limit > 0 && watch_.seconds() >= options_.time_limit; }

  /// Searches each window of the current graph and applies all gains at once. Returns the number of windows.
  std::size_t run_round(CutPlacement cuts) {
    const auto split = arrange(split_into_windows(bank_, cost_.fusion(), current_.outputs, windows_, cuts));
    begin_round();
    std::vector<Gain> gains;
    for (std::size_t number = 0; number < split.size(); ++number) {
      runtime::throw_if_interrupted("optimize");
      if (result_.graphs_created >= options_.budget || out_of_time()) break;
      SearchOptions share = options_;
      share.max_results = 1;
      share.budget = std::max<std::uint64_t>(1, (options_.budget - result_.graphs_created) / (split.size() - number));
      if (options_.time_limit > 0) share.time_limit = options_.time_limit - watch_.seconds();
      std::optional<Gain> gain = improve(split[number], share);
      if (!gain) continue;
      gain->number = number;
      gains.push_back(std::move(*gain));
    }
    std::size_t attempts = max_attempts;
    std::vector<Gain> applied;
    Candidate best = current_;
    if (!gains.empty()) apply_gains(split, gains, applied, best, attempts);
    if (best.seconds < current_.seconds) {
      current_ = std::move(best);
      result_.best.insert(result_.best.begin(), current_);
      if (result_.best.size() > options_.max_results) result_.best.pop_back();
    }
    return split.size();
  }

  /// Adds the gains to `applied` if the whole graph remains exportable; otherwise tries each half of them.
  void apply_gains(const std::vector<std::vector<NodeId>>& split, std::span<const Gain> gains,
                   std::vector<Gain>& applied, Candidate& best, std::size_t& attempts) {
    if (attempts == 0) return;
    --attempts;
    const std::size_t before = applied.size();
    applied.insert(applied.end(), gains.begin(), gains.end());
    Candidate next = apply(split, applied);
    if (next.seconds < best.seconds && is_exportable_(next.outputs)) {
      best = std::move(next);
      return;
    }
    applied.resize(before);
    const std::size_t half = gains.size() / 2;
    if (half == 0) return;
    apply_gains(split, gains.first(half), applied, best, attempts);
    apply_gains(split, gains.subspan(half), applied, best, attempts);
  }

  /// Returns the current graph with these windows replaced, in topological order. Its cost is infinite if one of them
  /// is ill-typed.
  Candidate apply(const std::vector<std::vector<NodeId>>& split, std::span<const Gain> gains) {
    Candidate next{{}, 0, current_.steps, current_.changes};
    GraphChange change;
    std::unordered_map<ValueId, ValueId> replaced;
    const std::function<ValueId(ValueId)> current = [&](ValueId id) {
      auto found = replaced.find(id);
      return found == replaced.end() ? id : found->second;
    };
    auto gain = gains.begin();
    for (std::size_t number = 0; number < split.size(); ++number) {
      if (gain != gains.end() && gain->number == number) {
        const auto built = gain->build(current);
        if (!built) return {{}, std::numeric_limits<double>::infinity(), {}};
        for (std::size_t i = 0; i < built->size(); ++i) {
          replaced.emplace(gain->outputs[i], (*built)[i]);
          change.origins.emplace((*built)[i], gain->outputs[i]);
        }
        if (gain->window) change.windows.push_back(*gain->window);
        next.steps.insert(next.steps.end(), gain->steps.begin(), gain->steps.end());
        ++gain;
        continue;
      }
      for (NodeId id : split[number]) {
        std::vector<ValueId> arguments;
        for (ValueId argument : bank_.node(id).arguments) arguments.push_back(current(argument));
        const NodeId rebuilt = bank_.with_arguments(id, arguments);
        for (std::size_t i = 0; rebuilt != id && i < bank_.node(id).outputs.size(); ++i) {
          replaced.emplace(bank_.node(id).outputs[i], bank_.node(rebuilt).outputs[i]);
          change.origins.emplace(bank_.node(rebuilt).outputs[i], bank_.node(id).outputs[i]);
        }
      }
    }
    for (ValueId output : current_.outputs) next.outputs.push_back(current(output));
    next.seconds = cost_.graph_seconds(next.outputs);
    next.changes.push_back(std::make_shared<const GraphChange>(std::move(change)));
    return next;
  }

  const runtime::Stopwatch watch_;
};

class BacktrackingWindows final : public WindowSearch {
 public:
  BacktrackingWindows(GraphBank& bank, Matcher& matcher, CostModel& cost, const SearchOptions& options,
                      const WindowOptions& windows, const IsExportable& is_exportable)
      : WindowSearch(bank, cost, options, windows, is_exportable), matcher_(matcher) {}

 private:
  void begin_round() override { uses_ = count_uses(bank_, bank_.live_nodes(current_.outputs), current_.outputs); }

  std::optional<Gain> improve(const std::vector<NodeId>& nodes, const SearchOptions& options) override {
    Window window = extract_window(bank_, nodes, uses_);
    SearchResult found = backtrack(bank_, matcher_, cost_, window.inner_outputs, options, is_exportable_);
    matcher_.clear_cache();
    result_.graphs_created += found.graphs_created;
    result_.graphs_extended += found.graphs_extended;
    result_.exhausted = result_.exhausted && found.exhausted;
    Candidate& best = found.best.at(0);
    if (best.steps.empty() || may_overflow(window.inner_outputs, best.outputs)) return std::nullopt;
    Gain gain;
    gain.outputs = std::move(window.outputs);
    gain.steps = std::move(best.steps);
    gain.build = [this, inner = std::move(best.outputs),
                  input_values = std::move(window.input_values)](const auto& current) {
      std::unordered_map<ValueId, ValueId> values;
      for (const auto& [placeholder, value] : input_values) values.emplace(placeholder, current(value));
      return bank_.replace(inner, values);
    };
    return gain;
  }

  Matcher& matcher_;
  std::unordered_map<ValueId, std::uint32_t> uses_;
};

class SaturationWindows final : public WindowSearch {
 public:
  SaturationWindows(GraphBank& bank, Saturator& saturator, CostModel& cost, const SearchOptions& options,
                    const WindowOptions& windows, const IsExportable& is_exportable)
      : WindowSearch(bank, cost, options, windows, is_exportable), saturator_(saturator) {}

 private:
  /// Puts each opaque node into a window of its own: nodes of a region must not depend on each other through one.
  Split arrange(Split split) const override {
    Split result;
    for (const std::vector<NodeId>& window : split) {
      bool starts_window = true;
      for (NodeId id : window) {
        const bool opaque = bank_.node(id).kind == Node::Kind::Opaque;
        if (starts_window || opaque) result.emplace_back();
        result.back().push_back(id);
        starts_window = opaque;
      }
    }
    return result;
  }

  void begin_round() override { regions_.emplace(bank_, cost_.fusion(), current_.outputs); }

  /// Rules that have paid elsewhere in the model, applied alone, reach further in windows that ended at a limit, and in
  /// larger ones.
  bool restrict_rules(const std::set<std::uint32_t>& numbers) override {
    saturator_.restrict_rules(numbers);
    windows_.min_nodes *= 2;
    windows_.max_nodes *= 2;
    return true;
  }

  std::optional<Gain> improve(const std::vector<NodeId>& nodes, const SearchOptions&) override {
    Region region = regions_->build_region(nodes);
    if (region.outputs.empty()) return std::nullopt;
    const Solution& solution = saturator_.solve(region);
    ++result_.windows;
    result_.extractions += solution.extractions;
    result_.ilp_extractions += solution.ilp_extractions;
    result_.egraph_nodes += solution.egraph_nodes;
    result_.limits_reached += solution.limits_reached;
    result_.exhausted = result_.exhausted && solution.saturated;
    if (solution.steps.empty() || may_overflow(region, solution.graph)) return std::nullopt;
    Gain gain;
    gain.outputs = region.outputs;
    gain.steps = solution.steps;
    ReplacedWindow& window = gain.window.emplace(ReplacedWindow{solution.derivation, {}, {}});
    for (const RegionLeaf& leaf : region.leaves) window.leaves.push_back(leaf.value);
    window.type = bank_.value(region.outputs[0]).type.data_type;
    gain.build = [this, graph = solution.graph, region = std::move(region)](const auto& current) {
      std::vector<ValueId> leaves;
      for (const RegionLeaf& leaf : region.leaves) leaves.push_back(current(leaf.value));
      auto built = build_graph(graph, region, leaves, bank_);
      for (std::size_t i = 0; built && i < built->size(); ++i)
        bank_.set_name((*built)[i], bank_.value(region.outputs[i]).name);
      return built;
    };
    return gain;
  }

  /// Compares the graphs over placeholders for the region's leaves.
  bool may_overflow(const Region& region, const RegionGraph& after) {
    const auto is_short = [&](ValueId id) { return is_short_float(bank_.value(id).type.data_type); };
    if (std::ranges::none_of(region.outputs, is_short)) return false;
    std::vector<ValueId> leaves;
    for (const auto& [value, constant] : region.leaves) {
      const std::string name = "window " + std::to_string(index(value));
      leaves.push_back(constant ? value : bank_.input(name, bank_.value(value).type));
    }
    const auto before = build_graph(region.graph, region, leaves, bank_),
               result = build_graph(after, region, leaves, bank_);
    return before && result && WindowSearch::may_overflow(*before, *result);
  }

  Saturator& saturator_;
  std::optional<RegionBuilder> regions_;  // of the graph at the start of the round
};

}  // namespace

SearchResult search_windows(GraphBank& bank, Matcher& matcher, CostModel& cost, std::span<const ValueId> outputs,
                            const SearchOptions& options, const WindowOptions& windows,
                            const IsExportable& is_exportable) {
  return BacktrackingWindows(bank, matcher, cost, options, windows, is_exportable).run(outputs);
}

SearchResult saturate_windows(GraphBank& bank, Saturator& saturator, CostModel& cost, std::span<const ValueId> outputs,
                              const SearchOptions& options, const WindowOptions& windows,
                              const IsExportable& is_exportable) {
  return SaturationWindows(bank, saturator, cost, options, windows, is_exportable).run(outputs);
}

}  // namespace rulemill::optimize
