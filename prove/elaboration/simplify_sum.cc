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

void Elaborator::simplify(check::Sum& sum, const Context& context, Steps& steps, std::size_t from) {
  for (std::size_t p = from; p < sum.size();) {
    if (simplify_product(sum, p, context, steps)) ++p;
  }
}

bool Elaborator::simplify_product(check::Sum& sum, std::size_t p, const Context& context, Steps& steps) {
  do {
    while (eliminate(sum, p, std::nullopt, context, steps)) {
    }
    if (vanishes(sum[p], context) && try_step(sum, context, steps::drop(p), steps)) return false;
  } while (fix_division(sum, p, context, steps));
  for (std::size_t f = 0; f < sum[p].factors.size(); ++f) {
    switch (simplify_factor(sum, p, f, context, steps)) {
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

bool Elaborator::eliminate(check::Sum& sum, std::size_t p, std::optional<std::size_t> maximum, const Context& context,
                           Steps& steps) {
  const check::Product& product = sum[p];
  const check::Factor* factor = maximum ? &product.factors[*maximum] : nullptr;
  const check::Guards& own = factor ? factor->guards : product.guards;
  const std::vector<Atom>& bound = factor ? factor->bound : product.bound;
  const Place at = maximum ? Place{p, *maximum} : Place{p};
  const auto attempt = [&](Atom atom, const Poly& equation) {
    const std::int64_t c = equation.coefficient(atom);
    if (c != 1 && c != -1) return false;
    const Poly rest = equation - Poly(atom) * Poly(c);
    if (atoms_.occurs(rest, atom)) return false;
    return try_step(sum, context, steps::set(at, atom, c == 1 ? -rest : rest), steps);
  };
  for (const Poly& equation : equations(own, context.given)) {
    for (const Atom atom : std::vector<Atom>(bound)) {
      if (attempt(atom, equation)) return true;
    }
  }
  if (factor) return false;
  for (const Poly& equation : equations(own, context.given)) {
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

bool Elaborator::fix_division(check::Sum& sum, std::size_t p, const Context& context, Steps& steps) {
  std::set<Atom> all;
  check::Product product = sum[p];
  for (check::Factor& factor : product.factors) {
    check::for_each_poly(factor, [&](Poly& poly) { atoms_.collect(poly, all); });
  }
  for (const Atom atom : all) {
    if (atoms_.kind(atom) != Atoms::Kind::Quotient) continue;
    std::set<Atom> above;
    atoms_.collect(atoms_.left(atom), above);
    const auto is_index = [&](Atom a) {
      return atoms_.kind(a) == Atoms::Kind::Output || atoms_.kind(a) == Atoms::Kind::Bound;
    };
    if (std::ranges::none_of(above, is_index)) continue;
    const check::Guards given = check::conjunction(context.given, product.guards);
    const auto value = oracle_.unique_value(given, Poly(atom));
    if (!value) continue;
    const check::Guards before = sum[p].guards;
    if (!try_step(sum, context, steps::set({p}, atom, Poly(*value)), steps)) continue;
    const auto is_new = [&](const check::Guard& guard) { return std::ranges::find(before, guard) == before.end(); };
    for (std::size_t g = sum[p].guards.size(); g-- > 0;) {  // the equation follows from the others
      if (is_new(sum[p].guards[g]) && try_step(sum, context, steps::drop_guard({p}, g), steps)) break;
    }
    return true;
  }
  return false;
}

Elaborator::Change Elaborator::simplify_factor(check::Sum& sum, std::size_t p, std::size_t f, const Context& context,
                                               Steps& steps) {
  const auto factor = [&]() -> const check::Factor& { return sum[p].factors[f]; };
  if (factor().kind != check::Factor::Kind::Apply && factor().kind != check::Factor::Kind::Max) return Change::None;
  if (factor().kind == check::Factor::Kind::Max) {
    if (eliminate(sum, p, f, context, steps)) return Change::Some;
    if (factor().bound.empty() && try_step(sum, context, steps::make(Op::TakeOut, {p, f}), steps)) return Change::Gone;
  }
  const bool is_maximum = factor().kind == check::Factor::Kind::Max;
  const algebra::LawEquation* zero = law_of(factor(), "zero");
  if ((is_maximum || zero) && drop_arguments(sum, p, f, context, steps) &&
      try_step(sum, context, is_maximum ? steps::make(Op::TakeOut, {p, f}) : steps::law(zero->name, {p, f}, {}), steps))
    return Change::Gone;
  if (factor().kind == check::Factor::Kind::Apply) {
    if (cancel_reciprocal(sum, p, f, context, steps)) return Change::Some;
    return law_of(factor(), "idempotent") && apply_idempotence(sum, p, f, context, steps) ? Change::Some : Change::None;
  }
  return instantiate_constant_max(sum, p, f, context, steps) ? Change::Gone : Change::None;
}

bool Elaborator::drop_arguments(check::Sum& sum, std::size_t p, std::size_t f, const Context& context, Steps& steps) {
  const check::Product& product = sum[p];
  const check::Factor& factor = product.factors[f];
  const Context inner = check::argument_context(context, product, factor);
  for (const check::Sum& argument : factor.arguments) {
    for (const check::Product& part : argument) {
      if (!vanishes(part, inner)) return false;
    }
  }
  const std::size_t count = factor.arguments.size();
  for (std::size_t a = 0; a < count; ++a) {
    Step within = steps::nested(Op::Within, {p, f, a});
    check::Sum argument = sum[p].factors[f].arguments[a];
    while (!argument.empty()) {
      if (!try_step(argument, inner, steps::drop(0), within.blocks[0])) return false;
    }
    if (!within.blocks[0].empty() && !try_step(sum, context, std::move(within), steps)) return false;
  }
  return true;
}

bool Elaborator::strip_argument_guards(check::Sum& sum, std::size_t p, std::size_t f, const Context& context,
                                       Steps& steps) {
  const Context inner = check::argument_context(context, sum[p], sum[p].factors[f]);
  Step within = steps::nested(Op::Within, {p, f, 0});
  check::Sum argument = sum[p].factors[f].arguments.at(0);
  simplify(argument, inner, within.blocks[0]);
  for (std::size_t q = 0; q < argument.size(); ++q) {
    for (std::size_t g = argument[q].guards.size(); g-- > 0;)
      try_step(argument, inner, steps::drop_guard({q}, g), within.blocks[0]);
  }
  return !within.blocks[0].empty() && try_step(sum, context, std::move(within), steps);
}

bool Elaborator::simplify_arguments(check::Sum& sum, std::size_t p, const Context& context, Steps& steps) {
  bool changed = false;
  for (std::size_t f = 0; f < sum[p].factors.size(); ++f) {
    const Context inner = check::argument_context(context, sum[p], sum[p].factors[f]);
    for (std::size_t a = 0; a < sum[p].factors[f].arguments.size(); ++a) {
      Step within = steps::nested(Op::Within, {p, f, a});
      check::Sum argument = sum[p].factors[f].arguments[a];
      simplify(argument, inner, within.blocks[0]);
      for (std::size_t q = 0; q < argument.size(); ++q) simplify_arguments(argument, q, inner, within.blocks[0]);
      if (!within.blocks[0].empty()) changed |= try_step(sum, context, std::move(within), steps);
    }
  }
  return changed;
}

bool Elaborator::apply_idempotence(check::Sum& sum, std::size_t p, std::size_t f, const Context& context,
                                   Steps& steps) {
  const check::Factor& factor = sum[p].factors[f];
  if (factor.arguments[0].empty()) return false;
  const bool itself = std::ranges::any_of(factor.arguments[0], [&](const check::Product& part) {
    return part.factors.size() == 1 && part.factors[0].kind == check::Factor::Kind::Apply &&
           part.factors[0].symbol == factor.symbol;
  });
  if (!itself) return false;
  check::Sum changed = sum;
  Steps more;
  strip_argument_guards(changed, p, f, context, more);
  if (!try_law(changed, p, f, *law_of(factor, "idempotent"), context, more)) return false;
  sum = std::move(changed);
  steps.insert(steps.end(), more.begin(), more.end());
  return true;
}

bool Elaborator::instantiate_constant_max(check::Sum& sum, std::size_t p, std::size_t f, const Context& context,
                                          Steps& steps) {
  const check::Factor factor = sum[p].factors[f];
  bool varies = false;
  const Context inside = check::argument_context(context, sum[p], factor);
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
  check::Sum changed = sum;
  Steps more;
  strip_argument_guards(changed, p, f, context, more);
  for (std::int64_t point = 0; point <= 3; ++point) {
    Step instantiation = steps::make(Op::TakeOut, {p, f});
    instantiation.polys.assign(factor.bound.size(), Poly(point));
    if (!try_step(changed, context, std::move(instantiation), more)) continue;
    sum = std::move(changed);
    steps.insert(steps.end(), more.begin(), more.end());
    return true;
  }
  return false;
}

}  // namespace rulemill::prove
