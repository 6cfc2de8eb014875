#include "egraph/saturate.h"

#include <algorithm>

#include "runtime/error.h"
#include "runtime/interrupt.h"

namespace rulemill::egraph {

using algebra::InstanceId;

namespace {

constexpr std::size_t few_operators = 3;  // of both sides of a rule together

}  // namespace

std::uint32_t RuleIndex::add(CompiledRule rule) {
  const auto number = static_cast<std::uint32_t>(rules_.size());
  for (std::uint32_t d = 0; d < rule.directions.size(); ++d) {
    const Direction& direction = rule.directions[d];
    if (direction.found.empty()) continue;
    const auto instance = static_cast<std::uint32_t>(rule.nodes[direction.found.front()].instance);
    if (instance >= by_instance_.size()) by_instance_.resize(instance + 1);
    by_instance_[instance].push_back({number, d});
  }
  rule.number = number;
  rules_.push_back(std::move(rule));
  enabled_.push_back(true);
  return number;
}

void RuleIndex::truncate(std::uint32_t count) {
  for (std::vector<Use>& uses : by_instance_) {
    while (!uses.empty() && uses.back().rule >= count) uses.pop_back();
  }
  rules_.erase(rules_.begin() + count, rules_.end());
  enabled_.resize(count);
}

void RuleIndex::applicable(const EGraph& egraph, Reach reach, std::vector<Use>& into) const {
  into.clear();
  for (const InstanceId instance : egraph.instances()) {
    const auto index = static_cast<std::uint32_t>(instance);
    if (index >= by_instance_.size()) continue;
    for (const Use use : by_instance_[index]) {
      if (!enabled_[use.rule]) continue;
      const CompiledRule& rule = rules_[use.rule];
      if (reach == Reach::Small && rule.nodes.size() > few_operators) continue;
      const Direction& direction = rule.directions[use.direction];
      const auto occurs = [&](std::uint32_t node) { return !egraph.nodes_of(rule.nodes[node].instance).empty(); };
      if (!std::ranges::all_of(direction.found, occurs)) continue;
      if (reach != Reach::Bold && direction.grows && !std::ranges::all_of(direction.built, occurs)) continue;
      into.push_back(use);
    }
  }
  std::ranges::sort(into);
}

bool Saturation::reached(std::span<const std::pair<Value, Value>> goals) const {
  return !goals.empty() &&
         std::ranges::all_of(goals, [&](const auto& goal) { return egraph_.equal(goal.first, goal.second); });
}

/// Notes the match; whether it had not been found before.
bool Saturation::is_new(RuleIndex::Use use, const Match& match) {
  key_.assign({use.rule, use.direction});
  key_.insert(key_.end(), match.found.begin(), match.found.end());
  for (const Step& step : rules_.rule(use.rule).directions[use.direction].steps) {
    if (step.kind == Step::Kind::Variable) key_.push_back(egraph_.find(match.variables[step.from]));
  }
  return known_.insert(key_, 0).second;
}

void Saturation::postpone(RuleIndex::Use use, const Match& match) {
  if (too_large_.counts.empty() || too_large_.counts.back().first != use) too_large_.counts.emplace_back(use, 0);
  ++too_large_.counts.back().second;
  too_large_.words.insert(too_large_.words.end(), match.variables.begin(), match.variables.end());
  too_large_.words.insert(too_large_.words.end(), match.found.begin(), match.found.end());
}

/// Appends the matches of the directions in use, those that their last whole look saw left out. False if a limit of
/// one direction was met: there may be matches that nobody has looked at.
bool Saturation::find_matches(const Limits& limits) {
  const std::uint32_t now = egraph_.tick();
  bool whole = true;
  matcher_.look();
  for (const RuleIndex::Use use : uses_) {
    std::uint32_t& matched_at = matched_at_[use.rule][use.direction];
    const std::uint32_t share = std::min(matches_left_, limits.matches_each);
    std::uint32_t left = share;
    const std::uint32_t some = std::min(tries_left_, limits.tries_each);
    matcher_.allow(some);
    const CompiledRule& rule = rules_.rule(use.rule);
    matcher_.run(rule, rule.directions[use.direction], matched_at, left, matches_.words);
    if (left == 0 || matcher_.is_exhausted())
      whole = false;
    else
      matched_at = now;
    if (left != share) matches_.counts.emplace_back(use, share - left);
    matches_left_ -= share - left;
    tries_left_ -= some - matcher_.tries_left();
  }
  return whole;
}

Saturation::Outcome Saturation::run(std::span<const std::pair<Value, Value>> goals, std::uint32_t largest,
                                    const Limits& limits) {
  counts_ = {};
  applications_.clear();
  words_.clear();
  known_.clear();
  too_large_.clear();
  matched_at_.assign(rules_.size(), {});
  matcher_.match_constants(limits.rewrite_constants);
  growth_ = limits.growth;
  egraph_.rebuild();
  if (reached(goals)) return Outcome::Reached;
  matches_left_ = limits.matches;
  tries_left_ = limits.tries;
  auto reach = RuleIndex::Reach::Small;
  for (std::uint32_t iterations = 0; iterations < limits.iterations; ++iterations) {
    ++counts_.iterations;
    runtime::throw_if_interrupted("derivation");
    rules_.applicable(egraph_, reach, uses_);
    std::swap(matches_, too_large_);
    too_large_.clear();
    const std::size_t again = matches_.counts.size();
    const bool whole = find_matches(limits);
    counts_.matches = limits.matches - matches_left_;
    bool changed = false;
    std::span<const std::uint32_t> rest = matches_.words;
    for (std::size_t run = 0; run < matches_.counts.size(); ++run) {
      const auto& [use, count] = matches_.counts[run];
      const CompiledRule& rule = rules_.rule(use.rule);
      const std::size_t variables = rule.variables.size(), found = rule.directions[use.direction].found.size();
      for (std::uint32_t i = 0; i < count; ++i) {
        const Match match{rest.first(variables), rest.subspan(variables, found)};
        rest = rest.subspan(variables + found);
        if (run >= again && !is_new(use, match)) continue;
        const Result result = apply(use, match, largest);
        if (result == Result::TooLarge) postpone(use, match);
        if (result != Result::United) continue;
        changed = true;
        if (reached(goals)) return Outcome::Reached;
        if (egraph_.node_count() > limits.nodes) return Outcome::NodeLimit;
      }
    }
    egraph_.rebuild();
    if (reached(goals)) return Outcome::Reached;
    if (matches_left_ == 0 || tries_left_ == 0) return Outcome::MatchLimit;
    if (changed) continue;
    if (reach == RuleIndex::Reach::Bold) return whole ? Outcome::Saturated : Outcome::MatchLimit;
    reach = RuleIndex::Reach{static_cast<std::uint8_t>(static_cast<std::uint8_t>(reach) + 1)};
    iterations = 0;
  }
  return Outcome::IterationLimit;
}

Saturation::Result Saturation::apply(RuleIndex::Use use, const Match& match, std::uint32_t largest) {
  const CompiledRule& rule = rules_.rule(use.rule);
  const Direction& direction = rule.directions[use.direction];
  if (!binder_.bind(rule, direction, egraph_, match)) return Result::Refused;
  planned_.resize(rule.registers);
  for (std::size_t v = 0; v < rule.variables.size(); ++v) planned_[v].value = match.variables[v];
  for (std::size_t i = 0; i < direction.found.size(); ++i) {
    const PatternNode& node = rule.nodes[direction.found[i]];
    for (std::uint32_t o = 0; o < node.outputs; ++o) {
      planned_[node.first_output + o].value = egraph_.output(match.found[i] / 2, o);
    }
  }
  if (const Result refusal = plan(rule, direction, largest); refusal != Result::United) return refusal;
  build(rule, direction);

  const auto reason = static_cast<std::uint32_t>(applications_.size());
  bool united = false;
  for (std::size_t i = 0; i < direction.left.size(); ++i) {
    united |= egraph_.unite(planned_[direction.left[i]].value, planned_[direction.right[i]].value, reason);
  }
  if (!united) return Result::NothingNew;
  applications_.push_back({use, static_cast<std::uint32_t>(words_.size())});
  words_.insert(words_.end(), match.variables.begin(), match.variables.end());
  for (const SizeId size : binder_.values()) words_.push_back(static_cast<std::uint32_t>(size));
  words_.insert(words_.end(), match.found.begin(), match.found.end());
  words_.insert(words_.end(), built_.begin(), built_.end());
  return Result::United;
}

void Saturation::evaluate_sizes(const PatternNode& node) {
  node_sizes_.clear();
  for (const SizePattern& size : node.sizes) node_sizes_.push_back(binder_.evaluate(size));
}

/// Checks the whole right side before any node of it is added. United: it may be built.
Saturation::Result Saturation::plan(const CompiledRule& rule, const Direction& direction, std::uint32_t largest) {
  for (const std::uint32_t index : direction.built) {
    Result refusal{};
    if (!plan_node(rule, index, largest, refusal)) return refusal;
  }
  const auto shape = [&](std::uint32_t reg) {
    return planned_[reg].value == nothing ? planned_[reg].shape : egraph_.shape(planned_[reg].value);
  };
  const auto smallest = [&](std::uint32_t reg) {
    return planned_[reg].value == nothing ? planned_[reg].smallest : egraph_.smallest(planned_[reg].value);
  };
  for (std::size_t i = 0; i < direction.left.size(); ++i) {
    if (shape(direction.left[i]) != shape(direction.right[i])) return Result::Refused;
    if (smallest(direction.right[i]) > std::uint64_t{smallest(direction.left[i])} + growth_ &&
        count_operators_once(rule, planned_[direction.right[i]]) >
            std::uint64_t{count_operators_once(rule, planned_[direction.left[i]])} + growth_)
      return Result::TooLarge;
  }
  return Result::United;
}

bool Saturation::plan_node(const CompiledRule& rule, std::uint32_t index, std::uint32_t largest, Result& refusal) {
  const PatternNode& node = rule.nodes[index];
  evaluate_sizes(node);
  arguments_.clear();
  argument_shapes_.clear();
  bool all_there = true;
  std::uint64_t smallest = 1;
  for (const std::uint32_t argument : node.arguments) {
    const Planned& p = planned_[argument];
    const bool there = p.value != nothing;
    all_there &= there;
    arguments_.push_back(p.value);
    argument_shapes_.push_back(there ? egraph_.shape(p.value) : p.shape);
    smallest += there ? egraph_.smallest(p.value) : p.smallest;
  }
  const ENode known = all_there ? egraph_.find_node(node.instance, arguments_, node_sizes_) : nothing;
  if (known != nothing) {
    for (std::uint32_t o = 0; o < node.outputs; ++o) planned_[node.first_output + o].value = egraph_.output(known, o);
    return true;
  }
  const auto shapes = egraph_.size_table().infer(node.instance, argument_shapes_, node_sizes_);
  if (!shapes || (smallest > largest && count_operators_once(rule, {nothing, {}, 0, index}) > largest)) {
    refusal = shapes ? Result::TooLarge : Result::Refused;
    return false;
  }
  for (std::uint32_t o = 0; o < node.outputs; ++o) {
    planned_[node.first_output + o] = {nothing, (*shapes)[o], static_cast<std::uint32_t>(smallest), index};
  }
  return true;
}

/// Operators of a planned term, with the smallest terms for what is there, each counted once.
std::uint32_t Saturation::count_operators_once(const CompiledRule& rule, const Planned& term) {
  ++search_;
  counted_.resize(std::max<std::size_t>(counted_.size(), egraph_.node_count()), 0);
  counted_in_rule_.resize(std::max(counted_in_rule_.size(), rule.nodes.size()), 0);
  return count_operators(rule, term);
}

std::uint32_t Saturation::count_operators(const CompiledRule& rule, const Planned& term) {
  if (term.value != nothing) return count_operators(term.value);
  if (counted_in_rule_[term.node] == search_) return 0;
  counted_in_rule_[term.node] = search_;
  std::uint32_t count = 1;
  for (const std::uint32_t argument : rule.nodes[term.node].arguments)
    count += count_operators(rule, planned_[argument]);
  return count;
}

std::uint32_t Saturation::count_operators(Value value) {
  const ENode node = egraph_.smallest_node(value);
  if (node == nothing || counted_[node] == search_) return 0;
  counted_[node] = search_;
  std::uint32_t count = 1;
  for (const Value argument : egraph_.arguments(node)) count += count_operators(argument);
  return count;
}

/// Adds what was planned and notes which nodes the right side is made of.
void Saturation::build(const CompiledRule& rule, const Direction& direction) {
  built_.clear();
  for (const std::uint32_t index : direction.built) {
    const PatternNode& node = rule.nodes[index];
    arguments_.clear();
    for (const std::uint32_t argument : node.arguments) arguments_.push_back(planned_[argument].value);
    evaluate_sizes(node);
    const ENode added = egraph_.add_node(node.instance, arguments_, node_sizes_);
    RM_CHECK(added != nothing, "a right side that types is built");
    for (std::uint32_t o = 0; o < node.outputs; ++o) planned_[node.first_output + o].value = egraph_.output(added, o);
    const std::span<const Value> order = egraph_.arguments(added);
    const bool swapped =
        node.commutative && !(egraph_.equal(order[0], arguments_[0]) && egraph_.equal(order[1], arguments_[1]));
    built_.push_back(2 * added + (swapped ? 1 : 0));
  }
}

}  // namespace rulemill::egraph
