// What laws of functions, maxima and sums make of a product, where it cancels with no other as it stands.
#include <algorithm>
#include <set>

#include "prove/elaboration/elaborator.h"
#include "runtime/error.h"

namespace rulemill::prove {

using Kind = check::Factor::Kind;

bool Elaborator::by_laws(check::Sum& sum, const Context& context, Steps& steps) {
  bool changed = false;
  for (std::size_t p = 0; p < sum.size();) {
    if (!by_laws(sum, p, context, steps))
      ++p;
    else
      changed = true;
  }
  if (changed) simplify(sum, context, steps);
  return changed || match_indices(sum, context, steps);
}

/// One law on product p; others may come to stand in its place.
bool Elaborator::by_laws(check::Sum& sum, std::size_t p, const Context& context, Steps& steps) {
  if (count(sum, p, context, steps) || multiply_out(sum, p, context, steps)) return true;
  for (std::size_t f = 0; f < sum[p].factors.size(); ++f) {
    const Kind kind = sum[p].factors[f].kind;
    if (kind != Kind::Apply && kind != Kind::Max) continue;
    if (tidy_arguments(sum, p, f, context, steps)) return true;
    const check::Factor factor = sum[p].factors[f];
    const algebra::Function* function = kind == Kind::Apply ? &statement_.function(factor.symbol) : nullptr;
    if (function && take(sum, context, step(Op::Constant, {p, f}), steps)) return true;
    if (function && function->parity != 0 && is_turned(factor.arguments[0]) &&
        take(sum, context, step(Op::Turn, {p, f}), steps))
      return true;
    if (function && function->exponential) {
      for (std::size_t g = f + 1; g < sum[p].factors.size(); ++g) {
        if (take(sum, context, step(Op::Join, {p, f, g}), steps)) return true;
      }
    }
    if (function && check::is_piecewise(*function) && take(sum, context, step(Op::Lift, {p, f}), steps)) return true;
    if (function && !function->real.empty() && unit(sum, p, f, context, steps)) return true;
    if (!function && at_some_point(sum, step(Op::Open, {p, f}), factor.bound, factor.guards, context, steps))
      return true;
    if (!function || function->degree != 0) {
      check::Sum changed = sum;
      Steps more;
      part_common(changed, p, f, context, more);
      if (take(changed, context, step(Op::Scale, {p, f}), more)) {
        accept({std::move(changed), std::move(more)}, sum, steps);
        return true;
      }
    }
    if (function || factor.arguments[0].size() != 1 || factor.arguments[0][0].factors.size() != 1) continue;
    const check::Factor& inner = factor.arguments[0][0].factors[0];
    if (inner.kind == Kind::Max) {
      if (at_some_point(sum, step(Op::Flatten, {p, f}), inner.bound, inner.guards, context, steps)) return true;
    } else if (inner.kind == Kind::Apply && statement_.function(inner.symbol).monotone) {
      if (take(sum, context, step(Op::Lift, {p, f}), steps)) return true;
      if (at_some_point(sum, step(Op::Lift, {p, f}), factor.bound, factor.guards, context, steps)) return true;
    }
  }
  return false;
}

/// Forgets what is guarded of the index together with other indices, as windows are: its own range may imply that.
void Elaborator::forget_windows(check::Sum& sum, std::size_t p, Atom atom, const Context& context, Steps& steps) {
  for (std::size_t g = sum[p].guards.size(); g-- > 0;) {
    std::set<Atom> atoms;
    atoms_.collect(sum[p].guards[g].poly, atoms);
    const bool together = std::ranges::any_of(atoms, [&](Atom other) {
      const auto kind = atoms_.kind(other);
      return other != atom && (kind == check::Atoms::Kind::Output || kind == check::Atoms::Kind::Bound);
    });
    if (together && atoms.contains(atom)) take(sum, context, step(Op::Forget, {p, g}), steps);
  }
}

bool Elaborator::count(check::Sum& sum, std::size_t p, const Context& context, Steps& steps) {
  for (const Atom atom : std::vector<Atom>(sum[p].bound)) {
    check::Product others = sum[p];
    others.guards.clear();
    if (check::has_any(others, {atom}, atoms_)) continue;
    check::Sum trial = sum;
    Steps more;
    forget_windows(trial, p, atom, context, more);
    std::optional<Poly> low, high;
    for (std::size_t g = trial[p].guards.size(); g-- > 0;) {
      const check::Guard guard = trial[p].guards[g];
      if (!atoms_.occurs(guard.poly, atom)) continue;
      const std::int64_t c = guard.equality ? 0 : guard.poly.coefficient(atom);
      std::optional<Poly>& bound = c == 1 ? low : high;
      const Poly rest = guard.poly - Poly(atom) * Poly(c);
      if ((c == 1 || c == -1) && !bound && !atoms_.occurs(rest, atom))
        bound = c == 1 ? -rest : rest;
      else
        take(trial, context, step(Op::Forget, {p, g}), more);
    }
    if (!low || !high) continue;
    Step counted = step(Op::Count, {p});
    counted.atom = atom;
    counted.polys = {*low, *high};
    if (!take(trial, context, std::move(counted), more)) continue;
    accept({std::move(trial), std::move(more)}, sum, steps);
    return true;
  }
  return false;
}

bool Elaborator::multiply_out(check::Sum& sum, std::size_t p, const Context& context, Steps& steps) {
  const std::vector<check::Factor>& factors = sum[p].factors;
  for (std::size_t f = 0; f < factors.size(); ++f) {
    if (factors[f].kind != Kind::Whole) continue;
    for (std::size_t g = 0; g < factors.size(); ++g) {
      const bool inverse = factors[g].kind == Kind::Inverse && factors[g].index == factors[f].index;
      if (inverse && take(sum, context, step(Op::Reduce, {p, f, g}), steps)) return true;
    }
    if (!factors[f].index[0].atom() && take(sum, context, step(Op::Expand, {p, f}), steps)) return true;
  }
  return false;
}

bool Elaborator::tidy_arguments(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps) {
  if (depth_ == deepest) return false;
  bool changed = false;
  for (std::size_t a = 0; a < sum[p].factors[f].arguments.size(); ++a) {
    check::Kernel kernel(statement_, {});
    const Context inner = kernel.inside(context, sum[p], sum[p].factors[f]);
    Step within = step(Op::Within, {p, f, a});
    check::Sum argument = sum[p].factors[f].arguments[a];
    ++depth_;
    simplify(argument, inner, within.block);
    for (std::size_t q = 0; q < argument.size(); ++q) {
      for (std::size_t g = argument[q].guards.size(); g-- > 0;)
        take(argument, inner, step(Op::Forget, {q, g}), within.block);
    }
    while (argument.size() > 1 && cancel(argument, inner, within.block)) {
    }
    gather(argument, inner, within.block);
    by_laws(argument, inner, within.block);
    --depth_;
    if (!within.block.empty()) changed |= take(sum, context, std::move(within), steps);
  }
  return changed;
}

void Elaborator::gather(check::Sum& sum, const Context& context, Steps& steps) {
  for (std::size_t p = 0; p < sum.size(); ++p) {
    for (std::size_t q = p + 1; q < sum.size();) {
      bool gathered = false;
      for (Attempt& aligned : alignments({sum, {}}, q, p, context, 1)) {
        gathered = take(aligned.sum, context, step(Op::Gather, {p, q}), aligned.steps);
        if (gathered) accept(std::move(aligned), sum, steps);
      }
      if (!gathered) ++q;
    }
  }
}

void Elaborator::part_common(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps) {
  const check::Factor factor = sum[p].factors[f];
  const auto is_power = [&](const check::Factor& other) {
    return other.kind == Kind::Apply && statement_.function(other.symbol).exponential;
  };
  const auto text = [&](const check::Product& part) { return statement_.text(part); };
  /// Where in which power of the product the part stands.
  const auto place = [&](const check::Product& product, const std::string& wanted) {
    for (std::size_t e = 0; e < product.factors.size(); ++e) {
      if (!is_power(product.factors[e])) continue;
      const check::Sum& exponent = product.factors[e].arguments[0];
      for (std::size_t q = 0; q < exponent.size(); ++q) {
        if (exponent.size() > 1 && text(exponent[q]) == wanted && !check::has_any(exponent[q], product.bound, atoms_))
          return std::optional(std::pair(e, q));
      }
    }
    return std::optional<std::pair<std::size_t, std::size_t>>();
  };
  if (factor.arguments.empty() || factor.arguments[0].empty()) return;
  const check::Product& first = factor.arguments[0][0];
  for (const check::Factor& power : first.factors) {
    if (!is_power(power)) continue;
    for (const check::Product& part : power.arguments[0]) {
      const bool common = !check::has_any(part, factor.bound, atoms_) &&
                          std::ranges::all_of(factor.arguments, [&](const check::Sum& argument) {
                            return std::ranges::all_of(argument, [&](const check::Product& other) {
                              return place(other, text(part)).has_value();
                            });
                          });
      if (!common) continue;
      for (std::size_t a = 0; a < factor.arguments.size(); ++a) {
        Step within = step(Op::Within, {p, f, a});
        for (std::size_t q = 0; q < factor.arguments[a].size(); ++q) {
          const auto [e, at] = *place(factor.arguments[a][q], text(part));
          within.block.push_back(step(Op::Part, {q, e, at}));
        }
        take(sum, context, std::move(within), steps);
      }
      return;
    }
  }
}

std::optional<Poly> Elaborator::least(Atom atom, const check::Guards& guards, const std::set<Atom>& without) const {
  std::optional<Poly> result;
  for (const check::Guard& guard : guards) {
    const std::int64_t c = guard.poly.coefficient(atom);
    if (c != 1 && !(guard.equality && c == -1)) continue;
    const Poly rest = (guard.poly - Poly(atom) * Poly(c)) * Poly(-c);
    const bool closed = !atoms_.occurs(rest, atom) &&
                        std::ranges::none_of(without, [&](Atom other) { return atoms_.occurs(rest, other); });
    if (closed) result = result ? atoms_.maximum(*result, rest) : rest;
  }
  return result;
}

bool Elaborator::at_some_point(check::Sum& sum, Step step, const std::vector<Atom>& bound, const check::Guards& guards,
                               const Context& context, Steps& steps) {
  for (std::int64_t point = 0; point <= 1; ++point) {
    step.polys.assign(bound.size(), Poly(point));
    if (take(sum, context, step, steps)) return true;
    if (bound.empty()) return false;
  }
  step.polys.clear();
  for (const Atom atom : bound)
    step.polys.push_back(least(atom, guards, {bound.begin(), bound.end()}).value_or(Poly(0)));
  return take(sum, context, std::move(step), steps);
}

bool Elaborator::match_indices(check::Sum& sum, const Context& context, Steps& steps) {
  const auto heads = [&](const check::Product& product) {
    std::vector<std::pair<Kind, std::uint32_t>> result;
    for (const check::Factor& factor : product.factors) result.emplace_back(factor.kind, factor.symbol);
    std::ranges::sort(result);
    return result;
  };
  for (std::size_t p = 0; p < sum.size(); ++p) {
    for (std::size_t onto = 0; onto < sum.size(); ++onto) {
      if (p == onto || heads(sum[p]) != heads(sum[onto])) continue;
      Attempt attempt{sum, {}};
      if (sum[p].bound.size() > sum[onto].bound.size() && coarsen(attempt, p, onto, context)) {
        accept(std::move(attempt), sum, steps);
        return true;
      }
      for (std::size_t f = 0; f < sum[p].factors.size(); ++f) {
        for (std::size_t g = 0; g < sum[onto].factors.size(); ++g) {
          const check::Factor &own = sum[p].factors[f], &model = sum[onto].factors[g];
          if (own.kind != Kind::Max || model.kind != Kind::Max || own.bound.size() <= model.bound.size()) continue;
          attempt = {sum, {}};
          if (!cover(attempt, p, f, onto, g, context)) continue;
          accept(std::move(attempt), sum, steps);
          return true;
        }
      }
    }
  }
  return false;
}

/// Gives the product, or the maximum, the names that the equations determine by its own indices.
bool Elaborator::name_all(Attempt& attempt, std::vector<std::size_t> at, const std::vector<Atom>& names,
                          const std::vector<Poly>& equations, const Context& context) {
  std::vector<Atom> unknown;
  for (const Atom name : names) unknown.push_back(bridge_.there(name));
  const SolvedIndices solved = solve_indices(equations, unknown, bridge_.symbols(), budget_);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = solved.map.find(unknown[i]);
    if (found == solved.map.end() || mentions(found->second, unknown, bridge_.symbols())) return false;
    Step named = step(Op::Name, at, at.size() == 2);
    named.atom = names[i];
    try {
      named.polys.push_back(bridge_.back(found->second));
    } catch (const runtime::Error&) {
      return false;  // an image in names that the checker does not have
    }
    if (!take(attempt.sum, context, std::move(named), attempt.steps)) return false;
  }
  return true;
}

