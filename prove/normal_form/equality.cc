#include "prove/normal_form/equality.h"

#include <algorithm>

#include "prove/normal_form/simplify.h"

namespace rulemill::prove {

Equality::Equality(const algebra::TermBank& bank, Solver& solver, IndexSupply& supply, AlignLimits limits)
    : bank_(bank), solver_(solver), symbols_(solver.symbols()), supply_(supply), limits_(limits) {
  for (const algebra::Function& function : bank.library().functions()) commutative_.push_back(function.commutative);
}

bool Equality::equal(const Sum& a, const Sum& b) {
  Sum difference = a;
  const Sum minus = negated(b);
  difference.insert(difference.end(), minus.begin(), minus.end());
  return zero(std::move(difference));
}

bool Equality::zero(Sum sum) {
  solver_.budget().spend(20 * sum.size() * sum.size());
  simplify_fully(sum, solver_, bank_);
  while (!sum.empty()) {
    if (cancel_group(sum) || cancel_pair(sum)) continue;
    left_over_ = to_string(sum[0], bank_, symbols_);
    return false;
  }
  return true;
}

/// Takes the first product and all that align onto it; they vanish if their guarded coefficients do.
bool Equality::cancel_group(Sum& sum) {
  std::vector<Aligned> group;
  group.push_back({sum[0], true});
  std::vector<std::size_t> members = {0};
  for (std::size_t i = 1; i < sum.size(); ++i) {
    std::vector<Aligned> found = alignments(sum[i], sum[0], false);
    if (found.empty()) continue;
    group.push_back(std::move(found[0]));
    members.push_back(i);
  }
  if (group.size() < 2) return false;
  std::vector<std::pair<Rational, Guards>> indicators;
  for (const Aligned& aligned : group) indicators.emplace_back(aligned.product.coefficient, aligned.product.guards);
  if (solver_.has(Fault::CoefficientsForgotten)) {
    for (auto& [coefficient, guards] : indicators) coefficient = {coefficient.num < 0 ? -1 : 1, 1};
  }
  if (!solver_.cancels(indicators, "aligned products cancel")) return false;
  if (!pairwise_equal(group)) return false;
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    sum.erase(sum.begin() + static_cast<std::ptrdiff_t>(*member));
  }
  return true;
}

/// Factors that agree with the first product's only under guards must agree with each other wherever two of them meet.
bool Equality::pairwise_equal(const std::vector<Aligned>& group) {
  if (group.size() <= 2) return true;
  if (std::all_of(group.begin(), group.end(), [](const Aligned& a) { return a.everywhere; })) return true;
  for (std::size_t i = 1; i < group.size(); ++i) {
    for (std::size_t j = i + 1; j < group.size(); ++j) {
      const Product& a = group[i].product;
      const Product& b = group[j].product;
      Guards both = a.guards;
      both.insert(both.end(), b.guards.begin(), b.guards.end());
      if (solver_.infeasible(both, "two products never meet")) continue;
      bool same = false;
      for (const std::vector<FactorPair>& pairs : pairings(a.factors, b.factors, limits_.maps)) {
        bool everywhere = true;
        same = same_factors(pairs, {}, both, everywhere);
        if (same) break;
      }
      if (!same) return false;
    }
  }
  return true;
}

/// The first product against some other of opposite coefficient, by any alignment.
bool Equality::cancel_pair(Sum& sum) {
  for (std::size_t i = 1; i < sum.size(); ++i) {
    if (sum[i].coefficient + sum[0].coefficient != Rational{0, 1}) continue;
    for (const Aligned& aligned : alignments(sum[i], sum[0], true)) {
      if (!solver_.cancels({{sum[0].coefficient, sum[0].guards}, {aligned.product.coefficient, aligned.product.guards}},
                           "two products cancel")) {
        continue;
      }
      sum.erase(sum.begin() + static_cast<std::ptrdiff_t>(i));
      sum.erase(sum.begin());
      return true;
    }
  }
  return false;
}

