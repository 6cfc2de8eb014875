#include "prove/normal_form/equality.h"

#include <algorithm>

#include "prove/normal_form/simplify.h"

namespace rulemill::prove {

Equality::Equality(const algebra::TermBank& bank, Solver& solver, IndexSupply& supply, AlignmentLimits limits)
    : bank_(bank), solver_(solver), symbols_(solver.symbols()), supply_(supply), limits_(limits) {
  for (const algebra::Function& function : bank.library().functions()) commutative_.push_back(function.commutative);
}

bool Equality::are_equal(const Sum& a, const Sum& b) {
  Sum difference = a;
  const Sum minus = negate(b);
  difference.insert(difference.end(), minus.begin(), minus.end());
  return is_zero(std::move(difference));
}

bool Equality::is_zero(Sum sum) {
  solver_.budget().spend(20 * sum.size() * sum.size());
  simplify_with_solver(sum, solver_, bank_);
  while (!sum.empty()) {
    if (cancel_group(sum) || cancel_pair(sum)) continue;
    uncancelled_product_ = to_string(sum[0], bank_, symbols_);
    return false;
  }
  return true;
}

/// Removes the first product and all that align with it if their guarded coefficients sum to zero.
bool Equality::cancel_group(Sum& sum) {
  std::vector<Alignment> group;
  group.push_back({sum[0], true});
  std::vector<std::size_t> members = {0};
  for (std::size_t i = 1; i < sum.size(); ++i) {
    std::vector<Alignment> found = alignments(sum[i], sum[0], false);
    if (found.empty()) continue;
    group.push_back(std::move(found[0]));
    members.push_back(i);
  }
  if (group.size() < 2) return false;
  std::vector<std::pair<Rational, Guards>> indicators;
  for (const Alignment& alignment : group)
    indicators.emplace_back(alignment.product.coefficient, alignment.product.guards);
  if (solver_.has_fault(Fault::CoefficientsIgnored)) {
    for (auto& [coefficient, guards] : indicators) coefficient = {coefficient.num < 0 ? -1 : 1, 1};
  }
  if (!solver_.indicators_cancel(indicators, "aligned products cancel")) return false;
  if (!are_pairwise_equal(group)) return false;
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    sum.erase(sum.begin() + static_cast<std::ptrdiff_t>(*member));
  }
  return true;
}

/// True if factors that are equal to the first product's only under guards are equal to each other wherever the guards
/// of both hold.
bool Equality::are_pairwise_equal(const std::vector<Alignment>& group) {
  if (group.size() <= 2) return true;
  if (std::all_of(group.begin(), group.end(), [](const Alignment& a) { return a.unconditional; })) return true;
  for (std::size_t i = 1; i < group.size(); ++i) {
    for (std::size_t j = i + 1; j < group.size(); ++j) {
      const Product& a = group[i].product;
      const Product& b = group[j].product;
      Guards both = a.guards;
      both.insert(both.end(), b.guards.begin(), b.guards.end());
      if (solver_.is_infeasible(both, "two products are disjoint")) continue;
      bool same = false;
      for (const std::vector<FactorPair>& pairs : pair_factors(a.factors, b.factors, limits_.maps)) {
        bool unconditional = true;
        same = have_equal_factors(pairs, {}, both, unconditional);
        if (same) break;
      }
      if (!same) return false;
    }
  }
  return true;
}

