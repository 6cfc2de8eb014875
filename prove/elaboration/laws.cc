// Rewrites products that do not cancel by laws of functions, maxima and sums.
#include <algorithm>
#include <set>

#include "algebra/properties/function_properties.h"
#include "prove/elaboration/elaborator.h"
#include "prove/elaboration/law_matcher.h"

namespace rulemill::prove {

using Kind = check::Factor::Kind;

namespace {

bool is_scaling(const algebra::LawEquation& law) { return law.name.ends_with(".scale"); }
bool is_scaling_law(const algebra::LawEquation* law) { return is_scaling(*law); }

}  // namespace

bool Elaborator::apply_laws(check::Sum& sum, const Context& context, Steps& steps) {
  bool changed = false;
  for (std::size_t p = 0; p < sum.size();) {
    if (!apply_laws(sum, p, context, steps))
      ++p;
    else
      changed = true;
  }
  if (changed) simplify(sum, context, steps);
  return changed || match_indices(sum, context, steps) || name_quotients(sum, context, steps) ||
         (depth_ == 0 && replace_anywhere(sum, context, steps, false));
}

/// Applies one law to product p, which may replace it by other products.
bool Elaborator::apply_laws(check::Sum& sum, std::size_t p, const Context& context, Steps& steps) {
  if (count_range(sum, p, context, steps) || multiply_out(sum, p, context, steps)) return true;
  for (std::size_t f = 0; f < sum[p].factors.size(); ++f) {
    const Kind kind = sum[p].factors[f].kind;
    if (kind != Kind::Apply && kind != Kind::Max) continue;
    // Before common factors of an argument, which a logarithm turns into terms, are moved in it.
    for (const algebra::LawEquation* law : laws_of(sum[p].factors[f])) {
      if (!law->assumption.empty() && !is_scaling(*law) && try_law(sum, p, f, *law, context, steps)) return true;
    }
    if (kind == Kind::Apply && (take_power_out(sum, p, f, context, steps) || take_root(sum, p, f, context, steps)))
      return true;
    if (simplify_arguments_by_laws(sum, p, f, context, steps)) return true;
    const check::Factor factor = sum[p].factors[f];
    const algebra::Function* function = kind == Kind::Apply ? &statement_.function(factor.symbol) : nullptr;
    if (function && try_step(sum, context, steps::make(Op::Constant, {p, f}), steps)) return true;
    if (const auto* parity = law_of(factor, "parity");
        parity && is_negated(factor.arguments[0]) && try_law(sum, p, f, *parity, context, steps))
      return true;
    if (const auto* law = law_of(factor, "sum")) {
      for (std::size_t g = f + 1; g < sum[p].factors.size(); ++g) {
        const check::Factor& other = sum[p].factors[g];
        if (other.kind != Kind::Apply || other.symbol != factor.symbol) continue;
        const std::vector<check::Sum> exponents = {factor.arguments[0], other.arguments[0]};
        if (try_step(sum, context, steps::law(law->name, {p, f, g}, exponents, true), steps)) return true;
      }
    }
    for (const algebra::LawEquation* law : laws_of(factor)) {
      const bool is_extremum = law->name.find(".max") != std::string::npos || law->name.ends_with(".min");
      if (is_extremum && try_law(sum, p, f, *law, context, steps)) return true;
    }
    if (function && !function->program.empty() && cancel_sum(sum, p, f, context, steps)) return true;
    if (!function && try_points(sum, steps::make(Op::TakeOut, {p, f}), factor.bound, factor.guards, context, steps))
      return true;
    if (!function || std::ranges::any_of(laws_of(factor), is_scaling_law)) {
      Attempt attempt{sum, {}};
      split_common_exponents(attempt.sum, p, f, context, attempt.steps);
      bool scaled = !function && scale_maximum(attempt.sum, p, f, context, attempt.steps);
      for (const algebra::LawEquation* law : laws_of(factor))
        scaled = scaled || (is_scaling(*law) && try_law(attempt.sum, p, f, *law, context, attempt.steps));
      if (scaled) {
        commit(std::move(attempt), sum, steps);
        return true;
      }
    }
    if (function || factor.arguments[0].size() != 1 || factor.arguments[0][0].factors.size() != 1) continue;
    const check::Factor& inner = factor.arguments[0][0].factors[0];
    if (inner.kind == Kind::Max) {
      if (try_points(sum, steps::make(Op::Flatten, {p, f}), inner.bound, inner.guards, context, steps)) return true;
    } else if (inner.kind == Kind::Apply) {
      const std::vector<int>& monotonicity = statement_.function(inner.symbol).monotonicity;
      for (std::size_t a = 0; a < monotonicity.size(); ++a) {
        if (monotonicity[a] == 0) continue;
        const Step monotone = steps::make(Op::Monotone, {p, f, a});
        if (try_step(sum, context, monotone, steps)) return true;
        if (try_points(sum, monotone, factor.bound, factor.guards, context, steps)) return true;
      }
    }
  }
  return false;
}

const Elaborator::Laws& Elaborator::laws_of(const check::Factor& factor) const {
  static const Laws none;
  return factor.kind == Kind::Apply ? laws_[factor.symbol] : none;
}

const algebra::LawEquation* Elaborator::law_of(const check::Factor& factor, const char* name) const {
  if (factor.kind != Kind::Apply) return nullptr;
  for (const algebra::LawEquation* law : laws_of(factor)) {
    if (law->name.substr(law->name.find('.') + 1) == name) return law;
  }
  return nullptr;
}

bool Elaborator::try_law(check::Sum& sum, std::size_t p, std::size_t f, const algebra::LawEquation& law,
                         const Context& context, Steps& steps) {
  const check::Sum whole = check::to_sum(sum[p].factors[f]);
  for (const LawValues& values : match_law(law, *law.left, whole, statement_)) {
    Step step = steps::law(law.name, {p, f}, to_sums(values));
    if (show_conditions(law, step, check::within(context, sum[p])) && try_step(sum, context, std::move(step), steps))
      return true;
  }
  return false;
}

bool Elaborator::show_conditions(const algebra::LawEquation& law, Step& step, const Context& context) {
  using Condition = algebra::LawEquation::Condition;
  const bool has_equation =
      std::ranges::any_of(law.conditions, [](const Condition& each) { return each.kind == Condition::Kind::Zero; });
  if (!has_equation) return true;
  const check::Product& scale = step.sums.at(algebra::LawEquation::positive).at(0);
  check::Product inverse = check::number(algebra::reciprocal(scale.coefficient));
  for (check::Factor factor : scale.factors) {
    if (factor.kind == Kind::Apply)
      factor.arguments.at(0) = check::negated(factor.arguments[0]);
    else
      factor.kind = factor.kind == Kind::Integer ? Kind::Inverse : Kind::Integer;
    inverse.factors.push_back(std::move(factor));
  }
  step.sums.at(algebra::LawEquation::positive + 1) = {inverse};
  check::Sum difference = {check::multiply(scale, inverse), check::number({-1, 1})};
  if (depth_ == max_depth) return false;
  ++depth_;
  const bool is_inverse = rewrite_to_zero(difference, context, step.blocks.emplace_back());
  --depth_;
  return is_inverse;
}

bool Elaborator::scale_maximum(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps) {
  const check::Factor& maximum = sum[p].factors[f];
  const auto divided = divide_by_positive(maximum.arguments.at(0), maximum.bound, statement_);
  if (!divided) return false;
  Step step = steps::make(Op::Scale, {p, f});
  step.sums = {divided->first, divided->second};
  return try_step(sum, context, std::move(step), steps);
}

/// Drops guards that contain the index together with other indices, as windows do, where its range implies them.
void Elaborator::drop_window_guards(check::Sum& sum, std::size_t p, Atom atom, const Context& context, Steps& steps) {
  for (std::size_t g = sum[p].guards.size(); g-- > 0;) {
    std::set<Atom> atoms;
    atoms_.collect(sum[p].guards[g].poly, atoms);
    const bool together = std::ranges::any_of(atoms, [&](Atom other) {
      const auto kind = atoms_.kind(other);
      return other != atom && (kind == check::Atoms::Kind::Output || kind == check::Atoms::Kind::Bound);
    });
    if (together && atoms.contains(atom)) try_step(sum, context, steps::drop_guard({p}, g), steps);
  }
}

bool Elaborator::count_range(check::Sum& sum, std::size_t p, const Context& context, Steps& steps) {
  for (const Atom atom : std::vector<Atom>(sum[p].bound)) {
    check::Product others = sum[p];
    others.guards.clear();
    if (check::depends_on(others, {atom}, atoms_)) continue;
    check::Sum trial = sum;
    Steps more;
    drop_window_guards(trial, p, atom, context, more);
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
        try_step(trial, context, steps::drop_guard({p}, g), more);
    }
    if (!low || !high) continue;
    Step counted = steps::make(Op::Count, {p});
    counted.atom = atom;
    counted.polys = {*low, *high};
    if (!try_step(trial, context, std::move(counted), more)) continue;
    commit({std::move(trial), std::move(more)}, sum, steps);
    return true;
  }
  return false;
}

