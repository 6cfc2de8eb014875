#include "prove/normal_form/simplify.h"

#include <algorithm>
#include <numeric>

#include "algebra/sizes/checked.h"

namespace rulemill::prove {

namespace {

/// g·p + c ≥ 0 is p + floor(c / g) ≥ 0; g·p + c = 0 needs g | c. False if it cannot hold; `trivial` if it always does.
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
        fault == Fault::TightenedUp ? -algebra::floor_quotient(-c, g) : algebra::floor_quotient(c, g);
    guard.poly -= c - algebra::checked_multiply(g, rounded);
    guard.poly = *guard.poly.divided_by({{}, g});
  }
  if (guard.equality && guard.poly.terms().back().coefficient < 0) guard.poly = -guard.poly;
  return true;
}

/// Whether `fact` makes `guard` redundant, or contradicts it.
enum class Bearing { None, Implies, Contradicts, Together };
Bearing bearing(const Guard& fact, const Guard& guard) {
  if (const std::optional<std::int64_t> slack = (guard.poly - fact.poly).constant()) {
    if (fact.equality && guard.equality) return *slack == 0 ? Bearing::Implies : Bearing::Contradicts;
    if (fact.equality) return *slack >= 0 ? Bearing::Implies : Bearing::Contradicts;
    if (guard.equality) return *slack > 0 ? Bearing::Contradicts : Bearing::None;  // guard.poly = 0 makes fact.poly < 0
    return *slack >= 0 ? Bearing::Implies : Bearing::None;
  }
  if (const std::optional<std::int64_t> sum = (guard.poly + fact.poly).constant()) {
    if (fact.equality && guard.equality) return *sum == 0 ? Bearing::Implies : Bearing::Contradicts;
    if (fact.equality) return *sum >= 0 ? Bearing::Implies : Bearing::Contradicts;
    if (guard.equality) return *sum < 0 ? Bearing::Contradicts : Bearing::None;
    if (*sum < 0) return Bearing::Contradicts;
    if (*sum == 0) return Bearing::Together;  // p ≥ 0 and −p ≥ 0: p = 0
  }
  return Bearing::None;
}

/// equality = 0 solved for `index`, if it occurs alone with coefficient ±1 and nowhere else.
std::optional<Poly> solved_for(const Poly& equality, Atom index, const Symbols& symbols) {
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
      std::optional<Poly> value = solved_for(guard.poly, index, symbols);
      if (!value) continue;
      product.bound.erase(product.bound.begin() + static_cast<std::ptrdiff_t>(b));
      substitute(product, {{index, std::move(*value)}}, symbols);
      return true;
    }
  }
  return false;
}

/// A free index that an equality gives is replaced everywhere but in that equality: equal products then look alike.
bool eliminate_free(Product& product, Symbols& symbols, Fault fault) {
  for (std::size_t g = 0; g < product.guards.size(); ++g) {
    if (!product.guards[g].equality) continue;
    const std::vector<Atom> atoms = symbols.atoms(product.guards[g].poly);
    for (auto atom = atoms.rbegin(); atom != atoms.rend(); ++atom) {
      if (symbols.kind(*atom) != Symbols::Kind::Index) continue;
      const std::optional<Poly> value = solved_for(product.guards[g].poly, *atom, symbols);
      if (!value) continue;
      const Guard kept = product.guards[g];
      bool occurs = false;
      product.guards.erase(product.guards.begin() + static_cast<std::ptrdiff_t>(g));
      for_each_poly(std::as_const(product), [&](const Poly& poly) { occurs |= symbols.contains(poly, *atom); });
      if (occurs) substitute(product, {{*atom, *value}}, symbols);
      if (fault != Fault::EqualityForgotten) product.guards.push_back(kept);
      if (occurs) return true;
      break;
    }
  }
  return false;
}

bool simplify_nested(Product& product, Symbols& symbols) {
  for (Factor& factor : product.factors) {
    for (Sum& argument : factor.arguments) {
      std::erase_if(argument, [&](Product& inner) { return !simplify(inner, factor.guards, symbols); });
    }
  }
  return true;
}

}  // namespace

