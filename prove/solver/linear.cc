#include "prove/solver/linear.h"

#include <algorithm>
#include <optional>
#include <span>

#include "prove/solver/simplex.h"

namespace rulemill::prove {
namespace {

using algebra::Monomial;
using check::complement;

constexpr int max_runs = 160;   // simplex runs for one query
constexpr int max_splits = 5;   // of cases, on a path
constexpr int max_probes = 12;  // of premises, for a case

/// True if the fact is the guard, or differs from it by a constant that makes it stronger.
bool implies(const Guard& fact, const Guard& guard) {
  if (fact.equality && guard.equality) return fact == guard;
  if (guard.equality) return false;
  const auto rest = [](const Poly& poly) {
    const std::span<const Poly::Term> terms = poly.terms();
    return !terms.empty() && terms[0].monomial.empty() ? terms.subspan(1) : terms;
  };
  return guard.poly.constant_term() >= fact.poly.constant_term() &&
         std::ranges::equal(rest(fact.poly), rest(guard.poly));
}

class LinearCheck {
 public:
  LinearCheck(const Query& query, LiteralLemmas* literal) : query_(query), literal_(literal) {
    for (const Guard& guard : query.asserted) add_monomials(guard.poly);
    for (const Lemma& lemma : query.lemmas) {
      add_monomials(lemma.conclusion.poly);
      for (const Guard& premise : lemma.premises) add_monomials(premise.poly);
    }
    sort_monomials();
  }

  /// True if no rationals satisfy the assertions and the lemmas whose premises are among these, or these and the
  /// literal lemmas.
  bool is_infeasible() {
    Guards all = query_.asserted;
    for (const Lemma& lemma : query_.lemmas) {
      const bool applies = std::all_of(lemma.premises.begin(), lemma.premises.end(), [&](const Guard& premise) {
        return std::any_of(all.begin(), all.end(), [&](const Guard& fact) { return implies(fact, premise); });
      });
      if (applies) all.push_back(lemma.conclusion);
    }
    if (is_infeasible_system(all)) return true;
    if (literal_ == nullptr) return false;
    std::vector<Fact> facts;
    for (Guard& guard : all) facts.push_back({std::move(guard), {}});
    const std::optional<Positions> needs = refute(std::move(facts), max_splits);
    if (needs) literal_->used.insert(needs->begin(), needs->end());
    return needs.has_value();
  }

  bool exhausted() const { return runs_ >= max_runs; }

 private:
  using Positions = std::set<std::size_t>;
  /// A guard that holds, and the positions of the literal lemmas that show this.
  struct Fact {
    Guard guard;
    Positions needs;
  };

  /// What the lemma's premises need; nothing if one is no fact.
  static std::optional<Positions> needs_of(const Lemma& lemma, const std::vector<Fact>& facts) {
    Positions needs;
    for (const Guard& premise : lemma.premises) {
      const auto fact = std::ranges::find_if(facts, [&](const Fact& f) { return implies(f.guard, premise); });
      if (fact == facts.end()) return std::nullopt;
      needs.insert(fact->needs.begin(), fact->needs.end());
    }
    return needs;
  }

  /// Adds the conclusions of lemmas whose premises are facts. Returns what a contradiction needs, if there is one.
  std::optional<Positions> conflict(std::vector<Fact>& facts) {
    if (exhausted()) return std::nullopt;
    for (std::size_t before = 0; before != facts.size();) {
      before = facts.size();
      const auto apply = [&](const Lemma& lemma, std::optional<std::size_t> position) {
        if (std::ranges::any_of(facts, [&](const Fact& fact) { return implies(fact.guard, lemma.conclusion); })) return;
        std::optional<Positions> needs = needs_of(lemma, facts);
        if (!needs) return;
        if (position) needs->insert(*position);
        facts.push_back({lemma.conclusion, std::move(*needs)});
      };
      for (const Lemma& lemma : query_.lemmas) apply(lemma, std::nullopt);
      for (std::size_t i = 0; i < literal_->lemmas.size(); ++i) apply(literal_->lemmas[i], i);
    }
    Guards guards;
    for (const Fact& fact : facts) guards.push_back(fact.guard), add_monomials(fact.guard.poly);
    sort_monomials();
    if (!is_infeasible_system(guards)) return std::nullopt;
    Positions needs;
    for (const std::size_t i : conflict_) needs.insert(facts[i].needs.begin(), facts[i].needs.end());
    return needs;
  }

