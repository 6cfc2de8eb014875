#include "egraph/match.h"

#include <algorithm>

#include "runtime/interrupt.h"

namespace rulemill::egraph {

using algebra::Poly;

namespace {

constexpr std::uint32_t unsolvable = 0xfffffffe;
constexpr std::uint32_t tries_between_looks = 1 << 16;

}  // namespace

void Matcher::run(const CompiledRule& rule, const Direction& direction, std::uint32_t since, std::uint32_t& budget,
                  std::vector<std::uint32_t>& into) {
  since_ = since;
  fresh_ = false;
  rule_ = &rule;
  direction_ = &direction;
  budget_ = &budget;
  into_ = &into;
  registers_.assign(rule.registers, nothing);
  found_.clear();
  step(0);
}

void Matcher::step(std::size_t index) {
  if (*budget_ == 0) return;
  if (index == direction_->steps.size()) {
    --*budget_;
    into_->insert(into_->end(), registers_.begin(), registers_.begin() + rule_->variables.size());
    into_->insert(into_->end(), found_.begin(), found_.end());
    return;
  }
  const Step& s = direction_->steps[index];
  switch (s.kind) {
    case Step::Kind::Scan:
      for (const ENode node : egraph_.nodes_of(rule_->nodes[s.node].instance)) {
        if (egraph_.is_duplicate(node)) continue;
        if (index == 0 && !constants_ && egraph_.constant(egraph_.output(node, 0))) continue;
        const bool others_are_fresh = fresh_;
        fresh_ = others_are_fresh || is_fresh(s, node);
        if (fresh_ || index != direction_->last_scan) try_node(index, node);
        fresh_ = others_are_fresh;
      }
      break;
    case Step::Kind::Bind: {
      const Value start = registers_[s.from];
      for (const Value member : classes_.values(egraph_, start, rule_->nodes[s.node].instance)) {
        if (egraph_.output_of(member) != s.output) continue;
        try_node(index, egraph_.node_of(member));
        registers_[s.from] = start;
      }
      break;
    }
    case Step::Kind::Variable:
      for (Value value = 0; value < egraph_.value_count(); ++value) {
        if (!egraph_.is_class(value)) continue;
        registers_[s.from] = value;
        step(index + 1);
      }
      break;
  }
}

/// Whether what the direction sees from this node down has changed, or what is compared with what it gives.
bool Matcher::is_fresh(const Step& scan, ENode node) {
  if (recency_.of(node, direction_->depth) >= since_) return true;
  for (std::uint32_t i = 0; i < scan.output_bound.size(); ++i) {
    if (scan.output_bound[i] && egraph_.changed_at(egraph_.output(node, i)) >= since_) return true;
  }
  return false;
}

void Matcher::try_node(std::size_t index, ENode node) {
  if (tries_left_ == 0) return;
  if (--tries_left_ % tries_between_looks == 0) runtime::throw_if_interrupted("derivation");
  const Step& s = direction_->steps[index];
  const PatternNode& pattern = rule_->nodes[s.node];
  if (egraph_.arguments(node).size() != pattern.arguments.size()) return;
  for (std::uint32_t i = 0; i < pattern.outputs; ++i) {
    if (s.output_bound[i] && !egraph_.equal(registers_[pattern.first_output + i], egraph_.output(node, i))) return;
  }
  // Values that later comparisons read are the same class either way, so what is written here need not be undone.
  for (std::uint32_t i = 0; i < pattern.outputs; ++i) registers_[pattern.first_output + i] = egraph_.output(node, i);
  try_arguments(index, node, false);
  if (pattern.commutative && !egraph_.equal(egraph_.arguments(node)[0], egraph_.arguments(node)[1])) {
    try_arguments(index, node, true);
  }
}

void Matcher::try_arguments(std::size_t index, ENode node, bool swapped) {
  const Step& s = direction_->steps[index];
  const PatternNode& pattern = rule_->nodes[s.node];
  const std::span<const Value> arguments = egraph_.arguments(node);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!assign(pattern.arguments[i], arguments[swapped ? 1 - i : i], s.bound[i])) return;
  }
  found_.push_back(2 * node + (swapped ? 1 : 0));
  step(index + 1);
  found_.pop_back();
}