std::vector<Equality::Aligned> Equality::alignments(const Product& original, const Product& onto, bool all) {
  std::vector<Aligned> result;
  if (!comparable(original, onto)) return result;
  Product product = original;
  rename_bound(product, supply_, symbols_);
  for (const std::vector<FactorPair>& pairs : pairings(product.factors, onto.factors, limits_.maps)) {
    for (const Substitution& map :
         candidate_maps(product, onto, pairs, commutative_, symbols_, limits_, solver_.budget())) {
      Guards guards = product.guards;
      for (Guard& guard : guards) guard.poly = symbols_.substitute(guard.poly, map);
      Guards both = onto.guards;
      both.insert(both.end(), guards.begin(), guards.end());
      bool everywhere = true;
      if (!same_factors(pairs, map, both, everywhere)) continue;
      Aligned aligned{product, everywhere};
      substitute(aligned.product, map, symbols_);
      aligned.product.bound = onto.bound;
      result.push_back(std::move(aligned));
      if (!all) return result;
      if (result.size() >= limits_.maps) return result;
    }
  }
  return result;
}

/// Whether the factors of each pair, the first's indices mapped, are equal wherever `both` holds. `everywhere` becomes
/// false if that needs the guards.
bool Equality::same_factors(const std::vector<FactorPair>& pairs, const Substitution& map, const Guards& both,
                            bool& everywhere) {
  for (const auto& [first, second] : pairs) {
    solver_.budget().spend(50);
    Factor mapped = *first;
    substitute(mapped, map, symbols_);
    if (same_factor(mapped, *second)) continue;
    everywhere = false;
    const Solver::Assumption here(solver_, both);
    if (!same_factor(mapped, *second)) return false;
  }
  return true;
}

bool Equality::same_factor(const Factor& a, const Factor& b) {
  for (std::size_t i = 0; i < a.index.size(); ++i) {
    if (a.index[i] == b.index[i] || solver_.has(Fault::IndicesBelieved)) continue;
    if (!solver_.implied({}, {true, a.index[i] - b.index[i]}, "indices agree")) return false;
  }
  if (a.kind == Factor::Kind::Max) return same_maximum(a, b);
  if (a.kind != Factor::Kind::Apply) return true;
  const auto all_equal = [&](bool swapped) {
    for (std::size_t i = 0; i < a.arguments.size(); ++i) {
      if (!equal(a.arguments[i], b.arguments[swapped ? a.arguments.size() - 1 - i : i])) return false;
    }
    return true;
  };
  if (all_equal(false)) return true;
  return commutative_[a.symbol] && a.arguments.size() == 2 && all_equal(true);
}

/// Bound indices are aligned through the bodies, or one by one where those leave them open; then the regions must be
/// the same, and the bodies on them.
bool Equality::same_maximum(const Factor& a, const Factor& b) {
  Factor renamed = a;
  rename_bound(renamed, supply_, symbols_);
  std::vector<Substitution> maps;
  for (const Equations& way : ways_to_equal({{&renamed, &b}}, commutative_, limits_.choices, solver_.budget())) {
    std::vector<Atom> unknown = renamed.bound;
    unknown.insert(unknown.end(), way.unknown.begin(), way.unknown.end());
    SolvedIndices solved = solve_indices(way.polys, unknown, symbols_, solver_.budget());
    std::erase_if(solved.map, [&](const auto& entry) {
      return std::find(renamed.bound.begin(), renamed.bound.end(), entry.first) == renamed.bound.end() ||
             mentions(entry.second, unknown, symbols_);
    });
    complete_maps(solved.map, renamed.bound, b.bound, symbols_, limits_, solver_.budget(), maps);
  }
  return std::any_of(maps.begin(), maps.end(), [&](const Substitution& map) {
    Factor mapped = renamed;
    substitute(mapped, map, symbols_);
    if (!solver_.has(Fault::RegionsBelieved) &&
        !solver_.cancels({{{1, 1}, mapped.guards}, {{-1, 1}, b.guards}}, "two maxima range over the same points")) {
      return false;
    }
    const Solver::Assumption here(solver_, b.guards);
    return equal(mapped.arguments[0], b.arguments[0]);
  });
}

}  // namespace rulemill::prove
