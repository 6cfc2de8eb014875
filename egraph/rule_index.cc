#include "egraph/rule_index.h"

#include <algorithm>
#include <array>

#include "runtime/text/error.h"

namespace rulemill::egraph {

using algebra::InstanceId;

namespace {

constexpr std::size_t few_operators = 3;  // of both sides of a rule together

/// The key of an edge. The order of the arguments of a commutative node is not known before it is matched. Arguments
/// and outputs from the 256th on count as one.
std::array<std::uint32_t, 2> edge_key(InstanceId upper, bool commutative, std::size_t argument, InstanceId lower,
                                      std::size_t output) {
  constexpr std::uint32_t number_bits = 24;
  const auto pack = [](InstanceId instance, std::size_t place) {
    const auto number = static_cast<std::uint32_t>(instance);
    RM_CHECK(number < 1u << number_bits, "an instance's number has 24 bits");
    return number | static_cast<std::uint32_t>(std::min<std::size_t>(place, 255)) << number_bits;
  };
  return {pack(upper, commutative ? 0 : argument), pack(lower, output)};
}

void sort_unique(std::vector<std::uint32_t>& numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

}  // namespace

void RuleIndex::MetNeeds::clear() {
  is_met_.assign(is_met_.size(), false);
  needs_.clear();
  updated_at_ = 0;
  known_instances_ = 0;
}

void RuleIndex::MetNeeds::add(std::uint32_t need) {
  if (has(need)) return;
  if (need >= is_met_.size()) is_met_.resize(need + 1, false);
  is_met_[need] = true;
  needs_.push_back(need);
}

std::uint32_t RuleIndex::add(CompiledRule rule) {
  const auto number = static_cast<std::uint32_t>(rules_.size());
  for (std::uint32_t d = 0; d < rule.directions.size(); ++d) {
    const Direction& direction = rule.directions[d];
    if (direction.matched_nodes.empty()) continue;
    std::vector<Need> needs, unless_expanding;
    add_needs(rule, direction, needs);
    if (direction.expands) {
      for (const std::uint32_t node : direction.applier_nodes)
        unless_expanding.push_back(need_of_instance(rule.nodes[node].instance));
    }
    group_of(rule.nodes.size() <= few_operators, std::move(needs), std::move(unless_expanding))
        .directions.push_back({number, d});
  }
  rule.number = number;
  rules_.push_back(std::move(rule));
  enabled_.push_back(true);
  return number;
}

void RuleIndex::truncate(std::uint32_t count) {
  if (count == rules_.size()) return;
  for (Group& group : groups_) {
    while (!group.directions.empty() && group.directions.back().rule >= count) group.directions.pop_back();
  }
  rules_.erase(rules_.begin() + count, rules_.end());
  enabled_.resize(count);
}

RuleIndex::Need RuleIndex::need_of_instance(InstanceId instance) {
  const std::array key{static_cast<std::uint32_t>(instance)};
  return needs_.insert(key, static_cast<Need>(needs_.size())).first;
}

void RuleIndex::add_needs(const CompiledRule& rule, const Direction& direction, std::vector<Need>& needs) {
  for (const std::uint32_t number : direction.matched_nodes) {
    const PatternNode& node = rule.nodes[number];
    needs.push_back(need_of_instance(node.instance));
    for (std::size_t a = 0; a < node.arguments.size(); ++a) {
      const std::uint32_t argument = node.arguments[a];
      const auto computes = [&](const PatternNode& below) {
        return argument >= below.first_output && argument < below.first_output + below.outputs;
      };
      const auto below = std::ranges::find_if(rule.nodes, computes);
      if (below == rule.nodes.end()) continue;  // a variable
      const auto key = edge_key(node.instance, node.commutative, a, below->instance, argument - below->first_output);
      needs.push_back(needs_.insert(key, static_cast<Need>(needs_.size())).first);
      const auto upper = static_cast<std::size_t>(node.instance);
      if (upper >= has_edges_.size()) has_edges_.resize(upper + 1, false);
      has_edges_[upper] = true;
    }
  }
}

RuleIndex::Group& RuleIndex::group_of(bool small, std::vector<Need> needs, std::vector<Need> unless_expanding) {
  sort_unique(needs);
  sort_unique(unless_expanding);
  std::vector<std::uint32_t> key{small ? 1u : 0u, static_cast<std::uint32_t>(needs.size())};
  key.insert(key.end(), needs.begin(), needs.end());
  key.insert(key.end(), unless_expanding.begin(), unless_expanding.end());
  const auto [number, is_new] = groups_by_needs_.insert(key, static_cast<std::uint32_t>(groups_.size()));
  if (is_new) {
    groups_by_need_.resize(needs_.size());
    const Need rarest = *std::ranges::min_element(needs, {}, [&](Need need) { return groups_by_need_[need].size(); });
    groups_by_need_[rarest].push_back(number);
    groups_.push_back({small, std::move(needs), std::move(unless_expanding), {}});
  }
  return groups_[number];
}

void RuleIndex::update(const EGraph& egraph, const ClassIndex& classes, std::uint32_t now, MetNeeds& met) const {
  for (; met.known_instances_ < egraph.instances().size(); ++met.known_instances_) {
    const std::array key{static_cast<std::uint32_t>(egraph.instances()[met.known_instances_])};
    if (const Need need = needs_.find(key); need != KeyTable::none) met.add(need);
  }
  for (ENodeId node = 0; node < egraph.node_count(); ++node) {
    const auto instance = static_cast<std::size_t>(egraph.instance(node));
    if (instance < has_edges_.size() && has_edges_[instance] && !egraph.is_duplicate(node))
      update_edges(egraph, classes, node, met.updated_at_, met);
  }
  met.updated_at_ = now;
}

void RuleIndex::update_edges(const EGraph& egraph, const ClassIndex& classes, ENodeId node, std::uint32_t since,
                             MetNeeds& met) const {
  const bool is_new = egraph.added_at(node) >= since;
  const std::span<const EClassId> arguments = egraph.arguments(node);
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    if (!is_new && egraph.changed_at(arguments[a]) < since) continue;
    std::array<std::uint32_t, 2> last{KeyTable::none, KeyTable::none};
    for (const EClassId member : classes.ids(egraph, arguments[a])) {
      const auto key = edge_key(egraph.instance(node), egraph.is_commutative(node), a,
                                egraph.instance(egraph.node_of(member)), egraph.output_of(member));
      if (key == last) continue;
      last = key;
      if (const Need need = needs_.find(key); need != KeyTable::none) met.add(need);
    }
  }
}

void RuleIndex::find_applicable(const MetNeeds& met, RulePhase phase, std::vector<DirectionId>& result) const {
  const auto is_met = [&](Need need) { return met.has(need); };
  result.clear();
  for (const Need need : met.needs_) {
    if (need >= groups_by_need_.size()) continue;
    for (const std::uint32_t number : groups_by_need_[need]) {
      const Group& group = groups_[number];
      if (phase == RulePhase::Small && !group.small) continue;
      if (!std::ranges::all_of(group.needs, is_met)) continue;
      if (phase != RulePhase::Expanding && !std::ranges::all_of(group.unless_expanding, is_met)) continue;
      for (const DirectionId id : group.directions) {
        if (enabled_[id.rule]) result.push_back(id);
      }
    }
  }
  std::ranges::sort(result);
}

}  // namespace rulemill::egraph
