#include "optimize/search.h"

#include <algorithm>
#include <chrono>
#include <queue>
#include <set>

#include "runtime/interrupt.h"

namespace rulemill::optimize {

namespace {

struct State {
  std::vector<ValueId> outputs;
  double seconds = 0;
  // What was rewritten since the last improvement. Rewrites far from it are left for later: they would commute with
  // what was done. Empty: anywhere.
  std::vector<NodeId> recent;
  std::size_t parent = 0;
  Step step;
};

/// A gain below this share of the cost is rounding.
constexpr double noise = 1e-9;

class Search {
 public:
  Search(GraphBank& bank, Matcher& matcher, CostModel& cost, const SearchOptions& options,
         const std::function<bool(std::span<const ValueId>)>& acceptable)
      : bank_(bank), matcher_(matcher), cost_(cost), options_(options), acceptable_(acceptable) {}

  SearchResult run(std::span<const ValueId> outputs) {
    auto start = std::chrono::steady_clock::now();
    auto out_of_time = [&] {
      std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      return options_.time_limit > 0 && spent.count() > options_.time_limit;
    };
    State first;
    first.outputs.assign(outputs.begin(), outputs.end());
    first.seconds = cost_.graph_seconds(outputs);
    best_ = first.seconds;
    seen_.insert(first.outputs);
    ranking_.push_back(0);
    states_.push_back(std::move(first));
    queue_.emplace(states_[0].seconds, 0);
    while (!queue_.empty() && result_.made < options_.budget && !out_of_time()) {
      runtime::throw_if_interrupted("optimize");
      auto [seconds, number] = queue_.top();
      queue_.pop();
      if (number != 0 && seconds >= options_.alpha * best_) continue;
      extend(number);
    }
    result_.exhausted = queue_.empty();
    for (std::size_t number : ranking_) result_.best.push_back(candidate(number));
    return std::move(result_);
  }

 private:
  using Entry = std::pair<double, std::size_t>;  // ties: the older state first

  /// Nodes that a rewrite should touch: the recent ones, their neighbours, and nodes that share an argument or a user.
  std::vector<NodeId> neighbourhood(const State& state) const {
    if (state.recent.empty()) return {};
    std::set<NodeId> core(state.recent.begin(), state.recent.end()), near = core;
    std::vector<NodeId> nodes = bank_.live(state.outputs);
    for (int round = 0; round < 2; ++round) {
      std::set<NodeId> grown = near;
      for (NodeId id : nodes) {
        const Node& node = bank_.node(id);
        if (node.constant) continue;
        for (ValueId argument : node.arguments) {
          NodeId other = bank_.value(argument).node;
          if (bank_.node(other).constant) continue;
          if (near.contains(id)) grown.insert(other);
          if (near.contains(other)) grown.insert(id);
        }
      }
      near = std::move(grown);
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
    if (!seen_.insert(next.outputs).second) return;
    next.seconds = cost_.graph_seconds(next.outputs);
    if (next.seconds >= options_.alpha * best_) return;
    for (const auto& [before, after] : rewrite.replacements) {
      if (bank_.value(after).name.empty()) bank_.set_name(after, bank_.value(before).name);
    }
    next.parent = parent;
    const Pattern& pattern = matcher_.patterns()[rewrite.pattern];
    next.step = {pattern.rule, pattern.reversed, states_[parent].seconds, next.seconds};
    std::size_t number = states_.size();
    bool improves = next.seconds < best_ * (1 - noise) && acceptable_(next.outputs);
    if (improves) {
      best_ = next.seconds;
    } else {
      next.recent = rewrite.made;
      for (NodeId id : states_[parent].recent) {
        auto now = rebuilt.find(id);
        next.recent.push_back(now == rebuilt.end() ? id : now->second);
      }
    }
    states_.push_back(std::move(next));
    queue_.emplace(states_.back().seconds, number);
    rank(number, improves);
  }

  void rank(std::size_t number, bool known_acceptable) {
    auto cheaper = [&](std::size_t a, std::size_t b) { return states_[a].seconds < states_[b].seconds; };
    auto place = std::ranges::upper_bound(ranking_, number, cheaper);
    if (ranking_.size() >= options_.keep && place == ranking_.end()) return;
    if (!known_acceptable && !acceptable_(states_[number].outputs)) return;
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
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  std::set<std::vector<ValueId>> seen_;
  std::vector<std::size_t> ranking_;
  double best_ = 0;
  SearchResult result_;
};

}  // namespace

SearchResult search(GraphBank& bank, Matcher& matcher, CostModel& cost, std::span<const ValueId> outputs,
                    const SearchOptions& options,
                    const std::function<bool(std::span<const ValueId>)>& acceptable) {
  return Search(bank, matcher, cost, options, acceptable).run(outputs);
}

}  // namespace rulemill::optimize