/// Sets one of the indices to what guards say that it is: by an equation, or as the quotient of others.
bool Elaborator::set_one(Attempt& attempt, std::vector<std::size_t> at, std::vector<Atom>& left,
                         const Context& context) {
  const check::Product& product = attempt.sum[at[0]];
  const check::Guards guards = at.size() == 2 ? product.factors[at[1]].guards : product.guards;
  const auto set = [&](Atom atom, const Poly& value) {
    Step fixed = step(Op::Set, at, at.size() == 2);
    fixed.atom = atom;
    fixed.polys.push_back(value);
    if (!take(attempt.sum, context, std::move(fixed), attempt.steps)) return false;
    std::erase(left, atom);
    return true;
  };
  for (const Atom atom : left) {
    for (const check::Guard& guard : guards) {
      const std::int64_t c = guard.equality ? guard.poly.coefficient(atom) : 0;
      const Poly rest = guard.poly - Poly(atom) * Poly(c);
      if ((c == 1 || c == -1) && !atoms_.occurs(rest, atom) && set(atom, c == 1 ? -rest : rest)) return true;
    }
  }
  for (const Atom atom : left) {
    for (const check::Guard& guard : guards) {
      const std::vector<Poly> powers = guard.poly.powers_of(atom);
      if (powers.size() != 2 || !atoms_.nonnegative(-powers[1] - 1) || powers[1] == Poly(-1)) continue;
      const auto in_numerator = [&](Atom other) { return atoms_.occurs(powers[0], other); };
      if (std::ranges::none_of(left, in_numerator) && set(atom, atoms_.quotient(powers[0], -powers[1]))) return true;
    }
  }
  return false;
}

