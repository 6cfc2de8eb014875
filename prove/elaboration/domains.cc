// Searches for proofs that each definedness condition of one side holds where the other side is defined.
#include <algorithm>

#include "prove/elaboration/elaborator.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

using check::DefinednessCondition;
using check::DefinednessProof;

namespace {

constexpr int max_regions = 6;                   // conditions that together imply one
constexpr std::size_t max_cells = 16;            // of one condition
constexpr std::size_t max_values_per_index = 6;  // tried where equations do not determine it

}  // namespace

std::optional<std::string> Elaborator::prove_domains(check::Proof& proof) {
  for (const bool of_target : {false, true}) {
    const check::Statement::DefinednessConditions& conditions = statement_.definedness_conditions(of_target);
    for (std::size_t d = 0; d < conditions.own_count; ++d) {
      const DefinednessCondition& condition = conditions.all[d];
      auto found = prove_definedness(condition, of_target, check::conjunction(statement_.facts(), condition.guards),
                                     max_regions);
      if (!found) return "not shown to be defined where the other side is: " + statement_.text(condition);
      proof.domains[of_target ? 1 : 0].push_back({statement_.text(condition), std::move(*found)});
    }
  }
  return std::nullopt;
}

std::optional<DefinednessProof> Elaborator::prove_definedness(const DefinednessCondition& condition, bool of_target,
                                                              const check::Guards& given, int depth) {
  if (auto signs = prove_by_signs(condition, given)) return signs;
  if (auto lemmas = oracle_.find_lemmas({"", given, {}, {}, {}})) {
    DefinednessProof empty;
    empty.kind = DefinednessProof::Kind::Vacuous;
    empty.lemmas = std::move(*lemmas);
    return empty;
  }
  if (depth == 0) return std::nullopt;
  const std::set<Atom> scope(condition.bound.begin(), condition.bound.end());
  for (const check::Sum& argument : condition.factors[0].arguments) {
    if (const auto guard = undecided_guard(argument, scope, given)) {
      auto inside = prove_definedness(condition, of_target, check::conjunction(given, {*guard}), depth - 1);
      if (!inside) return std::nullopt;
      return prove_by_cases(condition, of_target, given, depth, {*guard}, std::move(*inside));
    }
  }
  const std::vector<DefinednessCondition>& others = statement_.definedness_conditions(!of_target).all;
  for (std::size_t number = 0; number < others.size(); ++number) {
    if (others[number].factors[0].symbol != condition.factors[0].symbol) continue;
    for (const DefinednessCondition& cell : cells(others[number], max_regions)) {
      if (auto found = prove_by_other(condition, of_target, number, cell, given, depth)) return found;
    }
  }
  return std::nullopt;
}

std::optional<DefinednessProof> Elaborator::prove_by_signs(const DefinednessCondition& condition,
                                                           const check::Guards& given) {
  for (const bool nonempty : {false, true}) {
    const auto obligations = check::check_by_signs(condition.factors[0], nonempty, false, given, statement_);
    if (!obligations) continue;
    DefinednessProof result;
    result.kind = nonempty ? DefinednessProof::Kind::NonemptySigns : DefinednessProof::Kind::Signs;
    const bool all = std::ranges::all_of(*obligations, [&](const check::Obligation& obligation) {
      const auto lemmas = oracle_.find_lemmas(obligation);
      if (lemmas) result.lemmas.insert(result.lemmas.end(), lemmas->begin(), lemmas->end());
      return lemmas.has_value();
    });
    if (all) return result;
  }
  return std::nullopt;
}

/// Searches for proofs where one of `cases` does not hold. Where all of them hold, the proof is given.
std::optional<DefinednessProof> Elaborator::prove_by_cases(const DefinednessCondition& condition, bool of_target,
                                                           const check::Guards& given, int depth, check::Guards cases,
                                                           DefinednessProof where_they_hold) {
  if (cases.empty()) return where_they_hold;
  DefinednessProof result;
  result.kind = DefinednessProof::Kind::Split;
  result.guard = cases.front();
  cases.erase(cases.begin());
  auto inside = prove_by_cases(condition, of_target, check::conjunction(given, {*result.guard}), depth,
                               std::move(cases), std::move(where_they_hold));
  if (!inside) return std::nullopt;
  result.cases.push_back(std::move(*inside));
  for (const check::Guard& region : check::complement(*result.guard)) {
    auto outside = prove_definedness(condition, of_target, check::conjunction(given, {region}), depth - 1);
    if (!outside) return std::nullopt;
    result.cases.push_back(std::move(*outside));
  }
  return result;
}

