#include "egraph/explain.h"

#include "runtime/error.h"

namespace rulemill::egraph {

Explainer::Explainer(const Saturation& saturation, const EGraph& egraph)
    : saturation_(saturation),
      egraph_(egraph),
      explained_(egraph.value_count(), false),
      on_path_(egraph.value_count(), 0) {}

void Explainer::add(Value a, Value b) {
  RM_CHECK(egraph_.equal(a, b), "only what is equal can be explained");
  open_.emplace_back(a, b);
  while (!open_.empty()) {
    const auto [x, y] = open_.back();
    open_.pop_back();
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

/// The path between two values of one tree: up from both to where they meet.
void Explainer::explain_path(Value a, Value b) {
  if (a == b) return;
  ++search_;
  for (Value at = a; at != nothing; at = egraph_.edge(at).to) on_path_[at] = search_;
  Value meeting = b;
  while (on_path_[meeting] != search_) {
    explain_edge(meeting);
    meeting = egraph_.edge(meeting).to;
    RM_CHECK(meeting != nothing, "equal values are in one tree of the proof forest");
  }
  for (Value at = a; at != meeting; at = egraph_.edge(at).to) explain_edge(at);
}

void Explainer::explain_edge(Value from) {
  if (explained_[from]) return;
  explained_[from] = true;
  const EGraph::Edge& edge = egraph_.edge(from);
  const bool swapped = edge.reason == EGraph::Edge::swapped_congruence;
  if (!swapped && edge.reason != EGraph::Edge::congruence) {
    explain_application(edge.reason);
    return;
  }
  const auto a = egraph_.arguments(egraph_.node_of(from)), b = egraph_.arguments(egraph_.node_of(edge.to));
  for (std::size_t i = 0; i < a.size(); ++i) open_.emplace_back(a[i], b[swapped ? 1 - i : i]);
}

/// The equation itself, and that each node met by the rule's pattern has the arguments that the pattern says.
void Explainer::explain_application(std::uint32_t number) {
  if (number >= used_.size()) used_.resize(number + 1, false);
  if (used_[number]) return;
  used_[number] = true;
  const Application& application = saturation_.application(number);
  const CompiledRule& rule = saturation_.rules().rule(application.use.rule);
  const Direction& direction = rule.directions[application.use.direction];
  const std::span<const std::uint32_t> words = saturation_.words(application);
  const std::span<const std::uint32_t> nodes = words.subspan(rule.variables.size() + rule.sizes.size());

  std::vector<Value> registers(rule.registers, nothing);
  std::copy_n(words.begin(), rule.variables.size(), registers.begin());
  std::vector<std::uint32_t> pattern_nodes = direction.found;
  pattern_nodes.insert(pattern_nodes.end(), direction.built.begin(), direction.built.end());
  for (std::size_t i = 0; i < pattern_nodes.size(); ++i) {
    const PatternNode& pattern = rule.nodes[pattern_nodes[i]];
    for (std::uint32_t o = 0; o < pattern.outputs; ++o) {
      registers[pattern.first_output + o] = egraph_.output(nodes[i] / 2, o);
    }
  }
  for (std::size_t i = 0; i < pattern_nodes.size(); ++i) {
    const PatternNode& pattern = rule.nodes[pattern_nodes[i]];
    const std::span<const Value> arguments = egraph_.arguments(nodes[i] / 2);
    const bool swapped = nodes[i] % 2 == 1;
    for (std::size_t a = 0; a < arguments.size(); ++a) {
      open_.emplace_back(arguments[swapped ? 1 - a : a], registers[pattern.arguments[a]]);
    }
  }
}

}  // namespace rulemill::egraph