/// Σ over (u, v) of what depends on k·u + v alone, 0 ≤ v < k, as Σ over that: u is its quotient by k.
bool Elaborator::coarsen(Attempt& attempt, std::size_t p, std::size_t onto, const Context& context) {
  const std::vector<Atom> own = attempt.sum[p].bound;
  const Product product = bridge_.there(attempt.sum[p]);
  const Product model = bridge_.there(attempt.sum[onto]);
  const Attempt before = attempt;
  for (const std::vector<FactorPair>& pairs : pairings(product.factors, model.factors, align_.maps)) {
    for (const Equations& way : ways_to_equal(pairs, commutative_, align_.choices, budget_)) {
      attempt = before;
      if (!name_all(attempt, {p}, before.sum[onto].bound, way.polys, context)) continue;
      std::vector<Atom> left = own;
      while (set_one(attempt, {p}, left, context)) {
      }
      if (left.empty()) return true;
    }
  }
  return false;
}

/// The maximum that is factor f, over what its own indices are made into by the body, is that of factor g.
bool Elaborator::cover(Attempt& attempt, std::size_t p, std::size_t f, std::size_t onto, std::size_t g,
                       const Context& context) {
  const check::Factor own = attempt.sum[p].factors[f], model = attempt.sum[onto].factors[g];
  const Factor from = bridge_.there(own), target = bridge_.there(model);
  const Attempt before = attempt;
  for (const Equations& way : ways_to_equal({{&from, &target}}, commutative_, align_.choices, budget_)) {
    attempt = before;
    if (!name_all(attempt, {p, f}, model.bound, way.polys, context)) continue;
    if (!equate_argument(attempt, p, f, onto, g, 0, context)) continue;
    for (const check::Guard& guard : model.guards) {
      Step know = step(Op::Know, {p, f}, true);
      know.guard = guard;
      take(attempt.sum, context, std::move(know), attempt.steps);
    }
    std::vector<Atom> left = own.bound;
    while (set_one(attempt, {p, f}, left, context)) {
    }
    const auto leave = [&](Atom atom) {
      Step gone = step(Op::Leave, {p, f}, true);
      gone.to.emplace_back(atom, least(atom, attempt.sum[p].factors[f].guards, {}).value_or(Poly(0)));
      return take(attempt.sum, context, std::move(gone), attempt.steps);
    };
    if (!std::ranges::all_of(left, leave)) continue;
    if (equate_ranges(attempt, p, f, model.guards, context)) return true;
  }
  return false;
}

}  // namespace rulemill::prove