bool Elaborator::multiply_out(check::Sum& sum, std::size_t p, const Context& context, Steps& steps) {
  const std::vector<check::Factor>& factors = sum[p].factors;
  for (std::size_t f = 0; f < factors.size(); ++f) {
    if (factors[f].kind != Kind::Integer) continue;
    for (std::size_t g = 0; g < factors.size(); ++g) {
      const bool inverse = factors[g].kind == Kind::Inverse && factors[g].index == factors[f].index;
      if (inverse && try_step(sum, context, steps::make(Op::Reciprocal, {p, f, g}), steps)) return true;
    }
    if (!factors[f].index[0].atom() && try_step(sum, context, steps::make(Op::Expand, {p, f}), steps)) return true;
  }
  return false;
}

bool Elaborator::simplify_arguments_by_laws(check::Sum& sum, std::size_t p, std::size_t f, const Context& context,
                                            Steps& steps) {
  if (depth_ == max_depth) return false;
  bool changed = false;
  for (std::size_t a = 0; a < sum[p].factors[f].arguments.size(); ++a) {
    const Context inner = check::argument_context(context, sum[p], sum[p].factors[f]);
    Step within = steps::nested(Op::Within, {p, f, a});
    check::Sum argument = sum[p].factors[f].arguments[a];
    ++depth_;
    simplify(argument, inner, within.blocks[0]);
    for (std::size_t q = 0; q < argument.size(); ++q) {
      for (std::size_t g = argument[q].guards.size(); g-- > 0;)
        try_step(argument, inner, steps::drop_guard({q}, g), within.blocks[0]);
    }
    while (argument.size() > 1 && cancel(argument, inner, within.blocks[0])) {
    }
    collect_terms(argument, inner, within.blocks[0]);
    apply_laws(argument, inner, within.blocks[0]);
    --depth_;
    if (!within.blocks[0].empty()) changed |= try_step(sum, context, std::move(within), steps);
  }
  return changed;
}

