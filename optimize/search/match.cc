#include "optimize/search/match.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "algebra/operators/index_tree.h"
#include "algebra/properties/positivity.h"
#include "algebra/terms/match_sizes.h"
#include "algebra/terms/size_condition.h"

namespace rulemill::optimize {
namespace {

/// Limits the matches of a pattern with several terms, whose number can grow exponentially.
constexpr std::size_t max_joined_matches = 4000;

template <typename Key, typename Found>
const Found* find(const std::vector<std::pair<Key, Found>>& pairs, Key key) {
  for (const auto& [each, value] : pairs) {
    if (each == key) return &value;
  }
  return nullptr;
}

/// Returns the union of two matches; nullopt if they differ.
std::optional<Match> merge(const Match& a, const Match& b) {
  Match both = a;
  for (const auto& [term, value] : b.terms) {
    const ValueId* known = find(both.terms, term);
    if (known && *known != value) return std::nullopt;
    if (!known) both.terms.emplace_back(term, value);
  }
  for (const auto& [node, value] : b.nodes) {
    const NodeId* known = find(both.nodes, node);
    if (known && *known != value) return std::nullopt;
    if (!known) both.nodes.emplace_back(node, value);
  }
  return both;
}

bool is_usable(const Pattern& pattern, const algebra::TermBank& terms) {
  std::set<algebra::TermId> bound;
  for (std::size_t i = 0; i < pattern.source.size(); ++i) {
    if (terms.term(pattern.source[i]).is_variable || positive_variable(pattern.source[i], terms)) return false;
    auto variables = terms.variables(std::span(&pattern.source[i], 1));
    bool shares = std::ranges::any_of(variables, [&](algebra::TermId each) { return bound.contains(each); });
    if (i > 0 && !shares) return false;
    bound.insert(variables.begin(), variables.end());
  }
  return std::ranges::all_of(terms.variables(pattern.target),
                             [&](algebra::TermId each) { return bound.contains(each); });
}

/// Finds the one element of each variable that an element of a term is computed from.
struct ElementReads {
  using Indices = std::vector<std::int64_t>;  // slots of the term's indices; -1: the number 0
  const algebra::TermBank& terms;
  std::map<algebra::TermId, Indices> variables{};
  std::set<algebra::NodeId> nodes{};

  /// Whether element `at` is the same function of one element of each variable wherever these are, and undefined where
  /// an element of a node below is.
  bool add(algebra::TermId id, const Indices& at) {
    if (terms.term(id).is_variable) return variables.try_emplace(id, at).first->second == at;
    const algebra::OperatorInstance& instance = terms.instance_of(id);
    nodes.insert(terms.term(id).node);
    return instance.outputs.size() == 1 && instance.intermediates.empty() &&
           keeps_undefined(instance, terms.library().functions(), algebra::Undefined::NaN) &&
           add(*instance.outputs[0].body, id, at);
  }
  bool add(const algebra::ScalarExpr& body, algebra::TermId id, const Indices& at) {
    using Kind = algebra::ScalarExpr::Kind;
    const algebra::OperatorInstance& instance = terms.instance_of(id);
    if (body.kind == Kind::Sum || body.kind == Kind::Case || body.kind == Kind::InverseSize) return false;
    Indices read;
    for (std::size_t d = 0; d < body.indices.size(); ++d) {
      const algebra::IndexExpr &index = *body.indices[d], &extent = *instance.inputs[body.tensor][d];
      const bool is_index = index.kind == algebra::IndexExpr::Kind::Index;
      if (is_index ? !is_same(extent, *instance.outputs[0].dims[index.slot]) : !is_constant(body.indices[d], 0))
        return false;  // not within the tensor
      read.push_back(is_index ? at[index.slot] : -1);
    }
    if (body.kind == Kind::Read) return add(terms.node_of(id).arguments[body.tensor], read);
    return std::ranges::all_of(body.operands, [&](const auto& each) { return add(*each, id, at); });
  }
};

/// Where an element of the source is defined, so is a source of variables that have one value each: those that it
/// reads.
bool holds_by_element(const algebra::Rule& rule, const algebra::TermBank& terms) {
  ElementReads source{terms}, target{terms};
  ElementReads::Indices at(terms.rank(rule.source[0]));
  std::iota(at.begin(), at.end(), 0);
  return rule.source.size() == 1 && source.add(rule.source[0], at) && target.add(rule.target[0], at) &&
         source.nodes.size() == terms.nodes(rule.source).size() &&
         std::ranges::includes(source.variables, target.variables);
}

}  // namespace

std::vector<Pattern> compile_patterns(const std::vector<algebra::RuleRecord>& rules, const algebra::TermBank& terms) {
  std::vector<Pattern> patterns;
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    const algebra::Rule& rule = rules[i].rule;
    if (!restricts_positivity_to_variables(rule, terms) || (rule.widens && !holds_by_element(rule, terms))) continue;
    Pattern forward{i, false, rule.source, rule.target};
    if (is_usable(forward, terms)) patterns.push_back(std::move(forward));
    Pattern backward{i, true, rule.target, rule.source};
    if (rules[i].reversible && !rule.widens && is_usable(backward, terms)) patterns.push_back(std::move(backward));
  }
  return patterns;
}

