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

bool Elaborator::apply_laws(State state) {
  bool changed = false;
  for (std::size_t p = 0; p < state.sum.size();) {
    if (!apply_laws(state, p))
      ++p;
    else
      changed = true;
  }
  if (changed) simplify(state);
  return changed || match_indices(state) || name_quotients(state) || (depth_ == 0 && replace_anywhere(state, false));
}

/// Applies one law to product p, which may replace it by other products.
bool Elaborator::apply_laws(State state, std::size_t p) {
  if (count_range(state, p) || multiply_out(state, p)) return true;
  for (std::size_t f = 0; f < state.sum[p].factors.size(); ++f) {
    const Kind kind = state.sum[p].factors[f].kind;
    if (kind != Kind::Apply && kind != Kind::Max) continue;
    // Before common factors of an argument, which a logarithm turns into terms, are moved in it.
    for (const algebra::LawEquation* law : laws_of(state.sum[p].factors[f])) {
      if (!law->assumption.empty() && !is_scaling(*law) && try_law(state, p, f, *law)) return true;
    }
    if (kind == Kind::Apply && (take_power_out(state, p, f) || take_root(state, p, f))) return true;
    if (simplify_arguments_by_laws(state, p, f)) return true;
    const check::Factor factor = state.sum[p].factors[f];
    const algebra::Function* function = kind == Kind::Apply ? &statement_.function(factor.symbol) : nullptr;
    if (function && try_step(state, steps::make(Op::Constant, {p, f}))) return true;
    if (const auto* parity = law_of(factor, "parity");
        parity && is_negated(factor.arguments[0]) && try_law(state, p, f, *parity))
      return true;
    if (kind == Kind::Apply && (take_square(state, p, f) || divide_by_root(state, p, f))) return true;
    if (const auto* law = law_of(factor, "sum")) {
      for (std::size_t g = f + 1; g < state.sum[p].factors.size(); ++g) {
        const check::Factor& other = state.sum[p].factors[g];
        if (other.kind != Kind::Apply || other.symbol != factor.symbol) continue;
        const std::vector<check::Sum> exponents = {factor.arguments[0], other.arguments[0]};
        if (try_step(state, steps::law(law->name, {p, f, g}, exponents, true))) return true;
      }
    }
    for (const algebra::LawEquation* law : laws_of(factor)) {
      const bool is_extremum = law->name.find(".max") != std::string::npos || law->name.ends_with(".min");
      if (is_extremum && try_law(state, p, f, *law)) return true;
    }
    if (function && !function->program.empty() && cancel_sum(state, p, f)) return true;
    if (!function && try_points(state, steps::make(Op::TakeOut, {p, f}), factor.bound, factor.guards)) return true;
    if (!function || std::ranges::any_of(laws_of(factor), is_scaling_law)) {
      Attempt attempt{state.sum, {}};
      split_common_exponents(attempt.in(state.context), p, f);
      bool scaled = !function && scale_maximum(attempt.in(state.context), p, f);
      for (const algebra::LawEquation* law : laws_of(factor))
        scaled = scaled || (is_scaling(*law) && try_law(attempt.in(state.context), p, f, *law));
      if (scaled) {
        commit(std::move(attempt), state);
        return true;
      }
    }
    if (function || factor.arguments[0].size() != 1 || factor.arguments[0][0].factors.size() != 1) continue;
    const check::Factor& inner = factor.arguments[0][0].factors[0];
    if (inner.kind == Kind::Max) {
      if (try_points(state, steps::make(Op::Flatten, {p, f}), inner.bound, inner.guards)) return true;
    } else if (inner.kind == Kind::Apply) {
      const std::vector<int>& monotonicity = statement_.function(inner.symbol).monotonicity;
      for (std::size_t a = 0; a < monotonicity.size(); ++a) {
        if (monotonicity[a] == 0) continue;
        const Step monotone = steps::make(Op::Monotone, {p, f, a});
        if (try_step(state, monotone)) return true;
        if (try_points(state, monotone, factor.bound, factor.guards)) return true;
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

bool Elaborator::try_law(State state, std::size_t p, std::size_t f, const algebra::LawEquation& law) {
  const check::Sum whole = check::to_sum(state.sum[p].factors[f]);
  for (const LawValues& values : match_law(law, *law.left, whole, statement_)) {
    Step step = steps::law(law.name, {p, f}, to_sums(values));
    if (show_conditions(law, step, check::within(state.context, state.sum[p])) && try_step(state, std::move(step)))
      return true;
  }
  return false;
}

/// sqrt(t) · sqrt(t) = t
bool Elaborator::take_square(State state, std::size_t p, std::size_t f) {
  const std::vector<check::Factor>& factors = state.sum[p].factors;
  const check::Factor& root = factors[f];
  const auto other = std::find(factors.begin() + static_cast<std::ptrdiff_t>(f) + 1, factors.end(), root);
  if (other == factors.end()) return false;
  const auto g = static_cast<std::size_t>(other - factors.begin());
  return try_law_step(state,
                      steps::law(statement_.function(root.symbol).name + ".root", {p, f, g}, {{}, root.arguments[0]}));
}

/// sqrt(t) = t / sqrt(t), if another product is divided by it.
bool Elaborator::divide_by_root(State state, std::size_t p, std::size_t f) {
  const check::Factor& root = state.sum[p].factors[f];
  const std::vector<check::Sum> divisor = {check::to_sum(root)};
  const bool is_divisor = std::ranges::any_of(state.sum, [&](const check::Product& product) {
    return std::ranges::any_of(product.factors, [&](const auto& other) { return other.arguments == divisor; });
  });
  return is_divisor && try_law_step(state, steps::law(statement_.function(root.symbol).name + ".quotient", {p, f},
                                                      {{}, root.arguments[0]}, /*reversed=*/true));
}

bool Elaborator::show_conditions(const algebra::LawEquation& law, Step& step, const Context& context) {
  using Condition = algebra::LawEquation::Condition;
  return std::ranges::all_of(law.conditions, [&](const Condition& condition) {
    if (condition.kind == Condition::Kind::Positive) return true;
    if (condition.kind == Condition::Kind::Zero) set_inverse(step);
    if (depth_ == max_depth) return false;
    check::Sum sum = check::Kernel(statement_, [](const auto&) {}).condition_sum(condition, step.sums);
    std::vector<Step>& block = step.blocks.emplace_back();
    ++depth_;
    const bool is_shown = condition.kind == Condition::Kind::Zero ? rewrite_to_zero({sum, context, block})
                                                                  : show_defined({sum, context, block});
    --depth_;
    return is_shown;
  });
}

/// Gives the variable after c the value 1/c.
void Elaborator::set_inverse(Step& step) {
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
}

bool Elaborator::try_law_step(State state, Step step) {
  const auto& laws = statement_.rule().laws;
  const auto law = std::ranges::find(laws, step.name, &algebra::LawEquation::name);
  return law != laws.end() && show_conditions(*law, step, check::within(state.context, state.sum[step.position(0)])) &&
         try_step(state, std::move(step));
}

bool Elaborator::scale_maximum(State state, std::size_t p, std::size_t f) {
  const check::Factor& maximum = state.sum[p].factors[f];
  const auto divided = divide_by_positive(maximum.arguments.at(0), maximum.bound, statement_);
  if (!divided) return false;
  Step step = steps::make(Op::Scale, {p, f});
  step.sums = {divided->first, divided->second};
  return try_step(state, std::move(step));
}

/// Drops guards that contain the index together with other indices, as windows do, where its range implies them.
void Elaborator::drop_window_guards(State state, std::size_t p, Atom atom) {
  for (std::size_t g = state.sum[p].guards.size(); g-- > 0;) {
    std::set<Atom> atoms;
    atoms_.collect(state.sum[p].guards[g].poly, atoms);
    const bool together = std::ranges::any_of(atoms, [&](Atom other) {
      const auto kind = atoms_.kind(other);
      return other != atom && (kind == check::Atoms::Kind::Output || kind == check::Atoms::Kind::Bound);
    });
    if (together && atoms.contains(atom)) try_step(state, steps::drop_guard({p}, g));
  }
}

bool Elaborator::count_range(State state, std::size_t p) {
  for (const Atom atom : std::vector<Atom>(state.sum[p].bound)) {
    check::Product others = state.sum[p];
    others.guards.clear();
    if (check::depends_on(others, {atom}, atoms_)) continue;
    Attempt trial{state.sum, {}};
    drop_window_guards(trial.in(state.context), p, atom);
    std::optional<Poly> low, high;
    for (std::size_t g = trial.sum[p].guards.size(); g-- > 0;) {
      const check::Guard guard = trial.sum[p].guards[g];
      if (!atoms_.occurs(guard.poly, atom)) continue;
      const std::int64_t c = guard.equality ? 0 : guard.poly.coefficient(atom);
      std::optional<Poly>& bound = c == 1 ? low : high;
      const Poly rest = guard.poly - Poly(atom) * Poly(c);
      if ((c == 1 || c == -1) && !bound && !atoms_.occurs(rest, atom))
        bound = c == 1 ? -rest : rest;
      else
        try_step(trial.in(state.context), steps::drop_guard({p}, g));
    }
    if (!low || !high) continue;
    Step counted = steps::make(Op::Count, {p});
    counted.atom = atom;
    counted.polys = {*low, *high};
    if (!try_step(trial.in(state.context), std::move(counted))) continue;
    commit(std::move(trial), state);
    return true;
  }
  return false;
}

bool Elaborator::multiply_out(State state, std::size_t p) {
  const std::vector<check::Factor>& factors = state.sum[p].factors;
  for (std::size_t f = 0; f < factors.size(); ++f) {
    if (factors[f].kind != Kind::Integer) continue;
    for (std::size_t g = 0; g < factors.size(); ++g) {
      const bool inverse = factors[g].kind == Kind::Inverse && factors[g].index == factors[f].index;
      if (inverse && try_step(state, steps::make(Op::Reciprocal, {p, f, g}))) return true;
    }
    if (!factors[f].index[0].atom() && try_step(state, steps::make(Op::Expand, {p, f}))) return true;
  }
  return false;
}

bool Elaborator::simplify_arguments_by_laws(State state, std::size_t p, std::size_t f) {
  if (depth_ == max_depth) return false;
  bool changed = false;
  for (std::size_t a = 0; a < state.sum[p].factors[f].arguments.size(); ++a) {
    const Context inner = check::argument_context(state.context, state.sum[p], state.sum[p].factors[f]);
    Step within = steps::nested(Op::Within, {p, f, a});
    check::Sum argument = state.sum[p].factors[f].arguments[a];
    ++depth_;
    simplify({argument, inner, within.blocks[0]});
    for (std::size_t q = 0; q < argument.size(); ++q) {
      for (std::size_t g = argument[q].guards.size(); g-- > 0;)
        try_step({argument, inner, within.blocks[0]}, steps::drop_guard({q}, g));
    }
    while (argument.size() > 1 && cancel({argument, inner, within.blocks[0]})) {
    }
    collect_terms({argument, inner, within.blocks[0]});
    apply_laws({argument, inner, within.blocks[0]});
    --depth_;
    if (!within.blocks[0].empty()) changed |= try_step(state, std::move(within));
  }
  return changed;
}

void Elaborator::collect_terms(State state) {
  for (std::size_t p = 0; p < state.sum.size(); ++p) {
    for (std::size_t q = p + 1; q < state.sum.size();) {
      bool gathered = false;
      for (Alignment& alignment : alignments(state.sum, q, p, state.context, 1)) {
        Attempt aligned{state.sum, {}};
        commit(std::move(alignment), q, aligned.sum, aligned.steps);
        const Rational total = aligned.sum[p].coefficient + aligned.sum[q].coefficient;
        gathered = total.num != 0 && try_step(aligned.in(state.context), steps::collect({p, q}, total));
        if (gathered) commit(std::move(aligned), state);
      }
      if (!gathered) ++q;
    }
  }
}

void Elaborator::split_common_exponents(State state, std::size_t p, std::size_t f) {
  const check::Factor factor = state.sum[p].factors[f];
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
        try_step(state, std::move(within));
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
    if (closed) result = result ? atoms_.max(*result, rest) : rest;
  }
  return result;
}

bool Elaborator::try_points(State state, Step step, const std::vector<Atom>& bound, const check::Guards& guards) {
  for (std::int64_t point = 0; point <= 1; ++point) {
    step.polys.assign(bound.size(), Poly(point));
    if (try_step(state, step)) return true;
    if (bound.empty()) return false;
  }
  step.polys.clear();
  for (const Atom atom : bound)
    step.polys.push_back(largest_lower_bound(atom, guards, {bound.begin(), bound.end()}).value_or(Poly(0)));
  return try_step(state, std::move(step));
}

bool Elaborator::match_indices(State state) {
  const auto heads = [&](const check::Product& product) {
    std::vector<std::pair<Kind, std::uint32_t>> result;
    for (const check::Factor& factor : product.factors) result.emplace_back(factor.kind, factor.symbol);
    std::ranges::sort(result);
    return result;
  };
  for (std::size_t p = 0; p < state.sum.size(); ++p) {
    for (std::size_t onto = 0; onto < state.sum.size(); ++onto) {
      if (p == onto || heads(state.sum[p]) != heads(state.sum[onto])) continue;
      if (state.sum[p].bound.size() > state.sum[onto].bound.size()) {
        Attempt attempt{state.sum, {}};
        if (coarsen(attempt, p, onto, state.context)) {
          commit(std::move(attempt), state);
          return true;
        }
      }
      for (std::size_t f = 0; f < state.sum[p].factors.size(); ++f) {
        for (std::size_t g = 0; g < state.sum[onto].factors.size(); ++g) {
          const check::Factor &own = state.sum[p].factors[f], &model = state.sum[onto].factors[g];
          if (own.kind != Kind::Max || model.kind != Kind::Max || own.bound.size() <= model.bound.size()) continue;
          Attempt attempt{state.sum, {}};
          if (!cover(attempt, p, f, onto, g, state.context)) continue;
          commit(std::move(attempt), state);
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
           try_step(attempt.in(context), steps::name(at, name, found->second));
  });
}

/// Sets one of the indices to a value that guards determine: by an equation, or as a quotient of others.
bool Elaborator::set_index(Attempt& attempt, const Place& at, std::vector<Atom>& left, const Context& context) {
  const check::Product& product = attempt.sum[at[0]];
  const check::Guards guards = at.size() == 2 ? product.factors[at[1]].guards : product.guards;
  const auto set = [&](Atom atom, const Poly& value) {
    if (!try_step(attempt.in(context), steps::set(at, atom, value))) return false;
    std::erase(left, atom);
    return true;
  };
  for (const Atom atom : left) {
    for (const check::Guard& guard : guards) {
      const auto value = guard.equality ? solution(guard.poly, atom, atoms_) : std::nullopt;
      if (value && set(atom, *value)) return true;
    }
  }
  for (const Atom atom : left) {
    for (const check::Guard& guard : guards) {
      const std::vector<Poly> powers = guard.poly.coefficients_in(atom);
      if (powers.size() != 2 || !atoms_.is_nonnegative(-powers[1] - 1) || powers[1] == Poly(-1)) continue;
      const auto in_numerator = [&](Atom other) { return atoms_.occurs(powers[0], other); };
      if (std::ranges::none_of(left, in_numerator) && set(atom, atoms_.floor_div(powers[0], -powers[1]))) return true;
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
    for (const check::Guard& guard : model.guards) try_step(attempt.in(context), steps::add_guard({p, f}, guard));
    std::vector<Atom> left = own.bound;
    while (set_index(attempt, {p, f}, left, context)) {
    }
    const auto leave = [&](Atom atom) {
      const Poly point = largest_lower_bound(atom, attempt.sum[p].factors[f].guards, {}).value_or(Poly(0));
      return try_step(attempt.in(context), steps::set({p, f}, atom, point));
    };
    if (!std::ranges::all_of(left, leave)) continue;
    if (equate_ranges(attempt, p, f, model.guards, context)) return true;
  }
  return false;
}

}  // namespace rulemill::prove