void Elaborator::collect_terms(check::Sum& sum, const Context& context, Steps& steps) {
  for (std::size_t p = 0; p < sum.size(); ++p) {
    for (std::size_t q = p + 1; q < sum.size();) {
      bool gathered = false;
      for (Alignment& alignment : alignments(sum, q, p, context, 1)) {
        Attempt aligned{sum, {}};
        commit(std::move(alignment), q, aligned.sum, aligned.steps);
        const Rational total = aligned.sum[p].coefficient + aligned.sum[q].coefficient;
        gathered = total.num != 0 && try_step(aligned.sum, context, steps::collect({p, q}, total), aligned.steps);
        if (gathered) commit(std::move(aligned), sum, steps);
      }
      if (!gathered) ++q;
    }
  }
}

void Elaborator::split_common_exponents(check::Sum& sum, std::size_t p, std::size_t f, const Context& context,
                                        Steps& steps) {
  const check::Factor factor = sum[p].factors[f];
  const auto is_power = [&](const check::Factor& other) { return law_of(other, "sum") != nullptr; };
  const auto text = [&](const check::Product& part) { return statement_.text(part); };
  /// The positions of a power of the product, and of the part in its exponent.
  const auto place = [&](const check::Product& product, const std::string& wanted) {
    for (std::size_t e = 0; e < product.factors.size(); ++e) {
      if (!is_power(product.factors[e])) continue;
      const check::Sum& exponent = product.factors[e].arguments[0];
      for (std::size_t q = 0; q < exponent.size(); ++q) {
        if (exponent.size() > 1 && text(exponent[q]) == wanted &&
            !check::depends_on(exponent[q], product.bound, atoms_))
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
      const bool common = !check::depends_on(part, factor.bound, atoms_) &&
                          std::ranges::all_of(factor.arguments, [&](const check::Sum& argument) {
                            return std::ranges::all_of(argument, [&](const check::Product& other) {
                              return place(other, text(part)).has_value();
                            });
                          });
      if (!common) continue;
      for (std::size_t a = 0; a < factor.arguments.size(); ++a) {
        Step within = steps::nested(Op::Within, {p, f, a});
        for (std::size_t q = 0; q < factor.arguments[a].size(); ++q) {
          const auto [e, at] = *place(factor.arguments[a][q], text(part));
          const check::Factor& whole = factor.arguments[a][q].factors[e];
          check::Sum rest = whole.arguments[0];
          check::erase_at(rest, at);
          within.blocks[0].push_back(
              steps::law(law_of(whole, "sum")->name, {q, e}, {std::move(rest), {whole.arguments[0][at]}}));
        }
        try_step(sum, context, std::move(within), steps);
      }
      return;
    }
  }
}

std::optional<Poly> Elaborator::largest_lower_bound(Atom atom, const check::Guards& guards,
                                                    const std::set<Atom>& without) const {
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

bool Elaborator::try_points(check::Sum& sum, Step step, const std::vector<Atom>& bound, const check::Guards& guards,
                            const Context& context, Steps& steps) {
  for (std::int64_t point = 0; point <= 1; ++point) {
    step.polys.assign(bound.size(), Poly(point));
    if (try_step(sum, context, step, steps)) return true;
    if (bound.empty()) return false;
  }
  step.polys.clear();
  for (const Atom atom : bound)
    step.polys.push_back(largest_lower_bound(atom, guards, {bound.begin(), bound.end()}).value_or(Poly(0)));
  return try_step(sum, context, std::move(step), steps);
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
      if (sum[p].bound.size() > sum[onto].bound.size()) {
        Attempt attempt{sum, {}};
        if (coarsen(attempt, p, onto, context)) {
          commit(std::move(attempt), sum, steps);
          return true;
        }
      }
      for (std::size_t f = 0; f < sum[p].factors.size(); ++f) {
        for (std::size_t g = 0; g < sum[onto].factors.size(); ++g) {
          const check::Factor &own = sum[p].factors[f], &model = sum[onto].factors[g];
          if (own.kind != Kind::Max || model.kind != Kind::Max || own.bound.size() <= model.bound.size()) continue;
          Attempt attempt{sum, {}};
          if (!cover(attempt, p, f, onto, g, context)) continue;
          commit(std::move(attempt), sum, steps);
          return true;
        }
      }
    }
  }
  return false;
}