Matcher::Matcher(GraphBank& bank, const algebra::TermBank& terms, const std::vector<algebra::RuleRecord>& rules)
    : bank_(&bank), terms_(&terms), rules_(&rules), patterns_(compile_patterns(rules, terms)), positivity_(bank) {
  for (std::uint32_t p = 0; p < patterns_.size(); ++p) {
    for (std::uint32_t i = 0; i < patterns_[p].source.size(); ++i)
      roots_[terms.node_of(patterns_[p].source[i]).instance].push_back({p, i});
  }
}

void Matcher::extend(algebra::TermId pattern, ValueId value, const Match& match, std::vector<Match>& found) {
  if (const ValueId* known = find(match.terms, pattern)) {
    if (*known == value) found.push_back(match);
    return;
  }
  const algebra::Term& term = terms_->term(pattern);
  const Value& actual = bank_->value(value);
  Match extended = match;
  extended.terms.emplace_back(pattern, value);
  if (term.is_variable) {
    if (actual.type && actual.type->size() == term.rank) found.push_back(std::move(extended));
    return;
  }
  if (const auto variable = positive_variable(pattern, *terms_)) {
    if (!actual.type || actual.type->size() != terms_->term(*variable).rank || !positivity_.is_positive(value)) return;
    extended.terms.emplace_back(*variable, value);
    found.push_back(std::move(extended));
    return;
  }
  const algebra::Node& wanted = terms_->node(term.node);
  const Node& node = bank_->node(actual.node);
  if (node.kind != Node::Kind::Algebra || node.instance != wanted.instance || actual.output != term.output) return;
  if (const NodeId* known = find(match.nodes, term.node)) {
    if (*known == actual.node) found.push_back(std::move(extended));
    return;
  }
  extended.nodes.emplace_back(term.node, actual.node);
  extend_arguments(wanted.arguments, node.arguments, extended, found);
  if (bank_->instance(node).commutative && node.arguments[0] != node.arguments[1] &&
      wanted.arguments[0] != wanted.arguments[1])
    extend_arguments(wanted.arguments, {node.arguments[1], node.arguments[0]}, extended, found);
}

void Matcher::extend_arguments(const std::vector<algebra::TermId>& patterns, const std::vector<ValueId>& values,
                               const Match& match, std::vector<Match>& found) {
  std::vector<Match> partial{match};
  for (std::size_t i = 0; i < patterns.size() && !partial.empty(); ++i) {
    std::vector<Match> next;
    for (const Match& each : partial) extend(patterns[i], values[i], each, next);
    partial = std::move(next);
  }
  found.insert(found.end(), std::make_move_iterator(partial.begin()), std::make_move_iterator(partial.end()));
}

const std::vector<Match>& Matcher::matches(std::uint32_t pattern, std::uint32_t number, ValueId value) {
  auto [entry, fresh] = matches_[{pattern, number}].try_emplace(value);
  if (fresh) extend(patterns_[pattern].source[number], value, {}, entry->second);
  return entry->second;
}