  std::optional<Positions> conflict_with(std::vector<Fact> facts, const Guard& assumed) {
    facts.push_back({assumed, {}});
    return conflict(facts);
  }

  /// Divides cases by the first open premise of the query's lemmas. Then, of a premise of a literal lemma and its
  /// complement, one becomes a fact if the other contradicts the facts.
  std::optional<Positions> refute(std::vector<Fact> facts, int splits) {
    if (auto found = conflict(facts)) return found;
    if (literal_->quick) return std::nullopt;
    const auto is_fact = [&](const Guard& guard) {
      return std::ranges::any_of(facts, [&](const Fact& fact) { return implies(fact.guard, guard); });
    };
    const auto is_open = [&](const Guard& guard) {
      return !guard.equality && !is_fact(guard) && !is_fact(complement(guard)[0]);
    };
    for (const Lemma& lemma : query_.lemmas) {
      for (const Guard& premise : lemma.premises) {
        if (splits == 0 || !is_open(premise)) continue;
        Positions needs;
        for (const Guard& side : {premise, complement(premise)[0]}) {
          std::vector<Fact> assumed = facts;
          assumed.push_back({side, {}});
          const auto found = refute(std::move(assumed), splits - 1);
          if (!found) return std::nullopt;
          needs.insert(found->begin(), found->end());
        }
        return needs;
      }
    }
    int probes = 0;
    for (const Lemma& lemma : literal_->lemmas) {
      if (lemma.premises.empty()) continue;
      const Guard& premise = lemma.premises[0];
      for (const Guard& side : {premise, complement(premise)[0]}) {
        if (!is_open(premise)) continue;
        if (++probes > max_probes) return std::nullopt;
        const auto needs = conflict_with(facts, side);
        if (!needs) continue;
        facts.push_back({complement(side)[0], *needs});
        if (auto found = conflict(facts)) return found;
      }
    }
    return std::nullopt;
  }

  void add_monomials(const Poly& poly) {
    for (const Poly::Term& term : poly.terms()) {
      if (!term.monomial.empty()) monomials_.push_back(term.monomial);
    }
  }
  void sort_monomials() {
    std::sort(monomials_.begin(), monomials_.end());
    monomials_.erase(std::unique(monomials_.begin(), monomials_.end()), monomials_.end());
  }

  bool is_infeasible_system(const Guards& guards) {
    if (runs_ >= max_runs) return false;
    ++runs_;
    Simplex simplex(monomials_.size());
    for (const Guard& guard : guards) {
      std::vector<std::int64_t> coefficients(monomials_.size());
      for (const Poly::Term& term : guard.poly.terms()) {
        if (term.monomial.empty()) continue;
        const auto column = std::lower_bound(monomials_.begin(), monomials_.end(), term.monomial);
        coefficients[static_cast<std::size_t>(column - monomials_.begin())] = term.coefficient;
      }
      simplex.add(coefficients, guard.poly.constant_term(), guard.equality);
    }
    const bool infeasible = simplex.is_infeasible();
    conflict_ = simplex.conflict();
    return infeasible;
  }

  const Query& query_;
  LiteralLemmas* literal_;
  std::vector<Monomial> monomials_;
  std::vector<std::size_t> conflict_;  // the positions of the last system's guards that contradict each other
  int runs_ = 0;
};

}  // namespace

bool is_linearly_infeasible(const Query& query, LiteralLemmas* more) {
  return LinearCheck(query, more).is_infeasible();
}

}  // namespace rulemill::prove