/// Adds new indices to the product, or to the maximum, with the values that the equations determine.
bool Elaborator::name_indices(Attempt& attempt, const Place& at, const std::vector<Atom>& names,
                              const std::vector<Poly>& equations, const Context& context) {
  const SolvedIndices solved = solve_indices(equations, names, atoms_, budget_);
  return std::ranges::all_of(names, [&](Atom name) {
    const auto found = solved.map.find(name);
    return found != solved.map.end() && !mentions(found->second, names, atoms_) &&
           try_step(attempt.sum, context, steps::name(at, name, found->second), attempt.steps);
  });
}

/// Sets one of the indices to a value that guards determine: by an equation, or as a quotient of others.
bool Elaborator::set_index(Attempt& attempt, const Place& at, std::vector<Atom>& left, const Context& context) {
  const check::Product& product = attempt.sum[at[0]];
  const check::Guards guards = at.size() == 2 ? product.factors[at[1]].guards : product.guards;
  const auto set = [&](Atom atom, const Poly& value) {
    if (!try_step(attempt.sum, context, steps::set(at, atom, value), attempt.steps)) return false;
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
      const std::vector<Poly> powers = guard.poly.coefficients_in(atom);
      if (powers.size() != 2 || !atoms_.is_nonnegative(-powers[1] - 1) || powers[1] == Poly(-1)) continue;
      const auto in_numerator = [&](Atom other) { return atoms_.occurs(powers[0], other); };
      if (std::ranges::none_of(left, in_numerator) && set(atom, atoms_.quotient(powers[0], -powers[1]))) return true;
    }
  }
  return false;
}

