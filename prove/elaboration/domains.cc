// Finds why each demand of one side is met where the other side is defined.
#include <algorithm>

#include "prove/elaboration/elaborator.h"
#include "runtime/error.h"

namespace rulemill::prove {

using check::Claim;
using check::Demand;

namespace {

constexpr int most_regions = 6;                // demands that together meet one
constexpr std::size_t most_cells = 16;         // of one demand
constexpr std::size_t values_of_an_index = 6;  // tried where equations leave it open

}  // namespace

std::optional<std::string> Elaborator::domains(check::Proof& proof) {
  for (const bool of_target : {false, true}) {
    const check::Statement::Demands& demands = statement_.demands(of_target);
    for (std::size_t d = 0; d < demands.own; ++d) {
      const Demand& demand = demands.all[d];
      auto found = claim(demand, of_target, joined(statement_.facts(), demand.guards), most_regions);
      if (!found) return "one side alone demands " + statement_.text(demand);
      proof.domains[of_target ? 1 : 0].push_back({statement_.text(demand), std::move(*found)});
    }
  }
  return std::nullopt;
}

std::optional<Claim> Elaborator::claim(const Demand& demand, bool of_target, const check::Guards& given, int depth) {
  if (auto by_signs = claim_by_signs(demand, given)) return by_signs;
  if (auto times = oracle_.shown({"", given, {}, {}, {}})) {
    Claim empty;
    empty.kind = Claim::Kind::Empty;
    empty.times = std::move(*times);
    return empty;
  }
  if (depth == 0) return std::nullopt;
  const std::set<Atom> scope(demand.bound.begin(), demand.bound.end());
  for (const check::Sum& argument : demand.factors[0].arguments) {
    if (const auto guard = undecided(argument, scope, given)) {
      auto inside = claim(demand, of_target, joined(given, {*guard}), depth - 1);
      if (!inside) return std::nullopt;
      return claim_by_cases(demand, of_target, given, depth, {*guard}, std::move(*inside));
    }
  }
  const std::vector<Demand>& others = statement_.demands(!of_target).all;
  for (std::size_t number = 0; number < others.size(); ++number) {
    if (others[number].factors[0].symbol != demand.factors[0].symbol) continue;
    for (const Demand& cell : cells(others[number], most_regions)) {
      if (auto found = claim_from(demand, of_target, number, cell, given, depth)) return found;
    }
  }
  return std::nullopt;
}

std::optional<Claim> Elaborator::claim_by_signs(const Demand& demand, const check::Guards& given) {
  for (const bool points : {false, true}) {
    const auto owed = check::met_by_signs(demand, points, given, statement_);
    if (!owed) continue;
    Claim result;
    result.kind = points ? Claim::Kind::Points : Claim::Kind::Signs;
    const bool all = std::ranges::all_of(*owed, [&](const check::Obligation& obligation) {
      const auto times = oracle_.shown(obligation);
      if (times) result.times.insert(result.times.end(), times->begin(), times->end());
      return times.has_value();
    });
    if (all) return result;
  }
  return std::nullopt;
}

/// The claim where all of `cases` hold is known; where one does not, another is looked for.
std::optional<Claim> Elaborator::claim_by_cases(const Demand& demand, bool of_target, const check::Guards& given,
                                                int depth, check::Guards cases, Claim where_they_hold) {
  if (cases.empty()) return where_they_hold;
  Claim result;
  result.kind = Claim::Kind::Split;
  result.guard = cases.front();
  cases.erase(cases.begin());
  auto inside = claim_by_cases(demand, of_target, joined(given, {*result.guard}), depth, std::move(cases),
                               std::move(where_they_hold));
  if (!inside) return std::nullopt;
  result.parts.push_back(std::move(*inside));
  for (const check::Guard& region : check::complement(*result.guard)) {
    auto outside = claim(demand, of_target, joined(given, {region}), depth - 1);
    if (!outside) return std::nullopt;
    result.parts.push_back(std::move(*outside));
  }
  return result;
}

std::optional<Claim> Elaborator::claim_from(const Demand& demand, bool of_target, std::size_t number,
                                            const Demand& cell, const check::Guards& given, int depth) {
  Demand wanted = demand;
  Steps unused;
  for (check::Sum& argument : wanted.factors[0].arguments)
    simplify(argument, {given, {demand.bound.begin(), demand.bound.end()}}, unused);
  const Demand& other = statement_.demands(!of_target).all[number];
  for (const check::Images& at : witnesses(wanted, cell)) {
    check::Guards open;
    for (const check::Guard& guard : cell.guards) {
      const check::Guard there{guard.equality, atoms_.substitute(guard.poly, at)};
      if (!shown(given, there)) open.push_back(there);
    }
    if (!open.empty() && shown(joined(given, open), std::nullopt)) continue;
    auto found = same_value(demand, other, at, joined(given, open));
    if (!found) continue;
    found->demand = number;
    if (auto whole = claim_by_cases(demand, of_target, given, depth, std::move(open), std::move(*found))) return whole;
  }
  return std::nullopt;
}

std::optional<Claim> Elaborator::same_value(const Demand& demand, const Demand& other, const check::Images& at,
                                            const check::Guards& given) {
  Claim result;
  result.kind = Claim::Kind::From;
  for (const Atom atom : other.bound) result.at.emplace_back(atom, at.at(atom));
  Demand instance = other;
  check::for_each_poly(instance, [&](Poly& poly) { poly = atoms_.substitute(poly, at); });
  for (const check::Guard& guard : instance.guards) {
    const auto times = oracle_.shown({"", given, guard, {}, {}});
    if (!times) return std::nullopt;
    result.times.insert(result.times.end(), times->begin(), times->end());
  }
  const Context context{given, {demand.bound.begin(), demand.bound.end()}};
  const check::Factor& wanted = demand.factors[0];
  check::Factor& found = instance.factors[0];
  if (same_arguments(wanted, found, context, result)) return result;
  if (statement_.function(wanted.symbol).parity == 0) return std::nullopt;
  result.kind = Claim::Kind::Opposite;
  found.arguments.at(0) = check::difference_of({}, found.arguments.at(0));
  return same_arguments(wanted, found, context, result) ? std::optional(result) : std::nullopt;
}

bool Elaborator::same_arguments(const check::Factor& wanted, const check::Factor& found, const Context& context,
                                Claim& claim) {
  claim.arguments.clear();
  for (std::size_t a = 0; a < wanted.arguments.size(); ++a) {
    check::Sum difference = check::difference_of(wanted.arguments[a], found.arguments.at(a));
    if (!zero(difference, context, claim.arguments.emplace_back())) return false;
  }
  return true;
}

std::vector<Demand> Elaborator::cells(Demand demand, int depth) {
  const check::Guards given = joined(statement_.facts(), demand.guards);
  const std::set<Atom> scope(demand.bound.begin(), demand.bound.end());
  std::vector<Demand> result;
  for (const check::Sum& argument : demand.factors[0].arguments) {
    const auto guard = depth > 0 ? undecided(argument, scope, given) : std::nullopt;
    if (!guard) continue;
    check::Guards regions = check::complement(*guard);
    regions.insert(regions.begin(), *guard);
    for (const check::Guard& region : regions) {
      Demand part = demand;
      part.guards.push_back(region);
      for (Demand& cell : cells(std::move(part), depth - 1)) {
        if (result.size() < most_cells) result.push_back(std::move(cell));
      }
    }
    return result;
  }
  if (shown(given, std::nullopt)) return {};
  Steps unused;
  for (check::Sum& argument : demand.factors[0].arguments) simplify(argument, {given, scope}, unused);
  return {std::move(demand)};
}

/// Values for the indices of `found` at which the two may be on one value, in the indices of `wanted`.
std::vector<check::Images> Elaborator::witnesses(const Demand& wanted, const Demand& found) {
  Product other = bridge_.there(found);
  const Factor target = bridge_.there(wanted.factors[0]);
  bridge_.rename(other);
  std::vector<check::Images> result;
  for (const Equations& way : ways_to_equal({{&other.factors[0], &target}}, commutative_, align_.choices, budget_)) {
    std::vector<Atom> unknown = other.bound;
    unknown.insert(unknown.end(), way.unknown.begin(), way.unknown.end());
    const SolvedIndices solved = solve_indices(way.polys, unknown, bridge_.symbols(), budget_);
    std::vector<check::Images> maps(1);
    for (std::size_t i = 0; i < found.bound.size(); ++i) {
      std::vector<Poly> values;
      if (const auto known = solved.map.find(other.bound[i]);
          known != solved.map.end() && !mentions(known->second, unknown, bridge_.symbols())) {
        values.push_back(bridge_.back(known->second));
      } else {
        values.emplace_back(0);
        for (const check::Guard& guard : found.guards) {
          const std::int64_t factor = guard.poly.coefficient(found.bound[i]);
          const Poly rest = guard.poly - Poly(factor) * Poly(found.bound[i]);
          const bool inner = std::ranges::any_of(found.bound, [&](Atom atom) { return atoms_.occurs(rest, atom); });
          if ((factor != 1 && factor != -1) || inner || values.size() >= values_of_an_index) continue;
          values.push_back(factor == 1 ? -rest : rest);
        }
      }
      std::vector<check::Images> longer;
      for (const check::Images& map : maps) {
        for (const Poly& value : values) {
          if (longer.size() >= align_.choices) break;
          longer.push_back(map);
          longer.back()[found.bound[i]] = value;
        }
      }
      maps = std::move(longer);
    }
    result.insert(result.end(), maps.begin(), maps.end());
    if (result.size() >= align_.choices) break;
  }
  return result;
}

}  // namespace rulemill::prove
