// Searches for proofs that each definedness condition of one side holds where the other side is defined.
#include <algorithm>

#include "prove/elaboration/elaborator.h"

namespace rulemill::prove {

using check::DefinednessCondition;

namespace {

constexpr int max_regions = 60;                  // of one condition
constexpr int max_divisions = 6;                 // of a condition of the other side
constexpr std::size_t max_cells = 16;            // of one condition
constexpr std::size_t max_values_per_index = 6;  // tried where equations do not determine it

}  // namespace

std::optional<std::string> Elaborator::prove_domains(check::Proof& proof) {
  for (const bool of_target : {false, true}) {
    const check::Statement::DefinednessConditions& conditions = statement_.definedness_conditions(of_target);
    if (statement_.rule().widens && !of_target) continue;
    for (std::size_t d = 0; d < conditions.own_count; ++d) {
      known_ = {statement_.definedness_conditions(!of_target).all, &conditions.all[d]};
      auto [sum, context] = check::undefinedness(conditions.all[d], statement_);
      if (!show_defined({sum, context, proof.domains[of_target ? 1 : 0].emplace_back()}))
        return "not shown to be defined where the other side is: " + statement_.text(conditions.all[d]);
    }
    known_ = {};
  }
  return std::nullopt;
}

bool Elaborator::show_defined(State state) {
  for (int regions = 0; regions < max_regions; ++regions) {
    const auto open =
        std::ranges::find_if(state.sum, [](const check::Product& product) { return !product.factors.empty(); });
    if (open == state.sum.end()) {
      steps::Positions all;
      for (std::size_t p = 0; p < state.sum.size(); ++p) all.push_back(p);
      return all.empty() || try_step(state, steps::cancel(all));
    }
    const auto p = static_cast<std::size_t>(open - state.sum.begin());
    const bool decided = try_step(state, steps::make(Op::Signs, {p, 0})) ||
                         (vanishes(state.sum[p], state.context) && try_step(state, steps::drop(p)));
    if (decided) continue;
    if (const auto guard = undecided_guard(state.sum[p], state.context)) {
      if (!try_step(state, steps::split(p, *guard))) return false;
    } else if (!show_defined_by_others(state, p) && !show_positive(state, p)) {
      return false;
    }
  }
  return false;
}

/// Where log(t) is defined, t = exp(log(t)), whose sign is known.
bool Elaborator::show_positive(State state, std::size_t p) {
  for (std::size_t a = 0; a < state.sum[p].factors[0].arguments.size(); ++a) {
    check::Sum argument = state.sum[p].factors[0].arguments[a];
    if ((!known_.shown && known_.given.empty()) || argument.size() != 1 || argument[0].factors.empty()) continue;
    steps::Positions all = {0};
    for (std::size_t f = 0; f < argument[0].factors.size(); ++f) all.push_back(f);
    Attempt attempt{state.sum, {}};
    Step within = steps::nested(Op::Within, {p, 0, a});
    const Context inner = check::argument_context(state.context, state.sum[p], state.sum[p].factors[0]);
    if (!try_law_step({argument, inner, within.blocks[0]},
                      steps::law("log.inverse", all, {{}, argument}, /*reversed=*/true)) ||
        !try_step(attempt.in(state.context), std::move(within)) ||
        !try_step(attempt.in(state.context), steps::make(Op::Signs, {p, 0})))
      continue;
    commit(std::move(attempt), state);
    return true;
  }
  return false;
}

bool Elaborator::show_defined_by_others(State state, std::size_t p) {
  for (std::size_t number = 0; number < known_.given.size(); ++number) {
    if (known_.given[number].factors[0].symbol != state.sum[p].factors[0].symbol) continue;
    for (const DefinednessCondition& cell : cells(known_.given[number], max_divisions)) {
      if (show_defined_by_other(state, p, number, cell)) return true;
    }
  }
  return false;
}

/// Where guards of the other condition are not shown, its region is divided from the others, which are left.
bool Elaborator::show_defined_by_other(State state, std::size_t p, std::size_t number,
                                       const DefinednessCondition& cell) {
  const Context inside = check::within(state.context, state.sum[p]);
  DefinednessCondition wanted = state.sum[p];
  simplify_all_levels(wanted.factors[0].arguments, inside);
  const DefinednessCondition& other = known_.given[number];
  for (const check::Images& at : witnesses(wanted, cell)) {
    check::Guards unproved;
    for (const check::Guard& guard : cell.guards) {
      const check::Guard at_point = atoms_.substitute(guard, at);
      if (!is_shown(inside.given, at_point)) unproved.push_back(at_point);
    }
    if (!unproved.empty() && is_shown(check::conjunction(inside.given, unproved), std::nullopt)) continue;
    check::Factor known = other.factors[0];
    check::for_each_poly(known, [&](Poly& poly) { poly = atoms_.substitute(poly, at); });
    for (const bool opposite : {false, true}) {
      if (opposite && statement_.function(known.symbol).parity == 0) continue;
      if (opposite) known.arguments.at(0) = check::negated(known.arguments[0]);
      Attempt attempt{state.sum, {}};
      const bool divided = std::ranges::all_of(unproved, [&](const check::Guard& guard) {
        return try_step(attempt.in(state.context), steps::split(p, guard));
      });
      Step given = steps::make(Op::Given, {p, 0, number});
      given.reversed = opposite;
      for (const Atom atom : other.bound) given.polys.push_back(at.at(atom));
      if (!divided || !replace_arguments(attempt.in(state.context), p, known) ||
          !try_step(attempt.in(state.context), std::move(given)))
        continue;
      commit(std::move(attempt), state);
      return true;
    }
  }
  return false;
}

bool Elaborator::replace_arguments(State state, std::size_t p, const check::Factor& other) {
  for (std::size_t a = 0; a < other.arguments.size(); ++a) {
    const check::Sum& argument = state.sum[p].factors[0].arguments.at(a);
    if (check::canonical(argument, atoms_) == check::canonical(other.arguments[a], atoms_)) continue;
    check::Sum difference = check::subtract(argument, other.arguments[a]);
    Step replaced = steps::nested(Op::Replace, {p, 0, a});
    replaced.sums = {other.arguments[a]};
    if (!rewrite_to_zero({difference, check::within(state.context, state.sum[p]), replaced.blocks[0]})) return false;
    if (!try_step(state, std::move(replaced))) return false;
  }
  return true;
}

std::vector<DefinednessCondition> Elaborator::cells(DefinednessCondition condition, int depth) {
  const check::Guards given = check::conjunction(statement_.facts(), condition.guards);
  const std::set<Atom> scope(condition.bound.begin(), condition.bound.end());
  std::vector<DefinednessCondition> result;
  for (const check::Sum& argument : condition.factors[0].arguments) {
    const auto guard = depth > 0 ? undecided_guard(argument, scope, given) : std::nullopt;
    if (!guard) continue;
    check::Guards regions = check::complement(*guard);
    regions.insert(regions.begin(), *guard);
    for (const check::Guard& region : regions) {
      DefinednessCondition part = condition;
      part.guards.push_back(region);
      for (DefinednessCondition& cell : cells(std::move(part), depth - 1)) {
        if (result.size() < max_cells) result.push_back(std::move(cell));
      }
    }
    return result;
  }
  if (is_shown(given, std::nullopt)) return {};
  simplify_all_levels(condition.factors[0].arguments, {given, scope});
  return {std::move(condition)};
}

void Elaborator::simplify_all_levels(std::vector<check::Sum>& sums, const Context& context) {
  Steps unused;
  for (check::Sum& sum : sums) {
    simplify({sum, context, unused});
    for (check::Product& product : sum) {
      for (check::Factor& factor : product.factors)
        simplify_all_levels(factor.arguments, check::argument_context(context, product, factor));
    }
  }
}

/// Returns values for the indices of `found`, in the indices of `wanted`, at which both may have equal arguments.
std::vector<check::Images> Elaborator::witnesses(const DefinednessCondition& wanted,
                                                 const DefinednessCondition& found) {
  DefinednessCondition other = found;
  prove::rename_bound(other, atoms_);
  std::vector<check::Images> result;
  for (const Equations& system :
       unifying_equations({{&other.factors[0], &wanted.factors[0]}}, commutative_, limits_.choices, budget_)) {
    std::vector<Atom> unknowns = other.bound;
    unknowns.insert(unknowns.end(), system.unknowns.begin(), system.unknowns.end());
    const SolvedIndices solved = solve_indices(system.polys, unknowns, atoms_, budget_);
    std::vector<check::Images> maps(1);
    for (std::size_t i = 0; i < found.bound.size(); ++i) {
      std::vector<Poly> values;
      if (const auto known = solved.map.find(other.bound[i]);
          known != solved.map.end() && !mentions(known->second, unknowns, atoms_)) {
        values.push_back(known->second);
      } else {
        values.emplace_back(0);
        for (const check::Guard& guard : found.guards) {
          const std::int64_t factor = guard.poly.coefficient(found.bound[i]);
          const Poly rest = guard.poly - Poly(factor) * Poly(found.bound[i]);
          const bool inner = std::ranges::any_of(found.bound, [&](Atom atom) { return atoms_.occurs(rest, atom); });
          if ((factor != 1 && factor != -1) || inner || values.size() >= max_values_per_index) continue;
          values.push_back(factor == 1 ? -rest : rest);
        }
      }
      std::vector<check::Images> longer;
      for (const check::Images& map : maps) {
        for (const Poly& value : values) {
          if (longer.size() >= limits_.choices) break;
          longer.push_back(map);
          longer.back()[found.bound[i]] = value;
        }
      }
      maps = std::move(longer);
    }
    result.insert(result.end(), maps.begin(), maps.end());
    if (result.size() >= limits_.choices) break;
  }
  return result;
}

}  // namespace rulemill::prove
