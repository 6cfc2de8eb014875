#include "egraph/match.h"

#include <algorithm>

#include "algebra/terms/match_sizes.h"
#include "runtime/process/interrupt.h"

namespace rulemill::egraph {

void DeltaIndex::refresh() {
  levels_ = 0;
  nodes_.clear();
}

/// A class changes when it gets a member or when one of its nodes changes.
void DeltaIndex::add_level() {
  const std::uint32_t count = egraph_.node_count();
  if (levels_ == 0) {
    classes_.resize(egraph_.id_count());
    for (EClassId id = 0; id < egraph_.id_count(); ++id) classes_[id] = egraph_.changed_at(id);
    for (ENodeId node = 0; node < count; ++node) nodes_.push_back(egraph_.added_at(node));
    ++levels_;
    return;
  }
  nodes_.resize(nodes_.size() + count);
  std::uint32_t* const level = nodes_.data() + std::size_t{levels_} * count;
  for (ENodeId node = 0; node < count; ++node) {
    level[node] = egraph_.added_at(node);
    if (egraph_.is_duplicate(node)) continue;
    for (const EClassId argument : egraph_.arguments(node))
      level[node] = std::max(level[node], classes_[egraph_.find(argument)]);
  }
  for (ENodeId node = 0; node < count; ++node) {
    if (egraph_.is_duplicate(node)) continue;
    for (std::uint32_t i = 0; i < egraph_.output_count(node); ++i) {
      std::uint32_t& of_class = classes_[egraph_.find(egraph_.output(node, i))];
      of_class = std::max(of_class, level[node]);
    }
  }
  ++levels_;
}

using algebra::Poly;

namespace {

constexpr std::uint32_t unsolvable = 0xfffffffe;
constexpr std::uint32_t node_visits_per_interrupt_check = 1 << 16;

}  // namespace

void Matcher::run(const CompiledRule& rule, const Direction& direction, std::uint32_t since, std::uint32_t& budget,
                  std::vector<std::uint32_t>& result) {
  since_ = since;
  has_new_node_ = false;
  rule_ = &rule;
  direction_ = &direction;
  budget_ = &budget;
  result_ = &result;
  registers_.assign(rule.registers, no_id);
  matched_nodes_.clear();
  match_from(0);
}

void Matcher::match_from(std::size_t index) {
  if (*budget_ == 0) return;
  if (index == direction_->steps.size()) {
    --*budget_;
    result_->insert(result_->end(), registers_.begin(), registers_.begin() + rule_->variables.size());
    result_->insert(result_->end(), matched_nodes_.begin(), matched_nodes_.end());
    return;
  }
  const PatternStep& s = direction_->steps[index];
  switch (s.kind) {
    case PatternStep::Kind::Scan:
      for (const ENodeId node : egraph_.nodes_of(rule_->nodes[s.node].instance)) {
        if (egraph_.is_duplicate(node)) continue;
        if (index == 0 && !match_constants_ && egraph_.is_constant_class(egraph_.output(node, 0))) continue;
        const bool had_new_node = has_new_node_;
        has_new_node_ = had_new_node || is_new(s, node);
        if (has_new_node_ || index != direction_->last_scan) try_node(index, node);
        has_new_node_ = had_new_node;
      }
      break;
    case PatternStep::Kind::Bind: {
      const EClassId start = registers_[s.from];
      for (const EClassId member : classes_.ids(egraph_, start, rule_->nodes[s.node].instance)) {
        if (egraph_.output_of(member) != s.output) continue;
        try_node(index, egraph_.node_of(member));
        registers_[s.from] = start;
      }
      break;
    }
    case PatternStep::Kind::Variable:
      for (EClassId id = 0; id < egraph_.id_count(); ++id) {
        if (!egraph_.is_canonical(id)) continue;
        registers_[s.from] = id;
        match_from(index + 1);
      }
      break;
  }
}

/// True if the part of the e-graph that the direction matches from this node down has changed, or a class that is
/// compared with its outputs.
bool Matcher::is_new(const PatternStep& scan, ENodeId node) {
  if (delta_.last_change(node, direction_->depth) >= since_) return true;
  for (std::uint32_t i = 0; i < scan.output_bound.size(); ++i) {
    if (scan.output_bound[i] && egraph_.changed_at(egraph_.output(node, i)) >= since_) return true;
  }
  return false;
}

void Matcher::try_node(std::size_t index, ENodeId node) {
  if (node_visits_left_ == 0) return;
  if (--node_visits_left_ % node_visits_per_interrupt_check == 0) runtime::throw_if_interrupted("derivation");
  const PatternStep& s = direction_->steps[index];
  const PatternNode& pattern = rule_->nodes[s.node];
  if (egraph_.arguments(node).size() != pattern.arguments.size()) return;
  for (std::uint32_t i = 0; i < pattern.outputs; ++i) {
    if (s.output_bound[i] && !egraph_.are_equal(registers_[pattern.first_output + i], egraph_.output(node, i))) return;
  }
  // Not undone on backtracking: later comparisons read only the class, which is the same either way.
  for (std::uint32_t i = 0; i < pattern.outputs; ++i) registers_[pattern.first_output + i] = egraph_.output(node, i);
  try_arguments(index, node, false);
  if (pattern.commutative && !egraph_.are_equal(egraph_.arguments(node)[0], egraph_.arguments(node)[1]))
    try_arguments(index, node, true);
}

void Matcher::try_arguments(std::size_t index, ENodeId node, bool swapped) {
  const PatternStep& s = direction_->steps[index];
  const PatternNode& pattern = rule_->nodes[s.node];
  const std::span<const EClassId> arguments = egraph_.arguments(node);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!assign(pattern.arguments[i], arguments[swapped ? 1 - i : i], s.bound[i])) return;
  }
  matched_nodes_.push_back(2 * node + (swapped ? 1 : 0));
  match_from(index + 1);
  matched_nodes_.pop_back();
}

