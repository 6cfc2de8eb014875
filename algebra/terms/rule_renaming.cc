#include "algebra/terms/rule_renaming.h"

#include <algorithm>
#include <numeric>

#include "algebra/terms/match_sizes.h"
#include "algebra/terms/size_condition.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

using Pairs = std::vector<std::pair<TermId, TermId>>;

/// Searches for a mapping of variables, nodes and sizes of rule `a` to those of rule `b`.
class RenamingSearch {
 public:
  RenamingSearch(const Rule& a, const Rule& b, const TermBank& bank, Symbols& symbols)
      : a_(a), b_(b), bank_(bank), symbols_(symbols) {}

  /// Compares with the given sides of b, outputs in any order.
  bool is_renaming(const std::vector<TermId>& source, const std::vector<TermId>& target) const {
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
  struct Mapping {
    std::unordered_map<TermId, TermId> variables, inverse_variables;
    std::unordered_map<NodeId, NodeId> nodes, inverse_nodes;
  };

  template <class Id>
  static bool add_pair(std::unordered_map<Id, Id>& forward, std::unordered_map<Id, Id>& backward, Id a, Id b) {
    return forward.try_emplace(a, b).first->second == b && backward.try_emplace(b, a).first->second == a;
  }

  bool match(Pairs unmatched, Mapping mapping) const {
    while (!unmatched.empty()) {
      const auto [a, b] = unmatched.back();
      unmatched.pop_back();
      const Term &left = bank_.term(a), &right = bank_.term(b);
      if (left.is_variable != right.is_variable) return false;
      if (left.is_variable) {
        if (left.rank != right.rank || !add_pair(mapping.variables, mapping.inverse_variables, a, b)) return false;
        continue;
      }
      const Node &from = bank_.node(left.node), &to = bank_.node(right.node);
      if (left.output != right.output || from.instance != to.instance) return false;
      const bool known = mapping.nodes.contains(left.node);
      if (!add_pair(mapping.nodes, mapping.inverse_nodes, left.node, right.node)) return false;
      if (known) continue;
      if (bank_.library().instance(from.instance).commutative) {
        Pairs swapped = unmatched;
        swapped.emplace_back(from.arguments[0], to.arguments[1]);
        swapped.emplace_back(from.arguments[1], to.arguments[0]);
        if (match(std::move(swapped), mapping)) return true;
      }
      for (std::size_t i = 0; i < from.arguments.size(); ++i)
        unmatched.emplace_back(from.arguments[i], to.arguments[i]);
    }
    return sizes_match(mapping);
  }

  /// True if the sizes can be renamed, or if each rule is an instance of the other.
  bool sizes_match(const Mapping& mapping) const {
    if (a_.variables.size() != b_.variables.size()) return false;
    std::vector<std::pair<Poly, Poly>> forward, backward;
    const auto equate = [&](const Poly& a, const Poly& b) {
      forward.emplace_back(a, b);
      backward.emplace_back(b, a);
    };
    for (std::size_t v = 0; v < a_.variables.size(); ++v) {
      const auto image = mapping.variables.find(a_.variables[v]);
      if (image == mapping.variables.end()) return false;
      const auto at = static_cast<std::size_t>(std::ranges::find(b_.variables, image->second) - b_.variables.begin());
      if (at == b_.variables.size() || a_.shapes[v].size() != b_.shapes[at].size()) return false;
      for (std::size_t d = 0; d < a_.shapes[v].size(); ++d) equate(a_.shapes[v][d], b_.shapes[at][d]);
    }
    for (const auto& [from, to] : mapping.nodes) {
      for (std::size_t s = 0; s < bank_.node(from).sizes.size(); ++s)
        equate(bank_.node(from).sizes[s], bank_.node(to).sizes[s]);
    }
    return sizes_and_conditions_rename(forward, 0, {}) ||
           (is_rule_instance(forward, a_, b_) && is_rule_instance(backward, b_, a_));
  }

  /// Pairs each condition of a, from `next` on, with an unused condition of b, and renames all sizes.
  bool sizes_and_conditions_rename(const std::vector<std::pair<Poly, Poly>>& pairs, std::size_t next,
                                   std::vector<std::size_t> used) const {
    if (a_.condition.size() != b_.condition.size()) return false;
    if (next == a_.condition.size()) return sizes_rename(pairs, 0, {});
    const SizeCondition& own = a_.condition[next];
    for (std::size_t i = 0; i < b_.condition.size(); ++i) {
      const SizeCondition& other = b_.condition[i];
      if (own.relation != other.relation || std::ranges::find(used, i) != used.end()) continue;
      used.push_back(i);
      const Poly difference = other.right - other.left;
      const bool symmetric = own.relation == Relation::Eq || own.relation == Relation::Ne;
      for (const Poly& image : {difference, -difference}) {
        std::vector<std::pair<Poly, Poly>> extended = pairs;
        extended.emplace_back(own.right - own.left, image);
        if (sizes_and_conditions_rename(extended, next + 1, used)) return true;
        if (!symmetric) break;
      }
      used.pop_back();
    }
    return false;
  }

  /// True if a one-to-one renaming of sizes that extends `renaming` maps the pairs from `next` on.
  bool sizes_rename(const std::vector<std::pair<Poly, Poly>>& pairs, std::size_t next,
                    const Substitution& renaming) const {
    if (next == pairs.size()) return true;
    const auto& [from, to] = pairs[next];
    std::vector<Atom> unknown, free;
    for (const Atom atom : symbols_.atoms(from)) {
      if (!renaming.contains(atom)) unknown.push_back(atom);
    }
    for (const Atom atom : symbols_.atoms(to)) {
      const auto is_image = [&](const auto& entry) { return entry.second == Poly(atom); };
      if (std::ranges::none_of(renaming, is_image)) free.push_back(atom);
    }
    if (unknown.size() != free.size()) return false;
    do {
      Substitution extended = renaming;
      for (std::size_t i = 0; i < unknown.size(); ++i) extended[unknown[i]] = Poly(free[i]);
      if (symbols_.substitute(from, extended) == to && sizes_rename(pairs, next + 1, extended)) return true;
    } while (std::next_permutation(free.begin(), free.end()));
    return false;
  }

  /// True if `other` is an instance of `general`: some sizes give it the same types, and the other's condition implies
  /// its condition.
  bool is_rule_instance(const std::vector<std::pair<Poly, Poly>>& pairs, const Rule& general, const Rule& other) const {
    const std::optional<Substitution> sizes = match_sizes(pairs, symbols_, general.condition);
    if (!sizes) return false;
    return std::ranges::all_of(general.condition, [&](const SizeCondition& condition) {
      const SizeCondition required = substitute(condition, *sizes, symbols_);
      if (holds(required, symbols_) == Truth::Yes) return true;
      return std::ranges::any_of(other.condition, [&](const SizeCondition& given) {
        const Poly difference = required.right - required.left, known = given.right - given.left;
        const bool symmetric = given.relation == Relation::Eq || given.relation == Relation::Ne;
        return required.relation == given.relation && (difference == known || (symmetric && difference == -known));
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

bool is_renaming_of(const Rule& a, const Rule& b, const TermBank& bank, Symbols& symbols) {
  for (const Rule* rule : {&a, &b})
    RM_CHECK(rule->shapes.size() == rule->variables.size(), "only typed rules are compared");
  if (a.source.size() != b.source.size() || a.widens != b.widens) return false;
  const RenamingSearch search(a, b, bank, symbols);
  return search.is_renaming(b.source, b.target) || (!b.widens && search.is_renaming(b.target, b.source));
}

}  // namespace rulemill::algebra
