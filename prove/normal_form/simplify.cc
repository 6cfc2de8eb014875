#include "prove/normal_form/simplify.h"

#include <algorithm>
#include <numeric>

#include "algebra/sizes/checked.h"

namespace rulemill::prove {

namespace {

/// Rewrites g·p + c ≥ 0 to p + floor(c / g) ≥ 0; g·p + c = 0 requires g | c. Returns false if the guard cannot hold,
/// and sets `trivial` if it always holds.
bool tighten(Guard& guard, bool& trivial, Fault fault) {
  trivial = false;
  if (const std::optional<std::int64_t> constant = guard.poly.constant()) {
    trivial = guard.equality ? *constant == 0 : *constant >= 0;
    return trivial;
  }
  std::int64_t g = 0;
  for (const Poly::Term& term : guard.poly.terms()) {
    if (!term.monomial.empty()) g = std::gcd(g, term.coefficient);
  }
  const std::int64_t c = guard.poly.constant_term();
  if (guard.equality && c % g != 0) return false;
  if (g > 1) {
    const std::int64_t rounded =
        fault == Fault::GuardRoundedUp ? -algebra::floor_quotient(-c, g) : algebra::floor_quotient(c, g);
    guard.poly -= c - algebra::checked_multiply(g, rounded);
    guard.poly = *guard.poly.divided_by({{}, g});
  }
  if (guard.equality && guard.poly.terms().back().coefficient < 0) guard.poly = -guard.poly;
  return true;
}

/// The relation of `fact` to `guard`.
enum class Entailment { None, Implies, Contradicts, ImpliesEquality };
Entailment entailment(const Guard& fact, const Guard& guard) {
  if (const std::optional<std::int64_t> slack = (guard.poly - fact.poly).constant()) {
    if (fact.equality && guard.equality) return *slack == 0 ? Entailment::Implies : Entailment::Contradicts;
    if (fact.equality) return *slack >= 0 ? Entailment::Implies : Entailment::Contradicts;
    if (guard.equality)
      return *slack > 0 ? Entailment::Contradicts : Entailment::None;  // guard.poly = 0 makes fact.poly < 0
    return *slack >= 0 ? Entailment::Implies : Entailment::None;
  }
  if (const std::optional<std::int64_t> sum = (guard.poly + fact.poly).constant()) {
    if (fact.equality && guard.equality) return *sum == 0 ? Entailment::Implies : Entailment::Contradicts;
    if (fact.equality) return *sum >= 0 ? Entailment::Implies : Entailment::Contradicts;
    if (guard.equality) return *sum < 0 ? Entailment::Contradicts : Entailment::None;
    if (*sum < 0) return Entailment::Contradicts;
    if (*sum == 0) return Entailment::ImpliesEquality;  // p ≥ 0 and −p ≥ 0: p = 0
  }
  return Entailment::None;
}

/// Solves equality = 0 for `index` if it occurs only linearly, with coefficient ±1.
std::optional<Poly> solve_for(const Poly& equality, Atom index, const Symbols& symbols) {
  const std::int64_t coefficient = equality.coefficient(index);
  if (coefficient != 1 && coefficient != -1) return std::nullopt;
  const Poly rest = equality - Poly(index) * Poly(coefficient);
  if (symbols.contains(rest, index)) return std::nullopt;
  return coefficient == 1 ? -rest : rest;
}

bool eliminate_bound(Product& product, Symbols& symbols) {
  for (const Guard& guard : product.guards) {
    if (!guard.equality) continue;
    for (std::size_t b = 0; b < product.bound.size(); ++b) {
      const Atom index = product.bound[b];
      std::optional<Poly> value = solve_for(guard.poly, index, symbols);
      if (!value) continue;
      product.bound.erase(product.bound.begin() + static_cast<std::ptrdiff_t>(b));
      substitute(product, {{index, std::move(*value)}}, symbols);
      return true;
    }
  }
  return false;
}

/// Replaces a free index that an equality determines everywhere except in that equality, so that equal products have
/// equal texts.
bool eliminate_free(Product& product, Symbols& symbols, Fault fault) {
  for (std::size_t g = 0; g < product.guards.size(); ++g) {
    if (!product.guards[g].equality) continue;
    const std::vector<Atom> atoms = symbols.atoms(product.guards[g].poly);
    for (auto atom = atoms.rbegin(); atom != atoms.rend(); ++atom) {
      if (symbols.kind(*atom) != Symbols::Kind::Index) continue;
      const std::optional<Poly> value = solve_for(product.guards[g].poly, *atom, symbols);
      if (!value) continue;
      const Guard kept = product.guards[g];
      bool occurs = false;
      product.guards.erase(product.guards.begin() + static_cast<std::ptrdiff_t>(g));
      for_each_poly(std::as_const(product), [&](const Poly& poly) { occurs |= symbols.contains(poly, *atom); });
      if (occurs) substitute(product, {{*atom, *value}}, symbols);
      if (fault != Fault::EqualityDropped) product.guards.push_back(kept);
      if (occurs) return true;
      break;
    }
  }
  return false;
}

void simplify_nested(Product& product, Symbols& symbols) {
  for (Factor& factor : product.factors) {
    for (Sum& argument : factor.arguments) {
      std::erase_if(argument, [&](Product& inner) { return !simplify(inner, factor.guards, symbols); });
    }
  }
}

}  // namespace

bool simplify_guards(Guards& guards, const Guards& known, Fault fault) {
  Guards kept;
  for (Guard guard : guards) {
    bool redundant = false;
    if (!tighten(guard, redundant, fault)) return false;
    for (const Guard& fact : known) {
      if (redundant) break;
      const Entailment relation = entailment(fact, guard);
      if (relation == Entailment::Contradicts) return false;
      redundant = relation == Entailment::Implies;
    }
    for (std::size_t i = 0; i < kept.size() && !redundant; ++i) {
      const Entailment relation = entailment(kept[i], guard);
      if (relation == Entailment::Contradicts) return false;
      if (relation == Entailment::Implies) redundant = true;
      if (relation == Entailment::ImpliesEquality) {
        kept[i].equality = true;
        bool trivial = false;
        if (!tighten(kept[i], trivial, fault)) return false;
        redundant = true;
      } else if (!redundant && entailment(guard, kept[i]) == Entailment::Implies) {
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i--));
      }
    }
    if (!redundant) kept.push_back(std::move(guard));
  }
  guards = std::move(kept);
  return true;
}

