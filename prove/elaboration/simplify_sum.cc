// Simplifies or drops one product.
#include <algorithm>

#include "prove/elaboration/elaborator.h"

namespace rulemill::prove {

using check::Atoms;

namespace {

/// True if a + b = 0. The sum is not made, since most pairs differ.
bool are_opposite(const Poly& a, const Poly& b) {
  return std::ranges::equal(a.terms(), b.terms(), [](const Poly::Term& s, const Poly::Term& t) {
    return s.coefficient == -t.coefficient && s.monomial == t.monomial;
  });
}

}  // namespace

void Elaborator::simplify(State state, std::size_t from) {
  for (std::size_t p = from; p < state.sum.size();) {
    if (simplify_product(state, p)) ++p;
  }
}

bool Elaborator::simplify_product(State state, std::size_t p) {
  do {
    while (eliminate(state, p, std::nullopt)) {
    }
    if (vanishes(state.sum[p], state.context) && try_step(state, steps::drop(p))) return false;
  } while (fix_division(state, p));
  for (std::size_t f = 0; f < state.sum[p].factors.size(); ++f) {
    switch (simplify_factor(state, p, f)) {
      case Change::Gone:
        return false;
      case Change::Some:
        --f;
        break;
      case Change::None:
        break;
    }
  }
  return true;
}

bool Elaborator::vanishes(const check::Product& product, const Context& context) {
  return !product.guards.empty() && is_shown(check::conjunction(context.given, product.guards), std::nullopt);
}

std::vector<Poly> Elaborator::equations(const check::Guards& own, const check::Guards& given) {
  std::vector<Poly> result;
  for (const check::Guard& a : own) {
    if (a.equality) {
      result.push_back(a.poly);
      continue;
    }
    for (const check::Guards* list : {&own, &given}) {
      for (const check::Guard& b : *list) {
        if (!b.equality && are_opposite(a.poly, b.poly)) result.push_back(a.poly);
      }
    }
  }
  return result;
}

bool Elaborator::eliminate(State state, std::size_t p, std::optional<std::size_t> maximum) {
  const check::Product& product = state.sum[p];
  const check::Factor* factor = maximum ? &product.factors[*maximum] : nullptr;
  const check::Guards& own = factor ? factor->guards : product.guards;
  const std::vector<Atom>& bound = factor ? factor->bound : product.bound;
  const Place at = maximum ? Place{p, *maximum} : Place{p};
  const auto attempt = [&](Atom atom, const Poly& equation) {
    const auto value = solution(equation, atom, atoms_);
    return value && try_step(state, steps::set(at, atom, *value));
  };
  for (const Poly& equation : equations(own, state.context.given)) {
    for (const Atom atom : std::vector<Atom>(bound)) {
      if (attempt(atom, equation)) return true;
    }
  }
  if (factor) return false;
  for (const Poly& equation : equations(own, state.context.given)) {
    std::set<Atom> all;
    atoms_.collect(equation, all);
    for (auto atom = all.rbegin(); atom != all.rend(); ++atom) {
      const std::int64_t c = atoms_.kind(*atom) == Atoms::Kind::Output ? equation.coefficient(*atom) : 0;
      if (c != 1 && c != -1) continue;
      if (is_used_elsewhere(product, *atom, equation) && attempt(*atom, equation)) return true;
      break;  // the equation is kept, since it determines this index
    }
  }
  return false;
}

bool Elaborator::is_used_elsewhere(check::Product product, Atom atom, const Poly& equation) {
  bool used = false;
  check::for_each_poly(product,
                       [&](Poly& poly) { used |= poly != equation && poly != -equation && atoms_.occurs(poly, atom); });
  return used;
}

bool Elaborator::fix_division(State state, std::size_t p) {
  std::set<Atom> all;
  check::Product product = state.sum[p];
  for (check::Factor& factor : product.factors)
    check::for_each_poly(factor, [&](Poly& poly) { atoms_.collect(poly, all); });
  for (const Atom atom : all) {
    if (atoms_.kind(atom) != Atoms::Kind::Quotient) continue;
    std::set<Atom> above;
    atoms_.collect(atoms_.left(atom), above);
    const auto is_index = [&](Atom a) {
      return atoms_.kind(a) == Atoms::Kind::Output || atoms_.kind(a) == Atoms::Kind::Bound;
    };
    if (std::ranges::none_of(above, is_index)) continue;
    const check::Guards given = check::conjunction(state.context.given, product.guards);
    const auto value = oracle_.unique_value(given, Poly(atom));
    if (!value) continue;
    const check::Guards before = state.sum[p].guards;
    if (!try_step(state, steps::set({p}, atom, Poly(*value)))) continue;
    const auto is_new = [&](const check::Guard& guard) { return std::ranges::find(before, guard) == before.end(); };
    for (std::size_t g = state.sum[p].guards.size(); g-- > 0;) {  // the equation follows from the others
      if (is_new(state.sum[p].guards[g]) && try_step(state, steps::drop_guard({p}, g))) break;
    }
    return true;
  }
  return false;
}

Elaborator::Change Elaborator::simplify_factor(State state, std::size_t p, std::size_t f) {
  const auto factor = [&]() -> const check::Factor& { return state.sum[p].factors[f]; };
  if (factor().kind != check::Factor::Kind::Apply && factor().kind != check::Factor::Kind::Max) return Change::None;
  if (factor().kind == check::Factor::Kind::Max) {
    if (eliminate(state, p, f)) return Change::Some;
    if (factor().bound.empty() && try_step(state, steps::make(Op::TakeOut, {p, f}))) return Change::Gone;
  }
  const bool is_maximum = factor().kind == check::Factor::Kind::Max;
  const algebra::LawEquation* zero = law_of(factor(), "zero");
  if ((is_maximum || zero) && drop_arguments(state, p, f) &&
      try_step(state, is_maximum ? steps::make(Op::TakeOut, {p, f}) : steps::law(zero->name, {p, f}, {})))
    return Change::Gone;
  if (factor().kind == check::Factor::Kind::Apply) {
    if (cancel_reciprocal(state, p, f)) return Change::Some;
    return law_of(factor(), "idempotent") && apply_idempotence(state, p, f) ? Change::Some : Change::None;
  }
  return instantiate_constant_max(state, p, f) ? Change::Gone : Change::None;
}

bool Elaborator::drop_arguments(State state, std::size_t p, std::size_t f) {
  const check::Product& product = state.sum[p];
  const check::Factor& factor = product.factors[f];
  const Context inner = check::argument_context(state.context, product, factor);
  for (const check::Sum& argument : factor.arguments) {
    for (const check::Product& part : argument) {
      if (!vanishes(part, inner)) return false;
    }
  }
  const std::size_t count = factor.arguments.size();
  for (std::size_t a = 0; a < count; ++a) {
    Step within = steps::nested(Op::Within, {p, f, a});
    check::Sum argument = state.sum[p].factors[f].arguments[a];
    while (!argument.empty()) {
      if (!try_step({argument, inner, within.blocks[0]}, steps::drop(0))) return false;
    }
    if (!within.blocks[0].empty() && !try_step(state, std::move(within))) return false;
  }
  return true;
}

bool Elaborator::strip_argument_guards(State state, std::size_t p, std::size_t f) {
  const Context inner = check::argument_context(state.context, state.sum[p], state.sum[p].factors[f]);
  Step within = steps::nested(Op::Within, {p, f, 0});
  check::Sum argument = state.sum[p].factors[f].arguments.at(0);
  simplify({argument, inner, within.blocks[0]});
  for (std::size_t q = 0; q < argument.size(); ++q) {
    for (std::size_t g = argument[q].guards.size(); g-- > 0;)
      try_step({argument, inner, within.blocks[0]}, steps::drop_guard({q}, g));
  }
  return !within.blocks[0].empty() && try_step(state, std::move(within));
}

bool Elaborator::simplify_arguments(State state, std::size_t p) {
  bool changed = false;
  for (std::size_t f = 0; f < state.sum[p].factors.size(); ++f) {
    const Context inner = check::argument_context(state.context, state.sum[p], state.sum[p].factors[f]);
    for (std::size_t a = 0; a < state.sum[p].factors[f].arguments.size(); ++a) {
      Step within = steps::nested(Op::Within, {p, f, a});
      check::Sum argument = state.sum[p].factors[f].arguments[a];
      simplify({argument, inner, within.blocks[0]});
      for (std::size_t q = 0; q < argument.size(); ++q) simplify_arguments({argument, inner, within.blocks[0]}, q);
      if (!within.blocks[0].empty()) changed |= try_step(state, std::move(within));
    }
  }
  return changed;
}

bool Elaborator::apply_idempotence(State state, std::size_t p, std::size_t f) {
  const check::Factor& factor = state.sum[p].factors[f];
  if (factor.arguments[0].empty()) return false;
  const bool itself = std::ranges::any_of(factor.arguments[0], [&](const check::Product& part) {
    return part.factors.size() == 1 && part.factors[0].kind == check::Factor::Kind::Apply &&
           part.factors[0].symbol == factor.symbol;
  });
  if (!itself) return false;
  Attempt attempt{state.sum, {}};
  strip_argument_guards(attempt.in(state.context), p, f);
  if (!try_law(attempt.in(state.context), p, f, *law_of(factor, "idempotent"))) return false;
  commit(std::move(attempt), state);
  return true;
}

bool Elaborator::instantiate_constant_max(State state, std::size_t p, std::size_t f) {
  const check::Factor factor = state.sum[p].factors[f];
  bool varies = false;
  const Context inside = check::argument_context(state.context, state.sum[p], factor);
  for (const check::Product& part : factor.arguments.at(0)) {
    bool here = false;
    for (check::Factor inner : part.factors) {
      check::for_each_poly(inner, [&](Poly& poly) {
        for (const Atom atom : factor.bound) here |= atoms_.occurs(poly, atom);
      });
    }
    varies |= here && !vanishes(part, inside);
  }
  if (varies) return false;
  Attempt attempt{state.sum, {}};
  strip_argument_guards(attempt.in(state.context), p, f);
  for (std::int64_t point = 0; point <= 3; ++point) {
    Step instantiation = steps::make(Op::TakeOut, {p, f});
    instantiation.polys.assign(factor.bound.size(), Poly(point));
    if (!try_step(attempt.in(state.context), std::move(instantiation))) continue;
    commit(std::move(attempt), state);
    return true;
  }
  return false;
}

}  // namespace rulemill::prove
