#include "algebra/terms/rule_renaming.h"

#include <algorithm>
#include <numeric>

#include "algebra/terms/typing.h"
#include "runtime/error.h"

namespace rulemill::algebra {
namespace {

using Pairs = std::vector<std::pair<TermId, TermId>>;

class RuleComparison {
 public:
  RuleComparison(const Rule& a, const Rule& b, const TermBank& bank, Symbols& symbols)
      : a_(a), b_(b), bank_(bank), symbols_(symbols) {}

  /// With b's sides as given; outputs in any order.
  bool same(const std::vector<TermId>& source, const std::vector<TermId>& target) const {
    std::vector<std::size_t> order(source.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      Pairs pairs;
      for (std::size_t i = 0; i < order.size(); ++i) {
        pairs.emplace_back(a_.source[i], source[order[i]]);
        pairs.emplace_back(a_.target[i], target[order[i]]);
      }
      if (match(std::move(pairs), {})) return true;
    } while (std::next_permutation(order.begin(), order.end()));
    return false;
  }

 private:
  struct State {
    std::unordered_map<TermId, TermId> variables, back;
    std::unordered_map<NodeId, NodeId> nodes, nodes_back;
  };

  template <class Id>
  static bool pair(std::unordered_map<Id, Id>& there, std::unordered_map<Id, Id>& back, Id a, Id b) {
    return there.try_emplace(a, b).first->second == b && back.try_emplace(b, a).first->second == a;
  }

  bool match(Pairs open, State state) const {
    while (!open.empty()) {
      const auto [a, b] = open.back();
      open.pop_back();
      const Term &left = bank_.term(a), &right = bank_.term(b);
      if (left.is_variable != right.is_variable) return false;
      if (left.is_variable) {
        if (left.rank != right.rank || !pair(state.variables, state.back, a, b)) return false;
        continue;
      }
      const Node &from = bank_.node(left.node), &to = bank_.node(right.node);
      if (left.output != right.output || from.instance != to.instance) return false;
      const bool known = state.nodes.contains(left.node);
      if (!pair(state.nodes, state.nodes_back, left.node, right.node)) return false;
      if (known) continue;
      if (bank_.library().instance(from.instance).commutative) {
        Pairs swapped = open;
        swapped.emplace_back(from.arguments[0], to.arguments[1]);
        swapped.emplace_back(from.arguments[1], to.arguments[0]);
        if (match(std::move(swapped), state)) return true;
      }
      for (std::size_t i = 0; i < from.arguments.size(); ++i) open.emplace_back(from.arguments[i], to.arguments[i]);
    }
    return same_sizes(state);
  }

  /// Each is an instance of the other.
  bool same_sizes(const State& state) const {
    if (a_.variables.size() != b_.variables.size()) return false;
    std::vector<std::pair<Poly, Poly>> there, back;
    const auto equate = [&](const Poly& a, const Poly& b) {
      there.emplace_back(a, b);
      back.emplace_back(b, a);
    };
    for (std::size_t v = 0; v < a_.variables.size(); ++v) {
      const auto image = state.variables.find(a_.variables[v]);
      if (image == state.variables.end()) return false;
      const auto at = static_cast<std::size_t>(std::ranges::find(b_.variables, image->second) - b_.variables.begin());
      if (at == b_.variables.size() || a_.shapes[v].size() != b_.shapes[at].size()) return false;
      for (std::size_t d = 0; d < a_.shapes[v].size(); ++d) equate(a_.shapes[v][d], b_.shapes[at][d]);
    }
    for (const auto& [from, to] : state.nodes) {
      for (std::size_t s = 0; s < bank_.node(from).sizes.size(); ++s)
        equate(bank_.node(from).sizes[s], bank_.node(to).sizes[s]);
    }
    return renames_with_conditions(there, 0, {}) || (instance(there, a_, b_) && instance(back, b_, a_));
  }