std::uint64_t simplification_cost(const Sum& sum, std::size_t known) {
  std::uint64_t steps = 0;
  for (const Product& product : sum) steps += 20 + 10 * product.guards.size() * (product.guards.size() + known);
  return steps;
}

bool simplify(Product& product, const Guards& known, Symbols& symbols, Fault fault) {
  if (product.coefficient.num == 0) return false;
  do {
    if (!simplify_guards(product.guards, known, fault)) return false;
  } while (eliminate_bound(product, symbols) || eliminate_free(product, symbols, fault));
  simplify_nested(product, symbols);
  return true;
}

namespace {

/// Replaces a quotient floor(n / d) that has only one value v where the guards hold: v·d ≤ n < (v + 1)·d.
bool decide_division(Product& product, Solver& solver) {
  Symbols& symbols = solver.symbols();
  std::vector<Atom> divisions;
  for_each_poly(std::as_const(product), [&](const Poly& poly) {
    for (const Poly::Term& term : poly.terms()) {
      for (const Atom atom : term.monomial) {
        if (symbols.kind(atom) == Symbols::Kind::FloorDiv) divisions.push_back(atom);
      }
    }
  });
  std::sort(divisions.begin(), divisions.end());
  divisions.erase(std::unique(divisions.begin(), divisions.end()), divisions.end());
  for (const Atom division : divisions) {
    const Poly n = symbols.left(division);
    const Poly d = symbols.right(division);
    const std::vector<Atom> atoms = symbols.atoms(n);
    const auto is_index = [&](Atom atom) { return symbols.kind(atom) == Symbols::Kind::Index; };
    if (std::none_of(atoms.begin(), atoms.end(), is_index)) continue;
    if (!symbols.is_positive(d) &&
        !solver.is_implied({}, {false, d - 1}, "a divisor is positive", Solver::Depth::Linear))
      continue;
    const std::optional<std::int64_t> value =
        solver.unique_value(product.guards, Poly(division), "a quotient is fixed");
    if (!value) continue;
    const std::int64_t taken = *value + (solver.has_fault(Fault::QuotientOffByOne) ? 1 : 0);
    for_each_poly(product, [&](Poly& poly) {
      const std::vector<Poly> powers = poly.coefficients_in(division);
      poly = powers.back();
      for (std::size_t i = powers.size() - 1; i-- > 0;) poly = poly * Poly(taken) + powers[i];
    });
    // The guards that fixed the quotient may contain it. State the same without it.
    for (const Guard& guard : {Guard{false, n - Poly(*value) * d}, Guard{false, Poly(*value + 1) * d - 1 - n}}) {
      if (!solver.is_implied(product.guards, guard, "a fixed quotient's range")) product.guards.push_back(guard);
    }
    return true;
  }
  return false;
}

}  // namespace

bool simplify_with_solver(Product& product, Solver& solver, const algebra::TermBank& bank) {
  do {
    if (!simplify(product, solver.assumptions(), solver.symbols(), solver.fault())) return false;
    if (!product.guards.empty() && solver.has_fault(Fault::GuardedProductDropped)) return false;
    if (!product.guards.empty() && solver.is_infeasible(product.guards, "a product vanishes")) return false;
  } while (decide_division(product, solver));
  const bool nested = std::any_of(product.factors.begin(), product.factors.end(),
                                  [](const Factor& factor) { return !factor.arguments.empty(); });
  if (!nested) return true;
  const Solver::Assumption here(solver, product.guards);
  for (Factor& factor : product.factors) {
    const Solver::Assumption within(solver, factor.guards);
    bool zero = !factor.arguments.empty();
    for (Sum& argument : factor.arguments) {
      simplify_with_solver(argument, solver, bank);
      zero &= argument.empty();
    }
    if (!zero) continue;
    if (factor.kind == Factor::Kind::Max) return false;
    if (bank.library().functions()[factor.symbol].maps_zero_to_zero) return false;
  }
  return true;
}

void simplify_with_solver(Sum& sum, Solver& solver, const algebra::TermBank& bank) {
  solver.budget().spend(simplification_cost(sum, solver.assumptions().size()));
  std::erase_if(sum, [&](Product& product) { return !simplify_with_solver(product, solver, bank); });
}

}  // namespace rulemill::prove