/// Rewrites Σ_{u, v} t(k·u + v) with 0 ≤ v < k to a sum over w = k·u + v, where u = floor(w / k).
bool Elaborator::coarsen(Attempt& attempt, std::size_t p, std::size_t onto, const Context& context) {
  const std::vector<Atom> own = attempt.sum[p].bound;
  const Attempt before = attempt;
  const Product &product = before.sum[p], &model = before.sum[onto];
  for (const std::vector<FactorPair>& pairs : pair_factors(product.factors, model.factors, limits_.maps)) {
    for (const Equations& system : unifying_equations(pairs, commutative_, limits_.choices, budget_)) {
      attempt = before;
      if (!name_indices(attempt, {p}, before.sum[onto].bound, system.polys, context)) continue;
      std::vector<Atom> left = own;
      while (set_index(attempt, {p}, left, context)) {
      }
      if (left.empty()) return true;
    }
  }
  return false;
}

/// Rewrites the maximum that is factor f to a maximum over the indices of factor g, which the body determines.
bool Elaborator::cover(Attempt& attempt, std::size_t p, std::size_t f, std::size_t onto, std::size_t g,
                       const Context& context) {
  const check::Factor own = attempt.sum[p].factors[f], model = attempt.sum[onto].factors[g];
  const Attempt before = attempt;
  for (const Equations& system : unifying_equations({{&own, &model}}, commutative_, limits_.choices, budget_)) {
    attempt = before;
    if (!name_indices(attempt, {p, f}, model.bound, system.polys, context)) continue;
    if (!equate_argument(attempt, p, f, onto, g, 0, context)) continue;
    for (const check::Guard& guard : model.guards)
      try_step(attempt.sum, context, steps::add_guard({p, f}, guard), attempt.steps);
    std::vector<Atom> left = own.bound;
    while (set_index(attempt, {p, f}, left, context)) {
    }
    const auto leave = [&](Atom atom) {
      const Poly point = largest_lower_bound(atom, attempt.sum[p].factors[f].guards, {}).value_or(Poly(0));
      return try_step(attempt.sum, context, steps::set({p, f}, atom, point), attempt.steps);
    };
    if (!std::ranges::all_of(left, leave)) continue;
    if (equate_ranges(attempt, p, f, model.guards, context)) return true;
  }
  return false;
}

}  // namespace rulemill::prove