std::vector<Match> Matcher::join(std::uint32_t pattern, std::span<const NodeId> nodes) {
  const Pattern& joined = patterns_[pattern];
  std::vector<Match> partial{{}};
  algebra::TermId shared{};
  for (std::uint32_t i = 0; i < joined.source.size(); ++i) {
    auto variables = terms_->variables(std::span(&joined.source[i], 1));
    if (i > 0) {
      auto before = terms_->variables(std::span(joined.source).first(i));
      shared = *std::ranges::find_if(
          variables, [&](algebra::TermId each) { return std::ranges::find(before, each) != before.end(); });
    }
    std::map<ValueId, std::vector<const Match*>> by_shared;  // ordered, so that the result is deterministic
    const algebra::Term& root = terms_->term(joined.source[i]);
    const algebra::InstanceId instance = terms_->node(root.node).instance;
    for (NodeId id : nodes) {
      const Node& node = bank_->node(id);
      if (node.kind != Node::Kind::Algebra || node.instance != instance || node.constant) continue;
      for (const Match& match : matches(pattern, i, node.outputs[root.output]))
        by_shared[i == 0 ? ValueId{} : *find(match.terms, shared)].push_back(&match);
    }
    std::vector<Match> next;
    for (const Match& left : partial) {
      auto candidates = by_shared.find(i == 0 ? ValueId{} : *find(left.terms, shared));
      if (candidates == by_shared.end()) continue;
      for (const Match* right : candidates->second) {
        if (auto both = merge(left, *right); both && next.size() < max_joined_matches) next.push_back(std::move(*both));
      }
    }
    partial = std::move(next);
  }
  // Different terms of the source must match different values.
  std::erase_if(partial, [&](const Match& match) {
    std::set<ValueId> roots;
    for (algebra::TermId root : joined.source) roots.insert(*find(match.terms, root));
    return roots.size() < std::set<algebra::TermId>(joined.source.begin(), joined.source.end()).size();
  });
  return partial;
}

std::optional<algebra::Substitution> Matcher::sizes(const Pattern& pattern, const Match& match) const {
  const algebra::Rule& rule = (*rules_)[pattern.rule].rule;
  std::vector<std::pair<algebra::Poly, algebra::Poly>> equations;
  for (std::size_t i = 0; i < rule.variables.size(); ++i) {
    const ValueId* value = find(match.terms, rule.variables[i]);
    if (!value) continue;  // not in the source
    const algebra::Shape& actual = *bank_->value(*value).type;
    for (std::size_t d = 0; d < actual.size(); ++d) equations.emplace_back(rule.shapes[i][d], actual[d]);
  }
  for (const auto& [wanted, id] : match.nodes) {
    const auto& sizes = terms_->node(wanted).sizes;
    for (std::size_t i = 0; i < sizes.size(); ++i) equations.emplace_back(sizes[i], bank_->node(id).sizes[i]);
  }
  algebra::Symbols& symbols = bank_->symbols();
  auto found = algebra::match_sizes(equations, symbols, rule.condition);
  if (!found) return std::nullopt;
  for (const algebra::SizeCondition& condition : rule.condition) {
    if (algebra::holds(algebra::substitute(condition, *found, symbols), symbols) != algebra::Truth::Yes)
      return std::nullopt;
  }
  return found;
}

std::optional<ValueId> Matcher::build(algebra::TermId id, const algebra::Substitution& sizes, DataType real_type,
                                      std::unordered_map<algebra::TermId, ValueId>& built,
                                      std::vector<NodeId>& target_nodes) {
  if (auto known = built.find(id); known != built.end()) return known->second;
  const algebra::Term& term = terms_->term(id);
  if (term.is_variable) return std::nullopt;
  const algebra::Node& wanted = terms_->node(term.node);
  std::vector<ValueId> arguments;
  for (algebra::TermId argument : wanted.arguments) {
    auto value = build(argument, sizes, real_type, built, target_nodes);
    if (!value) return std::nullopt;
    arguments.push_back(*value);
  }
  std::vector<algebra::Poly> numbers;
  for (const algebra::Poly& size : wanted.sizes) {
    // A size that occurs only in the target has no value.
    for (algebra::Atom atom : bank_->symbols().atoms(size)) {
      if (!sizes.contains(atom)) return std::nullopt;
    }
    numbers.push_back(bank_->symbols().substitute(size, sizes));
  }
  auto node = bank_->apply(wanted.instance, arguments, numbers, real_type);
  if (!node) return std::nullopt;
  target_nodes.push_back(*node);
  ValueId value = bank_->node(*node).outputs[term.output];
  built.emplace(id, value);
  return value;
}

