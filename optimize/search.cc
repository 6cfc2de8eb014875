#include "optimize/search.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_set>

#include "optimize/skeleton.h"
#include "runtime/interrupt.h"

namespace rulemill::optimize {

namespace {

struct State {
  std::vector<ValueId> outputs;
  double seconds = 0;
  // What was rewritten since the last improvement. Rewrites far from it are left for later: they would commute with
  // what was done. Empty: anywhere.
  std::vector<NodeId> recent;
  std::uint32_t distance = 0;  // rewrites since the last improvement
  std::size_t parent = 0;
  Step step;
};

/// A gain below this share of the cost is rounding.
constexpr double noise = 1e-9;

class Search {
 public:
  Search(GraphBank& bank, Matcher& matcher, CostModel& cost, const SearchOptions& options,
         const std::function<bool(std::span<const ValueId>)>& acceptable)
      : bank_(bank), matcher_(matcher), cost_(cost), options_(options), acceptable_(acceptable), skeletons_(bank) {}

  SearchResult run(std::span<const ValueId> outputs) {
    auto start = std::chrono::steady_clock::now();
    auto out_of_time = [&] {
      std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      return options_.time_limit > 0 && spent.count() > options_.time_limit;
    };
    State first;
    first.outputs.assign(outputs.begin(), outputs.end());
    first.seconds = cost_.graph_seconds(outputs);
    best_ = cheapest_ = first.seconds;
    seen_.insert(skeletons_.of(first.outputs));
    ranking_.push_back(0);
    states_.push_back(std::move(first));
    enqueue(0);
    while (result_.made < options_.budget && !out_of_time()) {
      runtime::throw_if_interrupted("optimize");
      auto number = next();
      if (!number) break;
      extend(*number);
    }
    result_.exhausted = by_cost_.empty();
    for (std::size_t number : ranking_) result_.best.push_back(candidate(number));
    return std::move(result_);
  }

 private:
  void enqueue(std::size_t number) {
    const State& state = states_[number];
    by_cost_.insert({state.seconds, number});
    by_distance_.insert({state.distance, state.seconds, number});
  }

  /// Cheapest first and nearest to an improvement first, in turns: the cheap moves of a plateau do not starve a dear
  /// one that pays a few moves later.
  std::optional<std::size_t> next() {
    while (!by_cost_.empty()) {
      near_turn_ = !near_turn_;
      std::size_t number = near_turn_ ? std::get<2>(*by_distance_.begin()) : by_cost_.begin()->second;
      const State& state = states_[number];
      by_cost_.erase({state.seconds, number});
      by_distance_.erase({state.distance, state.seconds, number});
      if (number == 0 || state.seconds < options_.alpha * best_) return number;
    }
    return std::nullopt;
  }

  /// Nodes that a rewrite should touch: the recent ones, their arguments and their users.
  std::vector<NodeId> neighbourhood(const State& state) const {
    if (state.recent.empty()) return {};
    std::set<NodeId> recent(state.recent.begin(), state.recent.end()), near = recent;
    for (NodeId id : bank_.live(state.outputs)) {
      const Node& node = bank_.node(id);
      if (node.constant) continue;
      for (ValueId argument : node.arguments) {
        NodeId other = bank_.value(argument).node;
        if (bank_.node(other).constant) continue;
        if (recent.contains(id)) near.insert(other);
        if (recent.contains(other)) near.insert(id);
      }
    }
    return {near.begin(), near.end()};
  }

  void extend(std::size_t number) {
    ++result_.extended;
    std::vector<NodeId> near = neighbourhood(states_[number]);
    const std::vector<ValueId> outputs = states_[number].outputs;
    for (const Rewrite& rewrite : matcher_.rewrites(outputs, near)) {
      if (result_.made >= options_.budget) return;
      ++result_.made;
      add(number, rewrite);
    }
  }

  void add(std::size_t parent, const Rewrite& rewrite) {
    std::unordered_map<ValueId, ValueId> replacements(rewrite.replacements.begin(), rewrite.replacements.end());
    std::unordered_map<NodeId, NodeId> rebuilt;
    State next;
    next.outputs = bank_.replace(states_[parent].outputs, replacements, &rebuilt);
    if (!seen_.insert(skeletons_.of(next.outputs)).second) return;
    next.seconds = cost_.graph_seconds(next.outputs);
    if (next.seconds >= options_.alpha * best_) return;
    for (const auto& [before, after] : rewrite.replacements) {
      if (bank_.value(after).name.empty()) bank_.set_name(after, bank_.value(before).name);
    }
    next.parent = parent;
    const Pattern& pattern = matcher_.patterns()[rewrite.pattern];
    next.step = {pattern.rule, pattern.reversed, states_[parent].seconds, next.seconds};
    std::size_t number = states_.size();
    // Progress is progress, whether or not it can be said yet; the bound is only of results.
    if (next.seconds < cheapest_ * (1 - noise)) {
      cheapest_ = next.seconds;
    } else {
      next.distance = states_[parent].distance + 1;
      next.recent = rewrite.made;
      for (NodeId id : states_[parent].recent) {
        auto now = rebuilt.find(id);
        next.recent.push_back(now == rebuilt.end() ? id : now->second);
      }
    }
    states_.push_back(std::move(next));
    enqueue(number);
    rank(number);
  }

  void rank(std::size_t number) {
    auto cheaper = [&](std::size_t a, std::size_t b) { return states_[a].seconds < states_[b].seconds; };
    auto place = std::ranges::upper_bound(ranking_, number, cheaper);
    if (ranking_.size() >= options_.keep && place == ranking_.end()) return;
    if (!acceptable_(states_[number].outputs)) return;
    best_ = std::min(best_, states_[number].seconds);
    ranking_.insert(place, number);
    if (ranking_.size() > options_.keep) ranking_.pop_back();
  }

  Candidate candidate(std::size_t number) const {
    Candidate made{states_[number].outputs, states_[number].seconds, {}};
    for (std::size_t at = number; at != 0; at = states_[at].parent) made.steps.push_back(states_[at].step);
    std::ranges::reverse(made.steps);
    return made;
  }

  GraphBank& bank_;
  Matcher& matcher_;
  CostModel& cost_;
  SearchOptions options_;
  const std::function<bool(std::span<const ValueId>)>& acceptable_;
  std::vector<State> states_;
  std::set<std::pair<double, std::size_t>> by_cost_;  // ties: the older state first
  std::set<std::tuple<std::uint32_t, double, std::size_t>> by_distance_;
  bool near_turn_ = false;
  Skeletons skeletons_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<std::size_t> ranking_;
  double best_ = 0;      // of the results
  double cheapest_ = 0;  // of all states
  SearchResult result_;
};

}  // namespace

SearchResult search(GraphBank& bank, Matcher& matcher, CostModel& cost, std::span<const ValueId> outputs,
                    const SearchOptions& options, const std::function<bool(std::span<const ValueId>)>& acceptable) {
  return Search(bank, matcher, cost, options, acceptable).run(outputs);
}

}  // namespace rulemill::optimize