bool Matcher::assign(std::uint32_t reg, EClassId id, bool bound) {
  if (bound) return egraph_.are_equal(registers_[reg], id);
  registers_[reg] = id;
  return true;
}

bool SizeBinder::bind(const CompiledRule& rule, const Direction& direction, const EGraph& egraph, const Match& match) {
  values_.assign(rule.sizes.size(), SizeId{});
  known_.assign(rule.sizes.size(), false);
  compound_.clear();
  for (std::size_t v = 0; v < rule.variables.size(); ++v) {
    const std::vector<SizePattern>& pattern = rule.variables[v];
    if (match.variables[v] == no_id) return false;
    const std::span<const SizeId> dims = sizes_.dims(egraph.shape(match.variables[v]));
    if (dims.size() != pattern.size()) return false;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (!bind_size(pattern[d], dims[d])) return false;
    }
  }
  for (std::size_t i = 0; i < match.matched_nodes.size(); ++i) {
    const std::span<const SizeId> actual = egraph.sizes(match.matched_nodes[i] / 2);
    const std::vector<SizePattern>& pattern = rule.nodes[direction.matched_nodes[i]].sizes;
    for (std::size_t j = 0; j < actual.size(); ++j) {
      if (!bind_size(pattern[j], actual[j])) return false;
    }
  }
  if (direction.needs_solver && !solve(rule)) return false;
  for (const auto& [pattern, actual] : compound_) {
    if (evaluate(*pattern) != actual) return false;
  }
  return std::ranges::all_of(rule.condition, [&](const PatternCondition& condition) {
    const SizeId left = evaluate(condition.left);
    return sizes_.holds(condition.relation, left, evaluate(condition.right));
  });
}

bool SizeBinder::bind_size(const SizePattern& pattern, SizeId actual) {
  switch (pattern.kind) {
    case SizePattern::Kind::Number:
      return pattern.size == actual;
    case SizePattern::Kind::Slot:
      if (known_[pattern.slot]) return values_[pattern.slot] == actual;
      known_[pattern.slot] = true;
      values_[pattern.slot] = actual;
      return true;
    case SizePattern::Kind::Compound:
      compound_.emplace_back(&pattern, actual);
      return true;
  }
  return false;
}

/// Solves for the sizes that occur only in compound dimensions, and checks that they are at least 1. Caches solutions
/// by the known values.
bool SizeBinder::solve(const CompiledRule& rule) {
  key_.assign(1, rule.number);
  for (std::size_t s = 0; s < values_.size(); ++s)
    key_.push_back(known_[s] ? static_cast<std::uint32_t>(values_[s]) : KeyTable::none);
  for (const auto& [pattern, actual] : compound_) {
    key_.push_back(static_cast<std::uint32_t>(pattern->size));
    key_.push_back(static_cast<std::uint32_t>(actual));
  }
  std::uint32_t first = solutions_.find(key_);
  if (first == KeyTable::none) {
    const auto solution = solve_uncached(rule);
    first = solution ? static_cast<std::uint32_t>(solved_sizes_.size()) : unsolvable;
    if (solution) solved_sizes_.insert(solved_sizes_.end(), solution->begin(), solution->end());
    solutions_.insert(key_, first);
  }
  if (first == unsolvable) return false;
  for (std::size_t s = 0; s < values_.size(); ++s) {
    if (known_[s]) continue;
    values_[s] = solved_sizes_[first + s];
    if (!sizes_.is_always_positive(values_[s]) && !sizes_.is_nonnegative(sizes_.poly(values_[s]) - 1)) return false;
  }
  return true;
}

std::optional<std::vector<SizeId>> SizeBinder::solve_uncached(const CompiledRule& rule) const {
  std::vector<std::pair<Poly, Poly>> equations;
  for (std::size_t s = 0; s < values_.size(); ++s) {
    if (known_[s]) equations.emplace_back(Poly(rule.sizes[s]), sizes_.poly(values_[s]));
  }
  for (const auto& [pattern, actual] : compound_)
    equations.emplace_back(sizes_.poly(pattern->size), sizes_.poly(actual));
  std::vector<algebra::SizeCondition> condition;
  for (const PatternCondition& each : rule.condition)
    condition.push_back({each.relation, sizes_.poly(each.left.size), sizes_.poly(each.right.size)});
  const auto solution = algebra::match_sizes(equations, sizes_.symbols(), condition);
  if (!solution) return std::nullopt;
  std::vector<SizeId> values;
  for (const algebra::Atom size : rule.sizes) {
    const auto matched_nodes = solution->find(size);
    if (matched_nodes == solution->end()) return std::nullopt;
    values.push_back(sizes_.intern(matched_nodes->second));
  }
  return values;
}

void SizeBinder::clear() {
  solutions_.clear();
  solved_sizes_.clear();
}

SizeId SizeBinder::evaluate(const SizePattern& pattern) {
  switch (pattern.kind) {
    case SizePattern::Kind::Number:
      return pattern.size;
    case SizePattern::Kind::Slot:
      return values_[pattern.slot];
    case SizePattern::Kind::Compound:
      break;
  }
  operands_.clear();
  for (const std::uint32_t slot : pattern.slots) operands_.push_back(values_[slot]);
  return sizes_.substitute(pattern.size, pattern.atoms, operands_);
}

}  // namespace rulemill::egraph