bool Matcher::assign(std::uint32_t reg, Value value, bool bound) {
  if (bound) return egraph_.equal(registers_[reg], value);
  registers_[reg] = value;
  return true;
}

bool SizeBinder::bind(const CompiledRule& rule, const Direction& direction, const EGraph& egraph, const Match& match) {
  values_.assign(rule.sizes.size(), SizeId{});
  known_.assign(rule.sizes.size(), false);
  compound_.clear();
  for (std::size_t v = 0; v < rule.variables.size(); ++v) {
    const std::vector<SizePattern>& pattern = rule.variables[v];
    if (match.variables[v] == nothing) return false;
    const std::span<const SizeId> dims = sizes_.dims(egraph.shape(match.variables[v]));
    if (dims.size() != pattern.size()) return false;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (!learn(pattern[d], dims[d])) return false;
    }
  }
  for (std::size_t i = 0; i < match.found.size(); ++i) {
    const std::span<const SizeId> actual = egraph.sizes(match.found[i] / 2);
    const std::vector<SizePattern>& pattern = rule.nodes[direction.found[i]].sizes;
    for (std::size_t j = 0; j < actual.size(); ++j) {
      if (!learn(pattern[j], actual[j])) return false;
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

bool SizeBinder::learn(const SizePattern& pattern, SizeId actual) {
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

/// Sizes that stand in compound dimensions alone. They must be shown to be sizes, at least 1. What the equations give
/// is remembered for the next match that looks the same.
bool SizeBinder::solve(const CompiledRule& rule) {
  key_.assign(1, rule.number);
  for (std::size_t s = 0; s < values_.size(); ++s) {
    key_.push_back(known_[s] ? static_cast<std::uint32_t>(values_[s]) : KeyTable::none);
  }
  for (const auto& [pattern, actual] : compound_) {
    key_.push_back(static_cast<std::uint32_t>(pattern->size));
    key_.push_back(static_cast<std::uint32_t>(actual));
  }
  std::uint32_t first = solutions_.find(key_);
  if (first == KeyTable::none) {
    const auto solution = solve_anew(rule);
    first = solution ? static_cast<std::uint32_t>(solved_.size()) : unsolvable;
    if (solution) solved_.insert(solved_.end(), solution->begin(), solution->end());
    solutions_.insert(key_, first);
  }
  if (first == unsolvable) return false;
  for (std::size_t s = 0; s < values_.size(); ++s) {
    if (known_[s]) continue;
    values_[s] = solved_[first + s];
    if (!sizes_.surely_positive(values_[s]) && !sizes_.nonnegative(sizes_.poly(values_[s]) - 1)) return false;
  }
  return true;
}

std::optional<std::vector<SizeId>> SizeBinder::solve_anew(const CompiledRule& rule) const {
  std::vector<std::pair<Poly, Poly>> equations;
  for (std::size_t s = 0; s < values_.size(); ++s) {
    if (known_[s]) equations.emplace_back(Poly(rule.sizes[s]), sizes_.poly(values_[s]));
  }
  for (const auto& [pattern, actual] : compound_) {
    equations.emplace_back(sizes_.poly(pattern->size), sizes_.poly(actual));
  }
  std::vector<algebra::SizeCondition> condition;
  for (const PatternCondition& each : rule.condition) {
    condition.push_back({each.relation, sizes_.poly(each.left.size), sizes_.poly(each.right.size)});
  }
  const auto solution = algebra::match_sizes(equations, sizes_.symbols(), condition);
  if (!solution) return std::nullopt;
  std::vector<SizeId> values;
  for (const algebra::Atom size : rule.sizes) {
    const auto found = solution->find(size);
    if (found == solution->end()) return std::nullopt;
    values.push_back(sizes_.intern(found->second));
  }
  return values;
}

void SizeBinder::clear() {
  solutions_.clear();
  solved_.clear();
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
