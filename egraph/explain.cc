#include "egraph/explain.h"

#include "runtime/text/error.h"

namespace rulemill::egraph {

Explainer::Explainer(const Saturation& saturation, const EGraph& egraph)
    : saturation_(saturation),
      egraph_(egraph),
      explained_(egraph.id_count(), false),
      visited_by_(egraph.id_count(), 0) {}

void Explainer::add(EClassId a, EClassId b) {
  RM_CHECK(egraph_.are_equal(a, b), "only what is equal can be explained");
  pending_.emplace_back(a, b);
  while (!pending_.empty()) {
    const auto [x, y] = pending_.back();
    pending_.pop_back();
    explain_path(x, y);
  }
}

std::vector<std::uint32_t> Explainer::applications() const {
  std::vector<std::uint32_t> result;
  for (std::uint32_t i = 0; i < used_.size(); ++i) {
    if (used_[i]) result.push_back(i);
  }
  return result;
}

/// Explains the path between two ids of one tree: from both up to their lowest common ancestor.
void Explainer::explain_path(EClassId a, EClassId b) {
  if (a == b) return;
  ++path_number_;
  for (EClassId at = a; at != no_id; at = egraph_.edge(at).to) visited_by_[at] = path_number_;
  EClassId common_ancestor = b;
  while (visited_by_[common_ancestor] != path_number_) {
    explain_edge(common_ancestor);
    common_ancestor = egraph_.edge(common_ancestor).to;
    RM_CHECK(common_ancestor != no_id, "equal values are in one tree of the proof forest");
  }
  for (EClassId at = a; at != common_ancestor; at = egraph_.edge(at).to) explain_edge(at);
}

void Explainer::explain_edge(EClassId from) {
  if (explained_[from]) return;
  explained_[from] = true;
  const EGraph::Edge& edge = egraph_.edge(from);
  if (edge.reason == EGraph::Edge::premise) return;
  const bool swapped = edge.reason == EGraph::Edge::swapped_congruence;
  if (!swapped && edge.reason != EGraph::Edge::congruence) {
    explain_application(edge.reason);
    return;
  }
  const auto a = egraph_.arguments(egraph_.node_of(from)), b = egraph_.arguments(egraph_.node_of(edge.to));
  for (std::size_t i = 0; i < a.size(); ++i) pending_.emplace_back(a[i], b[swapped ? 1 - i : i]);
}

/// Records the application, and explains why each matched node has the arguments that the pattern requires.
void Explainer::explain_application(std::uint32_t number) {
  if (number >= used_.size()) used_.resize(number + 1, false);
  if (used_[number]) return;
  used_[number] = true;
  const Application& application = saturation_.application(number);
  const CompiledRule& rule = saturation_.rules().rule(application.direction.rule);
  const Direction& direction = rule.directions[application.direction.index];
  const std::span<const std::uint32_t> words = saturation_.words(application);
  const std::span<const std::uint32_t> nodes = words.subspan(rule.variables.size() + rule.sizes.size());

  std::vector<EClassId> registers(rule.registers, no_id);
  std::copy_n(words.begin(), rule.variables.size(), registers.begin());
  std::vector<std::uint32_t> pattern_nodes = direction.matched_nodes;
  pattern_nodes.insert(pattern_nodes.end(), direction.applier_nodes.begin(), direction.applier_nodes.end());
  for (std::size_t i = 0; i < pattern_nodes.size(); ++i) {
    const PatternNode& pattern = rule.nodes[pattern_nodes[i]];
    for (std::uint32_t o = 0; o < pattern.outputs; ++o)
      registers[pattern.first_output + o] = egraph_.output(nodes[i] / 2, o);
  }
  for (std::size_t i = 0; i < pattern_nodes.size(); ++i) {
    const PatternNode& pattern = rule.nodes[pattern_nodes[i]];
    const std::span<const EClassId> arguments = egraph_.arguments(nodes[i] / 2);
    const bool swapped = nodes[i] % 2 == 1;
    for (std::size_t a = 0; a < arguments.size(); ++a)
      pending_.emplace_back(arguments[swapped ? 1 - a : a], registers[pattern.arguments[a]]);
  }
}

}  // namespace rulemill::egraph
