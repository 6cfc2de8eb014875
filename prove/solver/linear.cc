#include "prove/solver/linear.h"

#include <algorithm>
#include <optional>

#include "prove/solver/simplex.h"

namespace rulemill::prove {

namespace {

using algebra::Monomial;

constexpr int max_checks = 160;  // simplex runs for one query

/// Whether fact ≥ 0 (or = 0) says the guard word by word.
bool says(const Guard& fact, const Guard& guard) {
  if (fact == guard) return true;
  if (guard.equality) return false;
  const std::optional<std::int64_t> slack = (guard.poly - fact.poly).constant();
  return slack && *slack >= 0;
}

class LinearCheck {
 public:
  LinearCheck(const Query& query, Budget* budget) : query_(query), budget_(budget) {
    for (const Guard& guard : query.asserted) meet(guard.poly);
    for (const Lemma& lemma : query.lemmas) {
      meet(lemma.conclusion.poly);
      for (const Guard& premise : lemma.premises) meet(premise.poly);
    }
    for (const auto& [coefficient, guards] : query.indicators) {
      for (const Guard& guard : guards) meet(guard.poly);
    }
    std::sort(monomials_.begin(), monomials_.end());
    monomials_.erase(std::unique(monomials_.begin(), monomials_.end()), monomials_.end());
  }

  /// No rationals satisfy the query's assertions, `more`, and the lemmas that apply: those whose premises stand there
  /// and, with `follow`, those whose premises follow.
  bool infeasible(const Guards& more, bool follow = true) {
    Guards all = query_.asserted;
    all.insert(all.end(), more.begin(), more.end());
    std::vector<const Lemma*> open;
    for (const Lemma& lemma : query_.lemmas) {
      const bool applies = std::all_of(lemma.premises.begin(), lemma.premises.end(), [&](const Guard& premise) {
        return std::any_of(all.begin(), all.end(), [&](const Guard& fact) { return says(fact, premise); });
      });
      if (applies) {
        all.push_back(lemma.conclusion);
      } else {
        open.push_back(&lemma);
      }
    }
    if (contradictory(all)) return true;
    if (!follow) return false;
    // Premises that follow without standing there.
    bool added = false;
    for (const Lemma* lemma : open) {
      const bool applies = std::all_of(lemma->premises.begin(), lemma->premises.end(), [&](const Guard& premise) {
        return !premise.equality && follows(all, premise);
      });
      if (!applies) continue;
      all.push_back(lemma->conclusion);
      added = true;
    }
    return added && contradictory(all);
  }

  bool exhausted() const { return checks_ >= max_checks; }

 private:
  void meet(const Poly& poly) {
    for (const Poly::Term& term : poly.terms()) {
      if (!term.monomial.empty()) monomials_.push_back(term.monomial);
    }
  }

  bool follows(const Guards& from, const Guard& guard) {
    Guards all = from;
    all.push_back({false, -guard.poly - 1});
    return contradictory(all);
  }

  bool contradictory(const Guards& guards) {
    if (checks_ >= max_checks) return false;
    ++checks_;
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
    const bool infeasible = simplex.infeasible();
    if (budget_ != nullptr) budget_->spend(simplex.work());
    return infeasible;
  }

  const Query& query_;
  Budget* budget_;
  std::vector<Monomial> monomials_;
  int checks_ = 0;
};

/// Decides the indicators' guards one by one; only ways that leave a sum other than zero need to be infeasible.
class IndicatorWalk {
 public:
  IndicatorWalk(const Query& query, Budget* budget) : query_(query), budget_(budget), check_(query, budget) {}

  bool vanish() {
    std::vector<Open> all;
    for (const auto& [coefficient, guards] : query_.indicators) all.push_back({coefficient, guards});
    return walk(std::move(all));
  }

 private:
  /// An indicator that is not yet known to be zero, with its undecided guards.
  struct Open {
    Rational coefficient;
    Guards guards;
  };

  bool walk(std::vector<Open> open) {
    if (check_.exhausted()) return false;
    if (budget_ != nullptr) budget_->spend(100 * open.size());
    const auto undecided = std::find_if(open.begin(), open.end(), [](const Open& o) { return !o.guards.empty(); });
    if (undecided == open.end()) {
      Rational sum{0, 1};
      for (const Open& indicator : open) sum = sum + indicator.coefficient;
      return sum.num == 0 || check_.infeasible(path_);
    }
    const Guard guard = undecided->guards.front();
    if (!enter(guard, open)) return false;
    for (const Guard& other : complement(guard)) {
      if (!enter(other, open)) return false;
    }
    return true;
  }

  bool enter(const Guard& guard, std::vector<Open> open) {
    path_.push_back(guard);
    std::erase_if(open, [&](Open& indicator) {
      bool zero = false;
      std::erase_if(indicator.guards, [&](const Guard& g) {
        if (says(guard, g)) return true;
        const std::vector<Guard> against = complement(g);
        zero |= std::any_of(against.begin(), against.end(), [&](const Guard& a) { return says(guard, a); });
        return false;
      });
      return zero;
    });
    const bool result = open.empty() || walk(std::move(open));
    path_.pop_back();
    return result;
  }

  const Query& query_;
  Budget* budget_;
  LinearCheck check_;
  Guards path_;
};

}  // namespace

bool linearly_infeasible(const Query& query, bool follow, Budget* budget) {
  return LinearCheck(query, budget).infeasible({}, follow);
}

bool indicators_vanish(const Query& query, Budget* budget) { return IndicatorWalk(query, budget).vanish(); }

}  // namespace rulemill::prove
