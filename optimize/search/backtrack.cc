#include "optimize/search/backtrack.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "optimize/model/graph.h"
#include "runtime/process/interrupt.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/hash.h"

namespace rulemill::optimize {
namespace {

/// Structural hashes of graphs, in which a constant counts by its type only. Graphs of one model with equal hashes cost
/// the same and have the same rewrites up to constants, so that a search needs only one of them.
class StructuralHasher {
 public:
  explicit StructuralHasher(const GraphBank& bank) : bank_(&bank) {}
  /// Returns a hash of the graph. Hashes of different graphs collide with probability 2^-64.
  std::uint64_t hash(std::span<const ValueId> outputs);

 private:
  std::uint64_t hash(ValueId value) const;
  std::uint64_t compute(const Node& node) const;

  const GraphBank* bank_;
  std::unordered_map<NodeId, std::uint64_t> known_;
};

std::uint64_t StructuralHasher::hash(std::span<const ValueId> outputs) {
  // Depth first, skipping known nodes.
  std::vector<NodeId> open, order;
  for (ValueId output : outputs) open.push_back(bank_->value(output).node);
  while (!open.empty()) {
    NodeId id = open.back();
    if (known_.contains(id)) {
      open.pop_back();
      continue;
    }
    const Node& node = bank_->node(id);
    bool ready = true;
    if (!node.constant) {
      for (ValueId argument : node.arguments) {
        NodeId below = bank_->value(argument).node;
        if (known_.contains(below)) continue;
        open.push_back(below);
        ready = false;
      }
    }
    if (!ready) continue;
    known_.emplace(id, compute(node));
    open.pop_back();
  }
  std::vector<std::uint64_t> words;
  for (ValueId output : outputs) words.push_back(hash(output));
  return runtime::hash64(runtime::bytes_of(words));
}

std::uint64_t StructuralHasher::hash(ValueId value) const {
  std::uint64_t words[] = {known_.at(bank_->value(value).node), bank_->value(value).output};
  return runtime::hash64(runtime::bytes_of(words));
}

std::uint64_t StructuralHasher::compute(const Node& node) const {
  std::vector<std::uint64_t> words;
  if (node.constant) {
    words.push_back(~0ull);
    for (const algebra::Poly& dim : *bank_->value(node.outputs[0]).type)
      words.push_back(static_cast<std::uint64_t>(dim.constant().value_or(0)));
    return runtime::hash64(runtime::bytes_of(words));
  }
  for (ValueId argument : node.arguments) words.push_back(hash(argument));
  if (node.kind == Node::Kind::Algebra && bank_->instance(node).commutative) std::ranges::sort(words);
  words.push_back(static_cast<std::uint64_t>(node.kind));
  words.push_back(node.kind == Node::Kind::Algebra ? static_cast<std::uint64_t>(node.instance) : node.source);
  for (const algebra::Poly& size : node.sizes) words.push_back(size.hash());
  return runtime::hash64(runtime::bytes_of(words));
}

struct State {
  std::vector<ValueId> outputs;
  double seconds = 0;
  // Nodes created since the last improvement. Only rewrites near them are tried, because others commute with the
  // rewrites so far. Empty: no restriction.
  std::vector<NodeId> recent;
  std::uint32_t distance = 0;  // rewrites since the last improvement
  std::size_t parent = 0;
  RewriteStep step;
};

class BacktrackingSearch {
 public:
  BacktrackingSearch(GraphBank& bank, Matcher& matcher, CostModel& cost, const SearchOptions& options,
                     const IsExportable& is_exportable)
      : bank_(bank), matcher_(matcher), cost_(cost), options_(options), is_exportable_(is_exportable), hasher_(bank) {}

