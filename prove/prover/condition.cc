#include "prove/prover/condition.h"

#include <algorithm>
#include <set>
#include <utility>

#include "algebra/terms/match_sizes.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/size_condition.h"

namespace rulemill::prove {

using algebra::Atom;
using algebra::Poly;
using algebra::Relation;
using algebra::Shape;
using algebra::SizeCondition;
using algebra::Substitution;
using algebra::Symbols;
using algebra::Truth;
using algebra::TypedRule;

namespace {

/// The sizes in the variables' shapes and in the condition, in order of occurrence: those that are a whole dimension
/// somewhere, and those that are only factors of dimensions.
struct Sizes {
  std::vector<Atom> dimensions, quotients;
};

Sizes sizes_of(const TypedRule& rule, const Symbols& symbols) {
  std::vector<Atom> all;
  std::set<Atom> whole;
  const auto add = [&](const Poly& poly) {
    if (const std::optional<Atom> atom = poly.atom()) whole.insert(*atom);
    for (const Atom atom : symbols.atoms(poly)) {
      if (std::find(all.begin(), all.end(), atom) == all.end()) all.push_back(atom);
    }
  };
  for (const Shape& shape : rule.rule.shapes) {
    for (const Poly& dim : shape) add(dim);
  }
  for (const SizeCondition& c : rule.rule.condition) {
    add(c.left);
    add(c.right);
  }
  Sizes sizes;
  for (const Atom atom : all) (whole.contains(atom) ? sizes.dimensions : sizes.quotients).push_back(atom);
  return sizes;
}

/// Returns whether the two sizes are the same dimension of two variables of equal rank.
bool has_same_role(const TypedRule& rule, Atom a, Atom b) {
  for (const Shape& first : rule.rule.shapes) {
    for (const Shape& second : rule.rule.shapes) {
      if (first.size() != second.size()) continue;
      for (std::size_t d = 0; d < first.size(); ++d) {
        if (first[d].atom() == a && second[d].atom() == b) return true;
      }
    }
  }
  return false;
}

/// Returns the rule's sizes in the example, as far as its shapes determine them.
Substitution values_on(const TypedRule& rule, Symbols& symbols, const std::vector<std::vector<std::int64_t>>& example) {
  std::vector<std::pair<Poly, Poly>> pairs;
  for (std::size_t v = 0; v < rule.rule.shapes.size(); ++v) {
    for (std::size_t d = 0; d < rule.rule.shapes[v].size(); ++d)
      pairs.emplace_back(rule.rule.shapes[v][d], Poly(example[v][d]));
  }
  return algebra::match_sizes(pairs, symbols, rule.rule.condition).value_or(Substitution());
}

Truth holds_at(const SizeCondition& equation, const Substitution& values, Symbols& symbols) {
  return algebra::holds(algebra::substitute(equation, values, symbols), symbols);
}

}  // namespace

std::vector<SizeCondition> equations_between_sizes(const TypedRule& rule, Symbols& symbols,
                                                   const std::vector<std::vector<std::int64_t>>* example) {
  const Sizes sizes = sizes_of(rule, symbols);
  std::vector<SizeCondition> equations;
  const auto add = [&](Poly left, Poly right) {
    equations.push_back({Relation::Eq, std::move(left), std::move(right)});
  };
  const auto add_pairs = [&](const std::vector<Atom>& atoms, const std::function<bool(Atom, Atom)>& wanted) {
    for (std::size_t i = 0; i < atoms.size(); ++i) {
      for (std::size_t j = i + 1; j < atoms.size(); ++j) {
        if (wanted(atoms[i], atoms[j])) add(Poly(atoms[i]), Poly(atoms[j]));
      }
    }
  };
  const auto same_role = [&](Atom a, Atom b) { return has_same_role(rule, a, b) || has_same_role(rule, b, a); };
  for (const Atom quotient : sizes.quotients) add(Poly(quotient), 1);
  add_pairs(sizes.quotients, [](Atom, Atom) { return true; });
  add_pairs(sizes.dimensions, same_role);
  if (!example) return equations;
  add_pairs(sizes.dimensions, [&](Atom a, Atom b) { return !same_role(a, b); });
  for (const Atom size : sizes.dimensions) add(Poly(size), 1);
  const Substitution values = values_on(rule, symbols, *example);
  std::erase_if(equations, [&](const auto& equation) { return holds_at(equation, values, symbols) == Truth::No; });
  return equations;
}

namespace {

/// The number of dimensions that are numbers.
std::ptrdiff_t count_numbers(const std::vector<Shape>& shapes) {
  std::ptrdiff_t count = 0;
  for (const Shape& shape : shapes)
    count += std::ranges::count_if(shape, [](const Poly& dim) { return dim.constant().has_value(); });
  return count;
}

class ConditionSearch {
 public:
  ConditionSearch(const TypedRule& rule, algebra::TermBank& bank, Symbols& symbols, std::uint64_t seed,
                  const RefuteLimits& refute, const ConditionLimits& limits,
                  const std::vector<std::vector<std::int64_t>>* example, Budget& budget)
      : rule_(rule), bank_(bank), symbols_(symbols), seed_(seed), refute_(refute), limits_(limits), budget_(budget) {
    equations_ = equations_between_sizes(rule, symbols, example);
  }

