#include "optimize/extraction.h"

#include <algorithm>
#include <limits>

#include "runtime/error.h"

namespace rulemill::optimize {

using egraph::ENode;
using egraph::nothing;
using egraph::Value;

namespace {

/// Free nodes count a little, so that a choice never rests on itself and the smaller of two free terms is taken.
constexpr double least_seconds = 1e-12;
constexpr double noise = 1e-9;
constexpr std::uint8_t open = 1, done = 2;

}  // namespace

Extraction::Extraction(const egraph::EGraph& egraph, const Price& price)
    : egraph_(egraph), price_(price), variable_(egraph.value_count(), nothing), choice_(egraph.value_count(), nothing) {
  for (Value value = 0; value < egraph_.value_count(); ++value) {
    Value& variable = variable_[egraph_.find(value)];
    if (egraph_.node_of(value) == nothing && variable == nothing) variable = value;
  }
  for (ENode node = 0; node < egraph_.node_count(); ++node) {
    const bool free = egraph_.is_duplicate(node) || egraph_.is_constant(node);
    cost_.push_back(free ? least_seconds : least_seconds + price_.alone(node));
  }
  choose_trees();
}

/// tree(class) = min over its nodes of cost(node) + Σ tree(argument), to a fixed point; variables cost nothing. Every
/// node costs something, so that following the choices ends.
void Extraction::choose_trees() {
  tree_.assign(egraph_.value_count(), std::numeric_limits<double>::infinity());
  for (Value value = 0; value < egraph_.value_count(); ++value) {
    if (variable_[value] != nothing) tree_[value] = 0;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (ENode node = 0; node < egraph_.node_count(); ++node) {
      if (egraph_.is_duplicate(node)) continue;
      double seconds = cost_[node];
      for (const Value argument : egraph_.arguments(node)) seconds += tree_[egraph_.find(argument)];
      for (std::uint32_t o = 0; o < egraph_.output_count(node); ++o) {
        const Value output = egraph_.find(egraph_.output(node, o));
        if (seconds >= tree_[output]) continue;
        tree_[output] = seconds;
        choice_[output] = node;
        changed = true;
      }
    }
  }
}

/// Appends what the value needs, arguments first; false if the choices run in a circle or lead nowhere.
bool Extraction::visit(const Choice& choice, Value value, std::vector<ENode>& order) const {
  const Value at = egraph_.find(value);
  if (variable_[at] != nothing || state_[at] == done) return true;
  const ENode node = choice[at];
  if (state_[at] == open || node == nothing) return false;
  state_[at] = open;
  for (const Value argument : egraph_.arguments(node)) {
    if (!visit(choice, argument, order)) return false;
  }
  state_[at] = done;
  if (std::ranges::find(order, node) == order.end()) order.push_back(node);
  return true;
}

std::optional<double> Extraction::graph_seconds(const Choice& choice, std::span<const Value> roots) const {
  state_.assign(egraph_.value_count(), 0);
  std::vector<ENode> order;
  for (const Value root : roots) {
    if (!visit(choice, root, order)) return std::nullopt;
  }
  return price(choice, order, roots);
}

double Extraction::price(const Choice& choice, const std::vector<ENode>& order, std::span<const Value> roots) const {
  uses_.assign(egraph_.value_count(), 0);
  user_.assign(egraph_.value_count(), nothing);
  for (const Value root : roots) ++uses_[egraph_.find(root)];
  for (const ENode node : order) {
    for (const Value argument : egraph_.arguments(node)) {
      ++uses_[egraph_.find(argument)];
      user_[egraph_.find(argument)] = node;
    }
  }
  const auto only_user = [&](ENode node) {
    if (node == nothing || egraph_.output_count(node) != 1) return nothing;
    const Value output = egraph_.find(egraph_.output(node, 0));
    return uses_[output] == 1 ? user_[output] : nothing;
  };
  double seconds = 0;
  for (const ENode node : order) {
    if (cost_[node] == least_seconds) {
      seconds += least_seconds;
      continue;
    }
    ENode argument = nothing;
    if (!egraph_.arguments(node).empty()) {
      const Value first = egraph_.find(egraph_.arguments(node)[0]);
      argument = variable_[first] == nothing ? choice[first] : nothing;
      if (only_user(argument) != node) argument = nothing;
    }
    seconds += price_.in_graph(node, argument, only_user(node), cost_[node]);
  }
  return seconds;
}

std::vector<ENode> Extraction::order(std::span<const Value> roots) const {
  state_.assign(egraph_.value_count(), 0);
  std::vector<ENode> order;
  for (const Value root : roots) RM_CHECK(visit(choice_, root, order), "what was chosen can be computed");
  return order;
}

void Extraction::choose(std::span<const Value> roots, ENode original, std::size_t passes) {
  climb(roots, passes);
  const Choice from_trees = choice_;
  const double seconds = seconds_;
  for (ENode node = original; node-- > 0;) {
    if (egraph_.is_duplicate(node)) continue;
    for (std::uint32_t o = 0; o < egraph_.output_count(node); ++o)
      choice_[egraph_.find(egraph_.output(node, o))] = node;
  }
  if (graph_seconds(choice_, roots)) climb(roots, passes);
  if (seconds < seconds_) {
    choice_ = from_trees;
    seconds_ = seconds;
  }
}

void Extraction::climb(std::span<const Value> roots, std::size_t passes) {
  const auto seconds = graph_seconds(choice_, roots);
  RM_CHECK(seconds.has_value(), "what was chosen can be computed");
  seconds_ = *seconds;
  for (std::size_t pass = 0; pass < passes && improve(roots); ++pass) {
  }
}

/// Tries, for each class in use, each of its other nodes; a better choice is taken at once.
bool Extraction::improve(std::span<const Value> roots) {
  bool better = false;
  for (const ENode used : order(roots)) {
    for (std::uint32_t o = 0; o < egraph_.output_count(used); ++o) {
      const Value start = egraph_.find(egraph_.output(used, o));
      Value value = start;
      do {
        const ENode other = egraph_.node_of(value);
        value = egraph_.next_in_class(value);
        if (other == nothing || egraph_.is_duplicate(other) || choice_[start] == other) continue;
        Choice changed = choice_;
        for (std::uint32_t p = 0; p < egraph_.output_count(other); ++p) {
          changed[egraph_.find(egraph_.output(other, p))] = other;
        }
        const auto seconds = graph_seconds(changed, roots);
        if (!seconds || *seconds >= seconds_ * (1 - noise)) continue;
        choice_ = std::move(changed);
        seconds_ = *seconds;
        better = true;
      } while (value != start);
    }
  }
  return better;
}

}  // namespace rulemill::optimize
