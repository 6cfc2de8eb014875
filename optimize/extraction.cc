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

}  // namespace

Extraction::Extraction(const egraph::EGraph& egraph, const Price& price)
    : egraph_(egraph),
      price_(price),
      variable_(egraph.value_count(), nothing),
      choice_(egraph.value_count(), nothing),
      marks_(egraph.value_count()),
      seen_(egraph.node_count()) {
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
bool Extraction::visit(Value value, std::vector<ENode>& order) const {
  const Value at = egraph_.find(value);
  Mark& mark = marks_[at];
  const bool known = mark.walk == walk_;
  if (variable_[at] != nothing || (known && !mark.open)) return true;
  const ENode node = choice_[at];
  if (known || node == nothing) return false;
  mark = {walk_, true, 0, nothing};
  for (const Value argument : egraph_.arguments(node)) {
    if (!visit(argument, order)) return false;
  }
  mark.open = false;
  if (seen_[node] != walk_) order.push_back(node);
  seen_[node] = walk_;
  return true;
}

std::optional<double> Extraction::graph_seconds(std::span<const Value> roots) const {
  ++walk_;
  std::vector<ENode> order;
  for (const Value root : roots) {
    if (!visit(root, order)) return std::nullopt;
  }
  return price(order, roots);
}

double Extraction::price(const std::vector<ENode>& order, std::span<const Value> roots) const {
  const auto use = [&](Value value, ENode user) {
    Mark& mark = marks_[egraph_.find(value)];
    ++mark.uses;
    if (user != nothing) mark.user = user;
  };
  for (const Value root : roots) use(root, nothing);
  for (const ENode node : order) {
    for (const Value argument : egraph_.arguments(node)) use(argument, node);
  }
  const auto only_user = [&](ENode node) {
    if (node == nothing || egraph_.output_count(node) != 1) return nothing;
    const Mark& mark = marks_[egraph_.find(egraph_.output(node, 0))];
    return mark.uses == 1 ? mark.user : nothing;
  };
  const auto own_argument = [&](ENode node) {
    if (node == nothing || egraph_.arguments(node).empty()) return nothing;
    const Value first = egraph_.find(egraph_.arguments(node)[0]);
    const ENode argument = variable_[first] == nothing ? choice_[first] : nothing;
    return only_user(argument) == node ? argument : nothing;
  };
  double seconds = 0;
  for (const ENode node : order) {
    if (cost_[node] == least_seconds) {
      seconds += least_seconds;
      continue;
    }
    const ENode argument = own_argument(node);
    seconds += price_.in_graph({node, argument, own_argument(argument), only_user(node)}, cost_[node]);
  }
  return seconds;
}

std::vector<ENode> Extraction::order(std::span<const Value> roots) const {
  ++walk_;
  std::vector<ENode> order;
  for (const Value root : roots) RM_CHECK(visit(root, order), "what was chosen can be computed");
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
  if (graph_seconds(roots)) climb(roots, passes);
  if (seconds < seconds_) {
    choice_ = from_trees;
    seconds_ = seconds;
  }
}

/// The program knows the costs of single nodes; what a neighbour changes is left to the climb.
bool Extraction::choose_exactly(std::span<const Value> roots, const ExactLimits& limits, std::size_t passes) {
  const auto given = [&](Value value) { return variable_[value] != nothing || egraph_.constant(value); };
  const auto nodes = cheapest_nodes({egraph_, cost_, given, roots}, limits);
  if (!nodes) return false;
  const Choice before = choice_;
  const double seconds = seconds_;
  for (const ENode node : *nodes) {
    for (std::uint32_t o = 0; o < egraph_.output_count(node); ++o)
      choice_[egraph_.find(egraph_.output(node, o))] = node;
  }
  if (graph_seconds(roots)) climb(roots, passes);
  if (seconds_ < seconds) return true;
  choice_ = before;
  seconds_ = seconds;
  return true;
}

void Extraction::climb(std::span<const Value> roots, std::size_t passes) {
  const auto seconds = graph_seconds(roots);
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
        better = improve_by(other, roots) || better;
      } while (value != start);
    }
  }
  return better;
}

/// Chooses a node for all its outputs if that is better, and is undone if not.
bool Extraction::improve_by(ENode other, std::span<const Value> roots) {
  std::vector<std::pair<Value, ENode>> before;
  for (std::uint32_t o = 0; o < egraph_.output_count(other); ++o) {
    const Value output = egraph_.find(egraph_.output(other, o));
    before.emplace_back(output, choice_[output]);
    choice_[output] = other;
  }
  const auto seconds = graph_seconds(roots);
  if (seconds && *seconds < seconds_ * (1 - noise)) {
    seconds_ = *seconds;
    return true;
  }
  for (auto each = before.rbegin(); each != before.rend(); ++each) choice_[each->first] = each->second;
  return false;
}

}  // namespace rulemill::optimize