/// Cancels the first product with another of opposite coefficient, by any alignment.
bool Equality::cancel_pair(Sum& sum) {
  for (std::size_t i = 1; i < sum.size(); ++i) {
    if (sum[i].coefficient + sum[0].coefficient != Rational{0, 1}) continue;
    for (const Alignment& alignment : alignments(sum[i], sum[0], true)) {
      if (!solver_.indicators_cancel(
              {{sum[0].coefficient, sum[0].guards}, {alignment.product.coefficient, alignment.product.guards}},
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

std::vector<Equality::Alignment> Equality::alignments(const Product& original, const Product& onto, bool all) {
  std::vector<Alignment> result;
  if (!are_comparable(original, onto)) return result;
  Product product = original;
  rename_bound(product, supply_, symbols_);
  for (const std::vector<FactorPair>& pairs : pair_factors(product.factors, onto.factors, limits_.maps)) {
    for (const Substitution& map :
         candidate_maps(product, onto, pairs, commutative_, symbols_, limits_, solver_.budget())) {
      Guards guards = product.guards;
      for (Guard& guard : guards) guard.poly = symbols_.substitute(guard.poly, map);
      Guards both = onto.guards;
      both.insert(both.end(), guards.begin(), guards.end());
      bool unconditional = true;
      if (!have_equal_factors(pairs, map, both, unconditional)) continue;
      Alignment alignment{product, unconditional};
      substitute(alignment.product, map, symbols_);
      alignment.product.bound = onto.bound;
      result.push_back(std::move(alignment));
      if (!all) return result;
      if (result.size() >= limits_.maps) return result;
    }
  }
  return result;
}

/// True if the factors of each pair are equal wherever `both` holds, after mapping the first's indices. Sets
/// `unconditional` to false if that needs the guards.
bool Equality::have_equal_factors(const std::vector<FactorPair>& pairs, const Substitution& map, const Guards& both,
                                  bool& unconditional) {
  for (const auto& [first, second] : pairs) {
    solver_.budget().spend(50);
    Factor mapped = *first;
    substitute(mapped, map, symbols_);
    if (have_equal_arguments(mapped, *second)) continue;
    unconditional = false;
    const Solver::Assumption here(solver_, both);
    if (!have_equal_arguments(mapped, *second)) return false;
  }
  return true;
}

bool Equality::have_equal_arguments(const Factor& a, const Factor& b) {
  for (std::size_t i = 0; i < a.index.size(); ++i) {
    if (a.index[i] == b.index[i] || solver_.has_fault(Fault::IndicesAssumedEqual)) continue;
    if (!solver_.is_implied({}, {true, a.index[i] - b.index[i]}, "indices agree")) return false;
  }
  if (a.kind == Factor::Kind::Max) return are_equal_maxima(a, b);
  if (a.kind != Factor::Kind::Apply) return true;
  const auto all_equal = [&](bool swapped) {
    for (std::size_t i = 0; i < a.arguments.size(); ++i) {
      if (!are_equal(a.arguments[i], b.arguments[swapped ? a.arguments.size() - 1 - i : i])) return false;
    }
    return true;
  };
  if (all_equal(false)) return true;
  return commutative_[a.symbol] && a.arguments.size() == 2 && all_equal(true);
}

/// Aligns bound indices through the bodies, or one by one where these do not determine them. Then the ranges must be
/// equal, and the bodies must be equal on them.
bool Equality::are_equal_maxima(const Factor& a, const Factor& b) {
  Factor renamed = a;
  rename_bound(renamed, supply_, symbols_);
  std::vector<Substitution> maps;
  for (const Equations& system :
       unifying_equations({{&renamed, &b}}, commutative_, limits_.choices, solver_.budget())) {
    std::vector<Atom> unknowns = renamed.bound;
    unknowns.insert(unknowns.end(), system.unknowns.begin(), system.unknowns.end());
    SolvedIndices solved = solve_indices(system.polys, unknowns, symbols_, solver_.budget());
    std::erase_if(solved.map, [&](const auto& entry) {
      return std::find(renamed.bound.begin(), renamed.bound.end(), entry.first) == renamed.bound.end() ||
             mentions(entry.second, unknowns, symbols_);
    });
    complete_maps(solved.map, renamed.bound, b.bound, symbols_, limits_, solver_.budget(), maps);
  }
  return std::any_of(maps.begin(), maps.end(), [&](const Substitution& map) {
    Factor mapped = renamed;
    substitute(mapped, map, symbols_);
    if (!solver_.has_fault(Fault::RangesAssumedEqual) &&
        !solver_.indicators_cancel({{{1, 1}, mapped.guards}, {{-1, 1}, b.guards}},
                                   "two maxima range over the same points")) {
      return false;
    }
    const Solver::Assumption here(solver_, b.guards);
    return are_equal(mapped.arguments[0], b.arguments[0]);
  });
}

}  // namespace rulemill::prove
