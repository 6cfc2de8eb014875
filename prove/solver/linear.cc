#include "prove/solver/linear.h"

#include <algorithm>
#include <optional>

#include "prove/solver/simplex.h"

namespace rulemill::prove {

namespace {

using algebra::Monomial;

constexpr int max_runs = 160;  // simplex runs for one query

/// True if the fact is the guard, or differs from it by a constant that makes it stronger.
bool implies(const Guard& fact, const Guard& guard) {
  if (fact == guard) return true;
  if (guard.equality) return false;
  const std::optional<std::int64_t> slack = (guard.poly - fact.poly).constant();
  return slack && *slack >= 0;
}

class LinearCheck {
 public:
  LinearCheck(const Query& query, Budget* budget) : query_(query), budget_(budget) {
    for (const Guard& guard : query.asserted) add_monomials(guard.poly);
    for (const Lemma& lemma : query.lemmas) {
      add_monomials(lemma.conclusion.poly);
      for (const Guard& premise : lemma.premises) add_monomials(premise.poly);
    }
    for (const auto& [coefficient, guards] : query.indicators) {
      for (const Guard& guard : guards) add_monomials(guard.poly);
    }
    std::sort(monomials_.begin(), monomials_.end());
    monomials_.erase(std::unique(monomials_.begin(), monomials_.end()), monomials_.end());
  }

  /// True if no rationals satisfy the assertions, `more`, and the lemmas whose premises are among these or, with
  /// `derive_premises`, are implied by them.
  bool is_infeasible(const Guards& more, bool derive_premises = true) {
    Guards all = query_.asserted;
    all.insert(all.end(), more.begin(), more.end());
    std::vector<const Lemma*> open;
    for (const Lemma& lemma : query_.lemmas) {
      const bool applies = std::all_of(lemma.premises.begin(), lemma.premises.end(), [&](const Guard& premise) {
        return std::any_of(all.begin(), all.end(), [&](const Guard& fact) { return implies(fact, premise); });
      });
      if (applies) {
        all.push_back(lemma.conclusion);
      } else {
        open.push_back(&lemma);
      }
    }
    if (is_infeasible_system(all)) return true;
    if (!derive_premises) return false;
    bool added = false;
    for (const Lemma* lemma : open) {
      const bool applies = std::all_of(lemma->premises.begin(), lemma->premises.end(), [&](const Guard& premise) {
        return !premise.equality && is_implied(all, premise);
      });
      if (!applies) continue;
      all.push_back(lemma->conclusion);
      added = true;
    }
    return added && is_infeasible_system(all);
  }

  bool exhausted() const { return runs_ >= max_runs; }

 private:
  void add_monomials(const Poly& poly) {
    for (const Poly::Term& term : poly.terms()) {
      if (!term.monomial.empty()) monomials_.push_back(term.monomial);
    }
  }

  bool is_implied(const Guards& from, const Guard& guard) {
    Guards all = from;
    all.push_back({false, -guard.poly - 1});
    return is_infeasible_system(all);
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
    if (budget_ != nullptr) budget_->spend(simplex.work());
    return infeasible;
  }

  const Query& query_;
  Budget* budget_;
  std::vector<Monomial> monomials_;
  int runs_ = 0;
};

/// A search that decides the indicators' guards one by one. Only leaves with a nonzero sum must be infeasible.
class IndicatorSearch {
 public:
  IndicatorSearch(const Query& query, Budget* budget) : query_(query), budget_(budget), check_(query, budget) {}

  bool vanishes() {
    std::vector<UndecidedIndicator> all;
    for (const auto& [coefficient, guards] : query_.indicators) all.push_back({coefficient, guards});
    return search(std::move(all));
  }

 private:
  /// An indicator that may be 1, with its undecided guards.
  struct UndecidedIndicator {
    Rational coefficient;
    Guards guards;
  };

  bool search(std::vector<UndecidedIndicator> open) {
    if (check_.exhausted()) return false;
    if (budget_ != nullptr) budget_->spend(100 * open.size());
    const auto undecided =
        std::find_if(open.begin(), open.end(), [](const UndecidedIndicator& o) { return !o.guards.empty(); });
    if (undecided == open.end()) {
      Rational sum{0, 1};
      for (const UndecidedIndicator& indicator : open) sum = sum + indicator.coefficient;
      return sum.num == 0 || check_.is_infeasible(path_);
    }
    const Guard guard = undecided->guards.front();
    if (!assume(guard, open)) return false;
    for (const Guard& other : complement(guard)) {
      if (!assume(other, open)) return false;
    }
    return true;
  }

  bool assume(const Guard& guard, std::vector<UndecidedIndicator> open) {
    path_.push_back(guard);
    std::erase_if(open, [&](UndecidedIndicator& indicator) {
      bool zero = false;
      std::erase_if(indicator.guards, [&](const Guard& g) {
        if (implies(guard, g)) return true;
        const std::vector<Guard> against = complement(g);
        zero |= std::any_of(against.begin(), against.end(), [&](const Guard& a) { return implies(guard, a); });
        return false;
      });
      return zero;
    });
    const bool result = open.empty() || search(std::move(open));
    path_.pop_back();
    return result;
  }

  const Query& query_;
  Budget* budget_;
  LinearCheck check_;
  Guards path_;
};

}  // namespace

bool is_linearly_infeasible(const Query& query, bool derive_premises, Budget* budget) {
  return LinearCheck(query, budget).is_infeasible({}, derive_premises);
}

bool indicators_vanish(const Query& query, Budget* budget) { return IndicatorSearch(query, budget).vanishes(); }

}  // namespace rulemill::prove