std::optional<Rewrite> Matcher::instantiate(std::uint32_t number, const Match& match) {
  const Pattern& pattern = patterns_[number];
  auto found = sizes(pattern, match);
  if (!found) return std::nullopt;
  std::unordered_map<algebra::TermId, ValueId> built;
  std::vector<ValueId> variables, roots;
  for (algebra::TermId variable : terms_->variables(pattern.source)) {
    built.emplace(variable, *find(match.terms, variable));
    variables.push_back(*find(match.terms, variable));
  }
  for (const auto& [term, value] : match.terms) {
    if (positive_variable(term, *terms_)) built.emplace(term, value);
  }
  // Values that a rule relates have one float type, unless only truth values or integers connect them.
  DataType real_type = DataType::Float32;
  for (const auto& [term, value] : match.terms) {
    if (is_float(bank_->value(value).type.data_type)) real_type = bank_->value(value).type.data_type;
  }
  Rewrite rewrite;
  rewrite.pattern = number;
  bool has_changed = false;
  for (std::size_t i = 0; i < pattern.source.size(); ++i) {
    ValueId before = *find(match.terms, pattern.source[i]);
    auto after = build(pattern.target[i], *found, real_type, built, rewrite.target_nodes);
    if (!after || bank_->value(*after).type != bank_->value(before).type) return std::nullopt;
    has_changed = has_changed || *after != before;
    roots.push_back(before);
    rewrite.replacements.emplace_back(before, *after);
  }
  if (!has_changed) return std::nullopt;
  // Otherwise the results would depend on themselves.
  if (roots.size() > 1 && bank_->depend_on(variables, roots)) return std::nullopt;
  for (const auto& [wanted, id] : match.nodes) rewrite.matched.push_back(id);
  return rewrite;
}

void Matcher::clear_cache() {
  matches_.clear();
  rewrites_.clear();
}

std::vector<Rewrite> Matcher::rewrites(std::span<const ValueId> outputs, std::span<const NodeId> near, bool widening) {
  std::set<NodeId> wanted(near.begin(), near.end());
  auto close = [&](const std::vector<NodeId>& matched) {
    return wanted.empty() || std::ranges::any_of(matched, [&](NodeId id) { return wanted.contains(id); });
  };
  std::vector<NodeId> nodes = bank_->live_nodes(outputs);
  std::vector<Rewrite> result;
  std::set<std::uint32_t> joined;
  for (NodeId id : nodes) {
    if (bank_->node(id).kind != Node::Kind::Algebra || bank_->node(id).constant) continue;
    auto roots = roots_.find(bank_->node(id).instance);
    if (roots == roots_.end()) continue;
    for (const Root& root : roots->second) {
      const Pattern& pattern = patterns_[root.pattern];
      if ((*rules_)[pattern.rule].rule.widens != widening) continue;
      if (pattern.source.size() > 1) {
        joined.insert(root.pattern);
        continue;
      }
      ValueId value = bank_->node(id).outputs[terms_->term(pattern.source[0]).output];
      auto [entry, fresh] = rewrites_[root.pattern].try_emplace(value);
      if (fresh) {
        std::vector<Rewrite> rewrites;
        for (const Match& match : matches(root.pattern, 0, value)) {
          if (auto rewrite = instantiate(root.pattern, match)) rewrites.push_back(std::move(*rewrite));
        }
        entry->second = std::move(rewrites);
      }
      for (const Rewrite& rewrite : entry->second) {
        if (close(rewrite.matched)) result.push_back(rewrite);
      }
    }
  }
  for (std::uint32_t pattern : joined) {
    for (const Match& match : join(pattern, nodes)) {
      std::vector<NodeId> matched;
      for (const auto& [term, id] : match.nodes) matched.push_back(id);
      if (!close(matched)) continue;
      if (auto rewrite = instantiate(pattern, match)) result.push_back(std::move(*rewrite));
    }
  }
  return result;
}

}  // namespace rulemill::optimize
