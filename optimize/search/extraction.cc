#include "optimize/search/extraction.h"

#include <limits>

#include "optimize/search/search_options.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

using egraph::EClassId;
using egraph::ENodeId;
using egraph::no_id;

namespace {

/// The cost of free nodes. It is positive, so that no selection depends on itself and the smaller of two free terms is
/// selected.
constexpr double free_seconds = 1e-12;

}  // namespace

Extraction::Extraction(const egraph::EGraph& egraph, const NodePrices& prices)
    : egraph_(egraph),
      prices_(prices),
      variable_(egraph.id_count(), no_id),
      selection_(egraph.id_count(), no_id),
      marks_(egraph.id_count()),
      ordered_(egraph.node_count()) {
  for (EClassId value = 0; value < egraph_.id_count(); ++value) {
    EClassId& variable = variable_[egraph_.find(value)];
    if (egraph_.node_of(value) == no_id && variable == no_id) variable = value;
  }
  for (ENodeId node = 0; node < egraph_.node_count(); ++node) {
    const bool free = egraph_.is_duplicate(node) || egraph_.is_constant_node(node);
    cost_.push_back(free ? free_seconds : free_seconds + prices_.isolated(node));
  }
  select_cheapest_trees();
}

/// tree(class) = min over its nodes of cost(node) + Σ tree(argument), to a fixed point; variables cost nothing. All
/// node costs are positive, so the selection has no cycles.
void Extraction::select_cheapest_trees() {
  tree_seconds_.assign(egraph_.id_count(), std::numeric_limits<double>::infinity());
  for (EClassId value = 0; value < egraph_.id_count(); ++value) {
    if (variable_[value] != no_id) tree_seconds_[value] = 0;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (ENodeId node = 0; node < egraph_.node_count(); ++node) {
      if (egraph_.is_duplicate(node)) continue;
      double seconds = cost_[node];
      for (const EClassId argument : egraph_.arguments(node)) seconds += tree_seconds_[egraph_.find(argument)];
      for (std::uint32_t o = 0; o < egraph_.output_count(node); ++o) {
        const EClassId output = egraph_.find(egraph_.output(node, o));
        if (seconds >= tree_seconds_[output]) continue;
        tree_seconds_[output] = seconds;
        selection_[output] = node;
        changed = true;
      }
    }
  }
}

/// Appends the nodes that the value needs, arguments first. Returns false if the selection is cyclic or incomplete.
bool Extraction::visit(EClassId value, std::vector<ENodeId>& order) const {
  const EClassId at = egraph_.find(value);
  Mark& mark = marks_[at];
  const bool known = mark.traversal == traversal_;
  if (variable_[at] != no_id || (known && !mark.open)) return true;
  const ENodeId node = selection_[at];
  if (known || node == no_id) return false;
  mark = {traversal_, true, 0, no_id};
  for (const EClassId argument : egraph_.arguments(node)) {
    if (!visit(argument, order)) return false;
  }
  mark.open = false;
  if (ordered_[node] != traversal_) order.push_back(node);
  ordered_[node] = traversal_;
  return true;
}

std::optional<double> Extraction::graph_seconds(std::span<const EClassId> roots) const {
  ++traversal_;
  std::vector<ENodeId> order;
  for (const EClassId root : roots) {
    if (!visit(root, order)) return std::nullopt;
  }
  return graph_price(order, roots);
}

double Extraction::graph_price(const std::vector<ENodeId>& order, std::span<const EClassId> roots) const {
  const auto use = [&](EClassId value, ENodeId user) {
    Mark& mark = marks_[egraph_.find(value)];
    ++mark.uses;
    if (user != no_id) mark.user = user;
  };
  for (const EClassId root : roots) use(root, no_id);
  for (const ENodeId node : order) {
    for (const EClassId argument : egraph_.arguments(node)) use(argument, node);
  }
  const auto only_user = [&](ENodeId node) {
    if (node == no_id || egraph_.output_count(node) != 1) return no_id;
    const Mark& mark = marks_[egraph_.find(egraph_.output(node, 0))];
    return mark.uses == 1 ? mark.user : no_id;
  };
  const auto exclusive_argument = [&](ENodeId node) {
    if (node == no_id || egraph_.arguments(node).empty()) return no_id;
    const EClassId first = egraph_.find(egraph_.arguments(node)[0]);
    const ENodeId argument = variable_[first] == no_id ? selection_[first] : no_id;
    return only_user(argument) == node ? argument : no_id;
  };
  double seconds = 0;
  for (const ENodeId node : order) {
    if (cost_[node] == free_seconds) {
      seconds += free_seconds;
      continue;
    }
    const ENodeId argument = exclusive_argument(node);
    seconds += prices_.in_graph({node, argument, exclusive_argument(argument), only_user(node), *this}, cost_[node]);
  }
  return seconds;
}