  /// With each condition of the one, from `next` on, beside one of the other's.
  bool renames_with_conditions(const std::vector<std::pair<Poly, Poly>>& pairs, std::size_t next,
                               std::vector<std::size_t> used) const {
    if (a_.condition.size() != b_.condition.size()) return false;
    if (next == a_.condition.size()) return renames(pairs, 0, {});
    const SizeCondition& mine = a_.condition[next];
    for (std::size_t i = 0; i < b_.condition.size(); ++i) {
      const SizeCondition& theirs = b_.condition[i];
      if (mine.relation != theirs.relation || std::ranges::find(used, i) != used.end()) continue;
      used.push_back(i);
      const Poly difference = theirs.right - theirs.left;
      const bool turns = mine.relation == Relation::Eq || mine.relation == Relation::Ne;
      for (const Poly& image : {difference, -difference}) {
        std::vector<std::pair<Poly, Poly>> extended = pairs;
        extended.emplace_back(mine.right - mine.left, image);
        if (renames_with_conditions(extended, next + 1, used)) return true;
        if (!turns) break;
      }
      used.pop_back();
    }
    return false;
  }

  /// Whether the sizes of `pairs` from `next` on can be renamed, one to one, into each other.
  bool renames(const std::vector<std::pair<Poly, Poly>>& pairs, std::size_t next, const Substitution& names) const {
    if (next == pairs.size()) return true;
    const auto& [from, to] = pairs[next];
    std::vector<Atom> unknown, free;
    for (const Atom atom : symbols_.atoms(from)) {
      if (!names.contains(atom)) unknown.push_back(atom);
    }
    for (const Atom atom : symbols_.atoms(to)) {
      const auto taken = [&](const auto& name) { return name.second == Poly(atom); };
      if (std::ranges::none_of(names, taken)) free.push_back(atom);
    }
    if (unknown.size() != free.size()) return false;
    do {
      Substitution extended = names;
      for (std::size_t i = 0; i < unknown.size(); ++i) extended[unknown[i]] = Poly(free[i]);
      if (symbols_.substitute(from, extended) == to && renames(pairs, next + 1, extended)) return true;
    } while (std::next_permutation(free.begin(), free.end()));
    return false;
  }

  /// Whether there are sizes at which the one rule's types are the other's, and its condition follows from the other's.
  bool instance(const std::vector<std::pair<Poly, Poly>>& pairs, const Rule& one, const Rule& other) const {
    const std::optional<Substitution> sizes = match_sizes(pairs, symbols_, one.condition);
    if (!sizes) return false;
    return std::ranges::all_of(one.condition, [&](const SizeCondition& condition) {
      const SizeCondition asked = substitute(condition, *sizes, symbols_);
      if (holds(asked, symbols_) == Truth::Yes) return true;
      return std::ranges::any_of(other.condition, [&](const SizeCondition& given) {
        const Poly difference = asked.right - asked.left, known = given.right - given.left;
        const bool turned = given.relation == Relation::Eq || given.relation == Relation::Ne;
        return asked.relation == given.relation && (difference == known || (turned && difference == -known));
      });
    });
  }

  const Rule &a_, &b_;
  const TermBank& bank_;
  Symbols& symbols_;
};

}  // namespace

std::string renaming_key(const Rule& rule, const TermBank& bank) {
  const auto side = [&](const std::vector<TermId>& roots) {
    std::vector<std::string> names;
    for (const NodeId node : bank.nodes(roots)) names.push_back(bank.library().instance(bank.node(node).instance).name);
    std::ranges::sort(names);
    std::string text;
    for (const std::string& name : names) text += name + " ";
    return text;
  };
  const std::string source = side(rule.source), target = side(rule.target);
  return std::to_string(rule.variables.size()) + " " + std::to_string(rule.source.size()) + " " +
         std::min(source, target) + "= " + std::max(source, target);
}

bool same_rule(const Rule& a, const Rule& b, const TermBank& bank, Symbols& symbols) {
  for (const Rule* rule : {&a, &b})
    RM_CHECK(rule->shapes.size() == rule->variables.size(), "rules are compared once they are typed");
  if (a.source.size() != b.source.size()) return false;
  const RuleComparison comparison(a, b, bank, symbols);
  return comparison.same(b.source, b.target) || comparison.same(b.target, b.source);
}

}  // namespace rulemill::algebra
