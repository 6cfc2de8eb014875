// Sums over an index that occurs in floor quotients, as strided and merged ranges do, become sums over the quotients.
#include <algorithm>

#include "prove/elaboration/elaborator.h"

namespace rulemill::prove {

/// Rewrites Σ_u [G] t(u, floor(n / d)) to a sum over v = floor(n / d), and, unless G determines u by v, over the
/// remainder n − d·v, where n contains u once; maxima alike. All this is kept once products cancel.
bool Elaborator::name_quotients(State state) { return name_quotients(state, false) || name_quotients(state, true); }

bool Elaborator::name_quotients(State state, bool reversed) {
  Attempt attempt{state.sum, {}};
  const auto name_in = [&](std::size_t p) {
    const check::Product product = attempt.sum[p];
    bool named = name_quotient(attempt, {p}, product, reversed, state.context);
    for (std::size_t f = 0; f < product.factors.size() && !named; ++f)
      named = product.factors[f].kind == check::Factor::Kind::Max &&
              name_quotient(attempt, {p, f}, product.factors[f], reversed, state.context);
    return named;
  };
  for (std::size_t p = 0, named = 0; p < attempt.sum.size() && named < max_named_quotients;) {
    if (!name_in(p)) {
      ++p;
      continue;
    }
    ++named;
    simplify_product(attempt.in(state.context), p);
    Attempt trial = attempt;
    if (!cancel(trial.in(state.context))) continue;
    commit(std::move(trial), state);
    return true;
  }
  return false;
}

/// Tries the quotients with the fewest indices first, and of these the ones with the largest divisors; or the reverse.
template <class Range>
bool Elaborator::name_quotient(Attempt& attempt, const Place& at, const Range& range, bool reversed,
                               const Context& context) {
  Range body = range;
  body.guards.clear();
  std::set<Atom> all;
  check::for_each_poly(body, [&](Poly& poly) { atoms_.collect(poly, all); });
  std::erase_if(all, [&](Atom atom) { return atoms_.kind(atom) != check::Atoms::Kind::Quotient; });
  std::vector<Atom> quotients(all.begin(), all.end());
  const auto rank = [&](Atom quotient) {
    const auto occurs = [&](Atom index) { return atoms_.occurs(atoms_.left(quotient), index); };
    return std::pair(-std::ranges::count_if(range.bound, occurs), atoms_.right(quotient).terms().back());
  };
  std::ranges::stable_sort(quotients, std::ranges::greater(), rank);
  if (reversed) std::ranges::reverse(quotients);
  return std::ranges::any_of(quotients, [&](Atom quotient) {
    return replace_quotient(attempt, at, quotient, range.bound, context) ||
           std::ranges::any_of(range.bound, [&](Atom index) {
             Attempt trial = attempt;
             if (!name_quotient(trial, at, quotient, index, context)) return false;
             attempt = std::move(trial);
             return true;
           });
  });
}

/// Replaces floor(n / (k·e)) of several indices by floor(floor(n / k) / e) for the largest coefficient k of an index in
/// n, or by 0.
bool Elaborator::replace_quotient(Attempt& attempt, const Place& at, Atom quotient, const std::vector<Atom>& indices,
                                  const Context& context) {
  const Poly above = atoms_.left(quotient), divisor = atoms_.right(quotient);
  Poly largest = 1, value;
  std::size_t count = 0;
  for (const Atom index : indices) {
    const std::vector<Poly> powers = above.coefficients_in(index);
    if (powers.size() != 2) continue;
    ++count;
    const Poly &k = powers[1], e = atoms_.floor_div(divisor, k);
    if (e * k != divisor || k.terms().back() <= largest.terms().back()) continue;
    largest = k;
    value = atoms_.floor_div(Poly(index) + atoms_.floor_div(powers[0], k), e);
  }
  const auto is_set = [&](const Poly& to) { return try_step(attempt.in(context), steps::set(at, quotient, to)); };
  return count > 1 && (is_set(0) || (largest != Poly(1) && is_set(value)));
}

/// Replaces the quotient by a new index v, and the index by what v, or v and the remainder, then determine. Replaces
/// guards on several of these by their ranges.
bool Elaborator::name_quotient(Attempt& attempt, const Place& at, Atom quotient, Atom index, const Context& context) {
  const Poly above = atoms_.left(quotient), divisor = atoms_.right(quotient);
  if (!solution(above, index, atoms_) || atoms_.occurs(divisor, index)) return false;
  const auto set = [&](Atom atom, const Poly& value) {
    return try_step(attempt.in(context), steps::set(at, atom, value));
  };
  const auto name = [&](Atom atom, const Poly& value) {
    return try_step(attempt.in(context), steps::name(at, atom, value));
  };
  const auto add_guard = [&](const Poly& poly) { try_step(attempt.in(context), steps::add_guard(at, {false, poly})); };
  const auto guards = [&] {
    const check::Product& product = attempt.sum[at[0]];
    return at.size() == 2 ? product.factors[at[1]].guards : product.guards;
  };
  const Atom v = atoms_.fresh_bound(), remainder = atoms_.fresh_bound();
  if (!name(v, Poly(quotient))) return false;
  add_guard(Poly(v));
  for (const check::Guard& guard : guards()) {
    const Poly end = guard.poly + 1 + above, number = atoms_.floor_div(end, divisor);
    if (!guard.equality && number * divisor == end) add_guard(number - 1 - Poly(v));
  }
  if (!set(quotient, Poly(v))) return false;
  const auto sets_index = [&](const check::Guard& guard) {
    const auto value = guard.equality ? solution(guard.poly, index, atoms_) : std::nullopt;
    return value && set(index, *value);
  };
  if (!std::ranges::any_of(guards(), sets_index)) {
    const Poly rest = above - divisor * Poly(v);
    if (!name(remainder, rest)) return false;
    add_guard(Poly(remainder));
    add_guard(divisor - 1 - Poly(remainder));
    if (!set(index, *solution(rest - Poly(remainder), index, atoms_))) return false;
  }
  const check::Guards old = guards();
  for (std::size_t g = old.size(); g-- > 0;) {
    std::set<Atom> atoms;
    atoms_.collect(old[g].poly, atoms);
    const auto varies = [&](Atom atom) {
      return atoms_.is_compound(atom) || atoms_.kind(atom) == check::Atoms::Kind::Bound;
    };
    if (std::ranges::count_if(atoms, varies) < 2) continue;
    try_step(attempt.in(context), steps::drop_guard(at, g));
  }
  return true;
}

}  // namespace rulemill::prove