std::vector<ENodeId> Extraction::order(std::span<const EClassId> roots) const {
  ++traversal_;
  std::vector<ENodeId> order;
  for (const EClassId root : roots) RM_CHECK(visit(root, order), "the selection is acyclic and complete");
  return order;
}

void Extraction::select(ENodeId node) {
  for (std::uint32_t o = 0; o < egraph_.output_count(node); ++o)
    selection_[egraph_.find(egraph_.output(node, o))] = node;
}

void Extraction::extract(std::span<const EClassId> roots, ENodeId original_end, std::size_t passes) {
  hill_climb(roots, passes);
  const Selection from_trees = selection_;
  const double seconds = seconds_;
  for (ENodeId node = original_end; node-- > 0;) {
    if (!egraph_.is_duplicate(node)) select(node);
  }
  if (graph_seconds(roots)) hill_climb(roots, passes);
  if (seconds < seconds_) {
    selection_ = from_trees;
    seconds_ = seconds;
  }
}

/// The integer program has the costs of isolated nodes only; hill climbing adds the effects of neighbors.
bool Extraction::extract_with_ilp(std::span<const EClassId> roots, const IlpLimits& limits, std::size_t passes) {
  const auto needs_no_node = [&](EClassId value) {
    return variable_[value] != no_id || egraph_.is_constant_class(value);
  };
  const auto nodes = solve_extraction_ilp({egraph_, cost_, needs_no_node, roots}, limits);
  if (!nodes) return false;
  const Selection before = selection_;
  const double seconds = seconds_;
  for (const ENodeId node : *nodes) select(node);
  if (graph_seconds(roots)) hill_climb(roots, passes);
  if (seconds_ < seconds) return true;
  selection_ = before;
  seconds_ = seconds;
  return true;
}

void Extraction::hill_climb(std::span<const EClassId> roots, std::size_t passes) {
  const auto seconds = graph_seconds(roots);
  RM_CHECK(seconds.has_value(), "the selection is acyclic and complete");
  seconds_ = *seconds;
  for (std::size_t pass = 0; pass < passes && improve(roots); ++pass) {
  }
}

/// Tries each other node of each class in use, and selects it if the graph becomes cheaper.
bool Extraction::improve(std::span<const EClassId> roots) {
  bool better = false;
  for (const ENodeId used : order(roots)) {
    for (std::uint32_t o = 0; o < egraph_.output_count(used); ++o) {
      const EClassId start = egraph_.find(egraph_.output(used, o));
      EClassId value = start;
      do {
        const ENodeId other = egraph_.node_of(value);
        value = egraph_.next_in_class(value);
        if (other == no_id || egraph_.is_duplicate(other) || selection_[start] == other) continue;
        better = select_if_cheaper(other, roots) || better;
      } while (value != start);
    }
  }
  return better;
}

/// Selects a node for all its outputs, and undoes it unless the graph becomes cheaper.
bool Extraction::select_if_cheaper(ENodeId other, std::span<const EClassId> roots) {
  std::vector<std::pair<EClassId, ENodeId>> before;
  for (std::uint32_t o = 0; o < egraph_.output_count(other); ++o) {
    const EClassId output = egraph_.find(egraph_.output(other, o));
    before.emplace_back(output, selection_[output]);
    selection_[output] = other;
  }
  const auto seconds = graph_seconds(roots);
  if (seconds && *seconds < seconds_ * (1 - cost_rounding)) {
    seconds_ = *seconds;
    return true;
  }
  for (auto each = before.rbegin(); each != before.rend(); ++each) selection_[each->first] = each->second;
  return false;
}

}  // namespace rulemill::optimize
