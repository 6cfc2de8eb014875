#include "algebra/terms/narrowing.h"

#include <algorithm>
#include <optional>

#include "algebra/terms/size_condition.h"

namespace rulemill::algebra {
namespace {

Poly difference(const SizeCondition& c) { return c.right - c.left; }

bool is_known(const SizeCondition& equation, const Unifier& stage) {
  const Poly open = stage.resolve(difference(equation));
  const auto is_same = [&](const Poly& poly) { return poly == open || poly == -open; };
  return open.is_zero() || std::ranges::any_of(stage.residue(), is_same);
}

/// The sizes that stand for these at a stage.
std::set<Atom> sizes_at(const Unifier& stage, const std::set<Atom>& sizes, const Symbols& symbols) {
  std::set<Atom> result;
  for (const Atom size : sizes) {
    for (const Atom atom : symbols.atoms(stage.resolve(Poly(size)))) result.insert(atom);
  }
  return result;
}

}  // namespace

NarrowingSearch::Equations NarrowingSearch::equations(const std::set<Atom>& free) const {
  Equations result;
  std::vector<SizeCondition>& open = result.between_free;
  for (const Atom size : free) {
    const Poly value = types_.resolve(Poly(size));
    if (value != Poly(size)) open.push_back({Relation::Eq, Poly(size), value});
  }
  for (const Poly& poly : types_.residue()) open.push_back(equals_zero(poly));
  const auto unknown_of = [&](const SizeCondition& equation) -> std::optional<Atom> {
    const auto name = equation.right.atom();
    if (name && symbols_.kind(*name) == Symbols::Kind::Size && !free.contains(*name)) return name;
    for (const Atom atom : symbols_.atoms(difference(equation))) {
      const auto has_atom = [&](const SizeCondition& other) { return symbols_.contains(difference(other), atom); };
      if (!free.contains(atom) && std::ranges::count_if(open, has_atom) == 1) return atom;
    }
    return std::nullopt;
  };
  for (std::size_t i = 0; i < open.size();) {
    const std::optional<Atom> unknown = unknown_of(open[i]);
    if (!unknown) {
      ++i;
      continue;
    }
    const SizeCondition solved = open[i];
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;
    if (solved.right == Poly(*unknown)) {  // another name of a free size
      for (SizeCondition& other : open) other = substitute(other, {{*unknown, solved.left}}, symbols_);
    }
    result.solved.emplace_back(solved, *unknown);
  }
  return result;
}

Unifier NarrowingSearch::with_conditions(Unifier stage) const {
  for (const SizeCondition& each : conditions_) stage.unify(each.left, each.right);
  stage.simplify_residue(positive_);
  return stage;
}

void NarrowingSearch::add_equations(const Unifier& earlier, const std::set<Atom>& free) {
  Unifier known = with_conditions(earlier);
  for (const SizeCondition& equation : equations(free).between_free) {
    if (is_known(equation, known)) continue;
    known.unify(equation.left, equation.right);
    known.simplify_residue(positive_);
    conditions_.push_back(equation);
  }
}

void NarrowingSearch::add_solutions(const Unifier& earlier, const std::set<Atom>& free) {
  const Unifier known = with_conditions(earlier);
  for (const auto& [equation, unknown] : equations(free).solved) {
    const std::vector<Poly> powers = difference(equation).coefficients_in(unknown);
    if (powers.size() != 2 || is_known(equation, known)) continue;
    if (powers[1] == 1 || powers[1] == -1) {
      add_positive(powers[1] == 1 ? -powers[0] : powers[0], free);
      continue;
    }
    const std::vector<Atom> divisors = symbols_.atoms(powers[1]);
    const bool can_be_one = std::ranges::any_of(divisors, [&](Atom atom) { return !free.contains(atom); });
    const Poly dividend = known.resolve(powers[0]), divisor = known.resolve(powers[1]);
    if (can_be_one || symbols_.floor_div(dividend, divisor) * divisor == dividend) continue;
    const bool is_negative = symbols_.is_positive(-powers[1]);
    conditions_.push_back(
        equals_zero(is_negative ? -symbols_.mod(powers[0], -powers[1]) : -symbols_.mod(-powers[0], powers[1])));
  }
}

/// Adds that a difference is a size if its other sizes are 1; without condition if one of them makes it larger.
void NarrowingSearch::add_positive(Poly value, const std::set<Atom>& free) {
  for (const Atom atom : symbols_.atoms(value)) {
    if (free.contains(atom)) continue;
    const std::vector<Poly> powers = value.coefficients_in(atom);
    if (powers.size() != 2 || !symbols_.is_positive(-powers[1])) return;
    value = powers[0] + powers[1];
  }
  if (!symbols_.is_positive(value)) conditions_.push_back(at_least_zero(value - 1));
}

void NarrowingSearch::add_bounds(const Unifier& earlier, const std::set<Atom>& free,
                                 std::span<const Poly> earlier_bounds, std::span<const Poly> bounds) {
  const auto has_other = [&](const Poly& poly, const std::set<Atom>& sizes) {
    return std::ranges::any_of(symbols_.atoms(poly), [&](Atom atom) { return !sizes.contains(atom); });
  };
  const std::set<Atom> then = sizes_at(earlier, free, symbols_), now = sizes_at(types_, free, symbols_);
  for (const Poly& bound : bounds) {
    const auto is_same = [&](const Poly& known) { return !has_other(known, then) && types_.resolve(known) == bound; };
    if (symbols_.is_nonnegative(bound) || has_other(bound, now) || std::ranges::any_of(earlier_bounds, is_same))
      continue;
    conditions_.push_back(at_least_zero(bound));
  }
}

}  // namespace rulemill::algebra