  SearchResult run(std::span<const ValueId> outputs) {
    const runtime::Stopwatch watch;
    auto out_of_time = [&] { return options_.time_limit > 0 && watch.seconds() > options_.time_limit; };
    State first;
    first.outputs.assign(outputs.begin(), outputs.end());
    first.seconds = cost_.graph_seconds(outputs);
    best_ = min_seconds_ = first.seconds;
    seen_.insert(hasher_.hash(first.outputs));
    ranking_.push_back(0);
    states_.push_back(std::move(first));
    enqueue(0);
    while (result_.graphs_created < options_.budget && !out_of_time()) {
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

  /// Alternates between the cheapest state and the one nearest to an improvement. Otherwise cheap rewrites on a plateau
  /// would starve an expensive rewrite that pays off later.
  std::optional<std::size_t> next() {
    while (!by_cost_.empty()) {
      take_nearest_ = !take_nearest_;
      std::size_t number = take_nearest_ ? std::get<2>(*by_distance_.begin()) : by_cost_.begin()->second;
      const State& state = states_[number];
      by_cost_.erase({state.seconds, number});
      by_distance_.erase({state.distance, state.seconds, number});
      if (number == 0 || state.seconds < options_.alpha * best_) return number;
    }
    return std::nullopt;
  }

  /// Returns the recent nodes with their arguments and users.
  std::vector<NodeId> recent_neighborhood(const State& state) const {
    if (state.recent.empty()) return {};
    std::set<NodeId> recent(state.recent.begin(), state.recent.end()), near = recent;
    for (NodeId id : bank_.live_nodes(state.outputs)) {
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
    ++result_.graphs_extended;
    std::vector<NodeId> near = recent_neighborhood(states_[number]);
    const std::vector<ValueId> outputs = states_[number].outputs;
    for (const Rewrite& rewrite : matcher_.rewrites(outputs, near)) {
      if (result_.graphs_created >= options_.budget) return;
      ++result_.graphs_created;
      add(number, rewrite);
    }
  }

  void add(std::size_t parent, const Rewrite& rewrite) {
    std::unordered_map<ValueId, ValueId> replacements(rewrite.replacements.begin(), rewrite.replacements.end());
    std::unordered_map<NodeId, NodeId> rebuilt;
    State next;
    next.outputs = bank_.replace(states_[parent].outputs, replacements, &rebuilt);
    if (!seen_.insert(hasher_.hash(next.outputs)).second) return;
    next.seconds = cost_.graph_seconds(next.outputs);
    if (next.seconds >= options_.alpha * best_) return;
    for (const auto& [before, after] : rewrite.replacements) {
      if (bank_.value(after).name.empty()) bank_.set_name(after, bank_.value(before).name);
    }
    next.parent = parent;
    const Pattern& pattern = matcher_.patterns()[rewrite.pattern];
    next.step = {pattern.rule, pattern.reversed, states_[parent].seconds, next.seconds};
    std::size_t number = states_.size();
    // Intermediate graphs count as improvements, too; only the bound depends on exportable graphs.
    if (next.seconds < min_seconds_ * (1 - cost_rounding)) {
      min_seconds_ = next.seconds;
    } else {
      next.distance = states_[parent].distance + 1;
      next.recent = rewrite.target_nodes;
      for (NodeId id : states_[parent].recent) {
        auto found = rebuilt.find(id);
        next.recent.push_back(found == rebuilt.end() ? id : found->second);
      }
    }
    states_.push_back(std::move(next));
    enqueue(number);
    rank(number);
  }

  void rank(std::size_t number) {
    auto cheaper = [&](std::size_t a, std::size_t b) { return states_[a].seconds < states_[b].seconds; };
    auto place = std::ranges::upper_bound(ranking_, number, cheaper);
    if (ranking_.size() >= options_.max_results && place == ranking_.end()) return;
    if (!is_exportable_(states_[number].outputs)) return;
    best_ = std::min(best_, states_[number].seconds);
    ranking_.insert(place, number);
    if (ranking_.size() > options_.max_results) ranking_.pop_back();
  }

  Candidate candidate(std::size_t number) const {
    Candidate result{states_[number].outputs, states_[number].seconds, {}};
    for (std::size_t at = number; at != 0; at = states_[at].parent) result.steps.push_back(states_[at].step);
    std::ranges::reverse(result.steps);
    return result;
  }

  GraphBank& bank_;
  Matcher& matcher_;
  CostModel& cost_;
  SearchOptions options_;
  const IsExportable& is_exportable_;
  std::vector<State> states_;
  std::set<std::pair<double, std::size_t>> by_cost_;  // ties: older states first
  std::set<std::tuple<std::uint32_t, double, std::size_t>> by_distance_;
  bool take_nearest_ = false;
  StructuralHasher hasher_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<std::size_t> ranking_;
  double best_ = 0;         // of the exportable states
  double min_seconds_ = 0;  // of all states
  SearchResult result_;
};

}  // namespace

SearchResult backtrack(GraphBank& bank, Matcher& matcher, CostModel& cost, std::span<const ValueId> outputs,
                       const SearchOptions& options, const IsExportable& is_exportable) {
  return BacktrackingSearch(bank, matcher, cost, options, is_exportable).run(outputs);
}

}  // namespace rulemill::optimize