  std::optional<ConditionalRule> run(const std::function<bool(const TypedRule&)>& is_provable) {
    collect_sets();
    collect_counterexamples();
    std::uint32_t tested = 0;
    std::uint32_t attempted = 0;
    std::optional<ConditionalRule> found;
    const auto fixes_size = [&](const ConditionalRule& each) {
      return count_numbers(each.typed.rule.shapes) > count_numbers(rule_.rule.shapes);
    };
    /// Returns whether the search is over.
    const auto try_proof = [&](ConditionalRule each) {
      if (attempted++ == limits_.proofs) return true;
      if (is_provable(each.typed) && (!found || !fixes_size(each))) found = std::move(each);
      return found && !fixes_size(*found);
    };
    std::vector<ConditionalRule> with_equations;  // of the present size, that shapes cannot express
    const auto is_over = [&] {
      const bool is_last = !found && std::ranges::any_of(std::exchange(with_equations, {}), try_proof);
      return is_last || found.has_value();
    };
    std::size_t size = 1;
    for (const Equations& set : sets_) {
      budget_.spend(20 * (1 + counterexamples_.size()));
      if (set.size() > size && is_over()) return found;
      size = set.size();
      if (std::ranges::any_of(counterexamples_, [&](const Substitution& each) { return refuted_by(each, set); }))
        continue;
      if (tested++ == limits_.sets) break;
      budget_.spend(20'000);
      algebra::Rule conditioned = rule_.rule;
      conditioned.condition.insert(conditioned.condition.end(), set.begin(), set.end());
      std::optional<TypedRule> typed = algebra::try_typing(conditioned, bank_, symbols_);
      if (!typed || !typed_.insert(text_up_to_sizes(*typed)).second) continue;
      const Refutation refutation = refute(*typed, bank_, symbols_, seed_, refute_, &budget_);
      if (refutation.counterexample) {
        add_counterexample(*refutation.counterexample, set);
        continue;
      }
      if (refutation.compared == 0) continue;
      const bool has_equations = !typed->rule.condition.empty();
      if (has_equations)
        with_equations.push_back({std::move(*typed), set});
      else if (try_proof({std::move(*typed), set}))
        return found;
    }
    is_over();
    return found;
  }

 private:
  using Equations = std::vector<SizeCondition>;

  /// Lists sets of one equation, then of two, and so on, each in lexicographic order.
  void collect_sets() {
    std::vector<std::pair<Equations, std::size_t>> last = {{{}, 0}};  // with the first equation that can follow
    for (std::uint32_t n = 0; n < limits_.equations; ++n) {
      std::vector<std::pair<Equations, std::size_t>> longer;
      for (const auto& [set, next] : last) {
        for (std::size_t e = next; e < equations_.size(); ++e) {
          longer.emplace_back(set, e + 1);
          longer.back().first.push_back(equations_[e]);
          sets_.push_back(longer.back().first);
        }
      }
      last = std::move(longer);
    }
  }

  void collect_counterexamples() {
    for (std::uint32_t i = 0; i < limits_.counterexamples && !sets_.empty(); ++i) {
      const Refutation refutation = refute(rule_, bank_, symbols_, seed_ + 1 + i, refute_, &budget_);
      if (!refutation.counterexample) return;  // probably true, and only the proof is missing
      add_counterexample(*refutation.counterexample, {});
      std::erase_if(sets_, [&](const auto& set) { return refuted_by(counterexamples_.back(), set); });
    }
  }

  /// Stores the counterexample's sizes, and those that the equations of `set` removed.
  void add_counterexample(const Counterexample& counterexample, const Equations& set) {
    Substitution& values = counterexamples_.emplace_back();
    for (const auto& [name, value] : counterexample.sizes) values[symbols_.size(name)] = value;
    for (std::size_t pass = 0; pass < set.size(); ++pass) {
      for (const SizeCondition& equation : set) {
        for (const auto& [to, from] : {std::pair(equation.left, equation.right), {equation.right, equation.left}}) {
          const Poly value = symbols_.substitute(from, values);
          if (to.atom() && value.constant()) values.try_emplace(*to.atom(), value);
        }
      }
    }
  }

  bool refuted_by(const Substitution& counterexample, const Equations& set) const {
    return std::ranges::all_of(
        set, [&](const auto& equation) { return holds_at(equation, counterexample, symbols_) == Truth::Yes; });
  }

  /// The rule's text with sizes named in the order in which they occur: equal for sets that imply each other.
  std::string text_up_to_sizes(const TypedRule& typed) {
    algebra::Rule rule = typed.rule;
    Substitution names;
    const auto rename = [&](Poly& poly) {
      for (const Atom atom : symbols_.atoms(poly)) {
        if (!names.contains(atom)) names[atom] = Poly(symbols_.size("s" + std::to_string(names.size())));
      }
      poly = symbols_.substitute(poly, names);
    };
    for (Shape& shape : rule.shapes) std::ranges::for_each(shape, rename);
    for (SizeCondition& c : rule.condition) rename(c.left), rename(c.right);
    rule.source = bank_.substitute(rule.source, {}, names, symbols_);
    rule.target = bank_.substitute(rule.target, {}, names, symbols_);
    return algebra::to_string(rule, bank_, symbols_);
  }

  const TypedRule& rule_;
  algebra::TermBank& bank_;
  Symbols& symbols_;
  std::uint64_t seed_;
  const RefuteLimits& refute_;
  const ConditionLimits& limits_;
  Budget& budget_;
  std::vector<SizeCondition> equations_;
  std::vector<Equations> sets_;
  std::vector<Substitution> counterexamples_;
  std::set<std::string> typed_;  // the texts of the rules under the sets that were tested
};

}  // namespace

std::optional<ConditionalRule> find_condition(const TypedRule& rule, algebra::TermBank& bank, Symbols& symbols,
                                              std::uint64_t seed, const RefuteLimits& refute,
                                              const ConditionLimits& limits,
                                              const std::vector<std::vector<std::int64_t>>* example, Budget& budget,
                                              const std::function<bool(const TypedRule&)>& is_provable) {
  return ConditionSearch(rule, bank, symbols, seed, refute, limits, example, budget).run(is_provable);
}

}  // namespace rulemill::prove