std::optional<DefinednessProof> Elaborator::prove_by_other(const DefinednessCondition& condition, bool of_target,
                                                           std::size_t number, const DefinednessCondition& cell,
                                                           const check::Guards& given, int depth) {
  DefinednessCondition wanted = condition;
  simplify_all_levels(wanted.factors[0].arguments, {given, {condition.bound.begin(), condition.bound.end()}});
  const DefinednessCondition& other = statement_.definedness_conditions(!of_target).all[number];
  for (const check::Images& at : witnesses(wanted, cell)) {
    check::Guards unproved;
    for (const check::Guard& guard : cell.guards) {
      const check::Guard instance_guard{guard.equality, atoms_.substitute(guard.poly, at)};
      if (!is_shown(given, instance_guard)) unproved.push_back(instance_guard);
    }
    if (!unproved.empty() && is_shown(check::conjunction(given, unproved), std::nullopt)) continue;
    auto found = prove_equal_application(condition, other, at, check::conjunction(given, unproved));
    if (!found) continue;
    found->condition = number;
    if (auto whole = prove_by_cases(condition, of_target, given, depth, std::move(unproved), std::move(*found)))
      return whole;
  }
  return std::nullopt;
}

std::optional<DefinednessProof> Elaborator::prove_equal_application(const DefinednessCondition& condition,
                                                                    const DefinednessCondition& other,
                                                                    const check::Images& at,
                                                                    const check::Guards& given) {
  DefinednessProof result;
  result.kind = DefinednessProof::Kind::Equality;
  for (const Atom atom : other.bound) result.images.emplace_back(atom, at.at(atom));
  DefinednessCondition instance = other;
  check::for_each_poly(instance, [&](Poly& poly) { poly = atoms_.substitute(poly, at); });
  for (const check::Guard& guard : instance.guards) {
    const auto lemmas = oracle_.find_lemmas({"", given, guard, {}, {}});
    if (!lemmas) return std::nullopt;
    result.lemmas.insert(result.lemmas.end(), lemmas->begin(), lemmas->end());
  }
  const Context context{given, {condition.bound.begin(), condition.bound.end()}};
  const check::Factor& wanted = condition.factors[0];
  check::Factor& found = instance.factors[0];
  if (prove_equal_arguments(wanted, found, context, result)) return result;
  if (statement_.function(wanted.symbol).parity == 0) return std::nullopt;
  result.kind = DefinednessProof::Kind::Parity;
  found.arguments.at(0) = check::subtract({}, found.arguments.at(0));
  return prove_equal_arguments(wanted, found, context, result) ? std::optional(result) : std::nullopt;
}

bool Elaborator::prove_equal_arguments(const check::Factor& wanted, const check::Factor& found, const Context& context,
                                       DefinednessProof& proof) {
  proof.argument_steps.clear();
  for (std::size_t a = 0; a < wanted.arguments.size(); ++a) {
    check::Sum difference = check::subtract(wanted.arguments[a], found.arguments.at(a));
    if (!rewrite_to_zero(difference, context, proof.argument_steps.emplace_back())) return false;
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
  check::Kernel kernel(statement_, {});
  Steps unused;
  for (check::Sum& sum : sums) {
    simplify(sum, context, unused);
    for (check::Product& product : sum) {
      for (check::Factor& factor : product.factors)
        simplify_all_levels(factor.arguments, kernel.argument_context(context, product, factor));
    }
  }
}

/// Returns values for the indices of `found`, in the indices of `wanted`, at which both may have equal arguments.
std::vector<check::Images> Elaborator::witnesses(const DefinednessCondition& wanted,
                                                 const DefinednessCondition& found) {
  Product other = translator_.to_prover(found);
  const Factor target = translator_.to_prover(wanted.factors[0]);
  translator_.rename(other);
  std::vector<check::Images> result;
  for (const Equations& system :
       unifying_equations({{&other.factors[0], &target}}, commutative_, align_.choices, budget_)) {
    std::vector<Atom> unknowns = other.bound;
    unknowns.insert(unknowns.end(), system.unknowns.begin(), system.unknowns.end());
    const SolvedIndices solved = solve_indices(system.polys, unknowns, translator_.symbols(), budget_);
    std::vector<check::Images> maps(1);
    for (std::size_t i = 0; i < found.bound.size(); ++i) {
      std::vector<Poly> values;
      if (const auto known = solved.map.find(other.bound[i]);
          known != solved.map.end() && !mentions(known->second, unknowns, translator_.symbols())) {
        values.push_back(translator_.to_checker(known->second));
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