bool tidy(Guards& guards, const Guards& known, Fault fault) {
  Guards kept;
  for (Guard guard : guards) {
    bool redundant = false;
    if (!tighten(guard, redundant, fault)) return false;
    for (const Guard& fact : known) {
      if (redundant) break;
      const Bearing how = bearing(fact, guard);
      if (how == Bearing::Contradicts) return false;
      redundant = how == Bearing::Implies;
    }
    for (std::size_t i = 0; i < kept.size() && !redundant; ++i) {
      const Bearing how = bearing(kept[i], guard);
      if (how == Bearing::Contradicts) return false;
      if (how == Bearing::Implies) redundant = true;
      if (how == Bearing::Together) {
        kept[i].equality = true;
        bool trivial = false;
        if (!tighten(kept[i], trivial, fault)) return false;
        redundant = true;
      } else if (!redundant && bearing(guard, kept[i]) == Bearing::Implies) {
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i--));
      }
    }
    if (!redundant) kept.push_back(std::move(guard));
  }
  guards = std::move(kept);
  return true;
}

std::uint64_t steps_to_simplify(const Sum& sum, std::size_t known) {
  std::uint64_t steps = 0;
  for (const Product& product : sum) steps += 20 + 10 * product.guards.size() * (product.guards.size() + known);
  return steps;
}

bool simplify(Product& product, const Guards& known, Symbols& symbols, Fault fault) {
  if (product.coefficient.num == 0) return false;
  do {
    if (!tidy(product.guards, known, fault)) return false;
  } while (eliminate_bound(product, symbols) || eliminate_free(product, symbols, fault));
  return simplify_nested(product, symbols);
}

namespace {

/// Replaces a quotient floor(n / d) that has one value v alone where the guards hold: v·d ≤ n < (v + 1)·d.
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
    if (!symbols.positive(d) && !solver.implied({}, {false, d - 1}, "a divisor is positive", Solver::Depth::Linear))
      continue;
    const std::optional<std::int64_t> value = solver.only_value(product.guards, Poly(division), "a quotient is fixed");
    if (!value) continue;
    const std::int64_t taken = *value + (solver.has(Fault::QuotientOff) ? 1 : 0);
    for_each_poly(product, [&](Poly& poly) {
      const std::vector<Poly> powers = poly.powers_of(division);
      poly = powers.back();
      for (std::size_t i = powers.size() - 1; i-- > 0;) poly = poly * Poly(taken) + powers[i];
    });
    // What fixed the quotient may have spoken of it: say the same without it.
    for (const Guard& guard : {Guard{false, n - Poly(*value) * d}, Guard{false, Poly(*value + 1) * d - 1 - n}}) {
      if (!solver.implied(product.guards, guard, "a fixed quotient's range")) product.guards.push_back(guard);
    }
    return true;
  }
  return false;
}

}  // namespace

bool simplify_fully(Product& product, Solver& solver, const algebra::TermBank& bank) {
  do {
    if (!simplify(product, solver.assumptions(), solver.symbols(), solver.fault())) return false;
    if (!product.guards.empty() && solver.has(Fault::ProductDropped)) return false;
    if (!product.guards.empty() && solver.infeasible(product.guards, "a product vanishes")) return false;
  } while (decide_division(product, solver));
  const bool nested = std::any_of(product.factors.begin(), product.factors.end(),
                                  [](const Factor& factor) { return !factor.arguments.empty(); });
  if (!nested) return true;
  const Solver::Assumption here(solver, product.guards);
  for (Factor& factor : product.factors) {
    const Solver::Assumption within(solver, factor.guards);
    bool zero = !factor.arguments.empty();
    for (Sum& argument : factor.arguments) {
      simplify_fully(argument, solver, bank);
      zero &= argument.empty();
    }
    if (!zero) continue;
    if (factor.kind == Factor::Kind::Max) return false;
    if (bank.library().functions()[factor.symbol].maps_zero_to_zero) return false;
  }
  return true;
}

void simplify_fully(Sum& sum, Solver& solver, const algebra::TermBank& bank) {
  solver.budget().spend(steps_to_simplify(sum, solver.assumptions().size()));
  std::erase_if(sum, [&](Product& product) { return !simplify_fully(product, solver, bank); });
}

}  // namespace rulemill::prove
