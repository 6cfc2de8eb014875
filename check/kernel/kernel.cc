#include "check/kernel/kernel.h"

#include <algorithm>

namespace rulemill::check {

namespace {

template <class T>
T& at(std::vector<T>& list, std::size_t position, const char* what) {
  if (position >= list.size()) throw Objection{"there is no " + std::string(what) + " " + std::to_string(position)};
  return list[position];
}

template <class T>
void erase(std::vector<T>& list, std::size_t position) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(position));
}

}  // namespace

void Kernel::owe(const Step& step, Obligation obligation) {
  obligation.times = step.times;
  owe(std::move(obligation));
}

void Kernel::owe(Obligation obligation) {
  if (is_plain(obligation))
    ++plain_;
  else
    owed_(std::move(obligation));
}

void Kernel::owe(const Step& step, const char* what, Guards given, Guard goal) {
  owe(step, {what, std::move(given), std::move(goal), {}, {}});
}

Kernel::Context Kernel::inside(const Context& context, const Product& product, const Factor& factor) const {
  Context inner{joined(joined(context.given, product.guards), factor.guards), context.scope};
  inner.scope.insert(product.bound.begin(), product.bound.end());
  inner.scope.insert(factor.bound.begin(), factor.bound.end());
  return inner;
}

void Kernel::check_scope(const Poly& poly, const std::set<Atom>& scope) const {
  std::set<Atom> all;
  atoms_.collect(poly, all);
  for (const Atom atom : all) {
    if (atoms_.kind(atom) == Atoms::Kind::Bound && !scope.contains(atom)) {
      throw Objection{atoms_.text(Poly(atom)) + " is not bound there"};
    }
  }
}

/// Every bound index is used within its product or maximum alone, and none hides another.
void Kernel::check_scope(const Product& product, std::set<Atom> scope) const {
  const auto enter = [&](const std::vector<Atom>& bound, std::set<Atom>& into) {
    for (const Atom atom : bound) {
      if (atoms_.kind(atom) != Atoms::Kind::Bound) throw Objection{atoms_.text(Poly(atom)) + " cannot be bound"};
      if (!into.insert(atom).second) throw Objection{atoms_.text(Poly(atom)) + " is bound twice"};
    }
  };
  enter(product.bound, scope);
  for (const Guard& guard : product.guards) check_scope(guard.poly, scope);
  for (const Factor& factor : product.factors) {
    std::set<Atom> within = scope;
    enter(factor.bound, within);
    for (const Guard& guard : factor.guards) check_scope(guard.poly, within);
    for (const Poly& poly : factor.index) check_scope(poly, within);
    for (const Sum& argument : factor.arguments) {
      for (const Product& inner : argument) check_scope(inner, within);
    }
  }
}

void Kernel::replace(Product& product, const Images& images) {
  for_each_poly(product, [&](Poly& poly) { poly = atoms_.substitute(poly, images); });
}

void Kernel::apply(Sum& sum, const Context& context, const Step& step) {
  using Op = Step::Op;
  const auto position = [&](std::size_t i) {
    if (i >= step.at.size()) throw Objection{"a position is missing"};
    return step.at[i];
  };
  if (step.op == Op::Cancel) return cancel(sum, context, step);
  if (step.op == Op::Same) return same(sum, context, step);
  if (step.op == Op::Order) return order(sum, step);
  const std::size_t p = position(0);
  Product& product = at(sum, p, "product");
  const bool on_product = step.op == Op::Name || step.op == Op::Count || step.op == Op::Gather;
  const bool in_factor = step.of_maximum || (step.op >= Op::Index && !on_product);
  Factor* factor = in_factor ? &at(product.factors, position(1), "factor") : nullptr;
  if (step.of_maximum && factor->kind != Factor::Kind::Max) throw Objection{"the factor is no maximum"};
  const algebra::Function* function = factor ? function_of(*factor) : nullptr;
  switch (step.op) {
    case Op::Drop:
      owe(step, {"a product vanishes", joined(context.given, product.guards), {}, {}, {}});
      return erase(sum, p);
    case Op::Set:
      return set(product, factor, context, step), check_scope(sum[p], context.scope);
    case Op::Map:
      return map(product, factor, context, step), check_scope(sum[p], context.scope);
    case Op::Know:
    case Op::Forget:
      return guards(product, factor, context, step), check_scope(sum[p], context.scope);
    case Op::Split: {
      const Guard& guard = step.guard.value();
      for (const Guard& outside : complement(guard)) {
        Product other = sum[p];
        other.guards.push_back(outside);
        sum.push_back(std::move(other));
      }
      sum[p].guards.push_back(guard);
      return check_scope(sum[p], context.scope);
    }
    case Op::Index: {
      Poly& index = at(factor->index, position(2), "index");
      owe(step, "two indices agree", joined(context.given, product.guards), {true, index - step.polys.at(0)});
      index = step.polys[0];
      return check_scope(product, context.scope);
    }
    case Op::Within:
      return run(at(factor->arguments, position(2), "argument"), inside(context, product, *factor), step.block);
    case Op::Zero: {
      const bool empty = std::ranges::all_of(factor->arguments, [](const Sum& argument) { return argument.empty(); });
      const bool lawful = factor->kind == Factor::Kind::Max || (function && function->maps_zero_to_zero);
      if (!empty || !lawful) throw Objection{"the factor is not zero"};
      return erase(sum, p);
    }
    case Op::Unwrap: {
      const bool single =
          function && function->idempotent && factor->arguments.size() == 1 && factor->arguments[0].size() == 1;
      const Product* inner = single ? &factor->arguments[0][0] : nullptr;
      if (!inner || inner->coefficient != Rational{1, 1} || !inner->guards.empty() || !inner->bound.empty() ||
          inner->factors.size() != 1 || inner->factors[0].kind != Factor::Kind::Apply ||
          inner->factors[0].symbol != factor->symbol) {
        throw Objection{"the factor is no function of itself"};
      }
      Factor kept = inner->factors[0];
      *factor = std::move(kept);
      return;
    }
    case Op::Swap:
      if (!function || !function->commutative || factor->arguments.size() != 2)
        throw Objection{"the function does not commute"};
      return std::swap(factor->arguments[0], factor->arguments[1]);
    case Op::Open:
      return open(sum, p, position(1), context, step);
    case Op::Cancel:
    case Op::Same:
    case Op::Order:
      return;
    case Op::Name:
      return name(product, factor, context, step), check_scope(sum[p], context.scope);
    case Op::Count:
      return count(product, context, step), check_scope(sum[p], context.scope);
    case Op::Gather:
      return gather(sum, p, position(1));
    default:
      return by_law(sum, p, position(1), context, step);
  }
}

/// Σ_x [G] F = ([G] F)(x := e) where G implies x = e; a free atom's equality is added to the guards instead.
void Kernel::set(Product& product, Factor* maximum, const Context& context, const Step& step) {
  const Atom atom = step.atom.value();
  const Poly& value = step.polys.at(0);
  Guards given = joined(context.given, product.guards);
  if (maximum) given = joined(std::move(given), maximum->guards);
  if (atoms_.occurs(value, atom)) throw Objection{"an atom cannot be given by itself"};
  owe(step, "an index has one value", given, {true, Poly(atom) - value});
  std::vector<Atom>& bound = maximum ? maximum->bound : product.bound;
  Guards& own = maximum ? maximum->guards : product.guards;
  const Images images{{atom, value}};
  if (maximum)
    for_each_poly(*maximum, [&](Poly& poly) { poly = atoms_.substitute(poly, images); });
  else
    replace(product, images);
  if (std::erase(bound, atom) == 0) own.push_back({true, Poly(atom) - value});
  tidy(own);
}

/// Indices are exchanged for others: x = φ(u) with u = ψ(x), where φ speaks of the new ones and ψ of the old ones,
/// besides what is bound outside. φ(ψ(x)) = x and ψ(φ(u)) = u as polynomials, so the map is one-to-one between all
/// integer points, and a sum or maximum over all of them is the same.
void Kernel::map(Product& product, Factor* maximum, const Context& context, const Step& step) {
  std::vector<Atom>& bound = maximum ? maximum->bound : product.bound;
  const Images to(step.to.begin(), step.to.end()), back(step.back.begin(), step.back.end());
  if (to.size() != step.to.size() || back.size() != step.back.size()) throw Objection{"an index is mapped twice"};
  std::set<Atom> old(bound.begin(), bound.end()), given, outer = context.scope;
  if (maximum) outer.insert(product.bound.begin(), product.bound.end());
  std::set<Atom> with_old = outer, with_new = outer;
  with_old.insert(old.begin(), old.end());
  for (const auto& [atom, image] : to) given.insert(atom);
  for (const auto& [atom, image] : back) with_new.insert(atom);
  if (given != old) throw Objection{"the map is not of the product's bound indices"};
  const auto undone = [&](const Images& one, const Images& other, const std::set<Atom>& scope) {
    for (const auto& [atom, image] : one) {
      check_scope(image, scope);
      if (atoms_.substitute(image, other) != Poly(atom))
        throw Objection{"the map and its inverse do not undo each other"};
    }
  };
  undone(to, back, with_new);
  undone(back, to, with_old);
  if (maximum)
    for_each_poly(*maximum, [&](Poly& poly) { poly = atoms_.substitute(poly, to); });
  else
    replace(product, to);
  bound.clear();
  for (const auto& [atom, image] : step.back) bound.push_back(atom);
}

void Kernel::guards(Product& product, Factor* maximum, const Context& context, const Step& step) {
  Guards& own = maximum ? maximum->guards : product.guards;
  Guards given = maximum ? joined(context.given, product.guards) : context.given;
  if (step.op == Step::Op::Know) {
    owe(step, "a guard is known", joined(given, own), step.guard.value());
    own.push_back(*step.guard);
    return tidy(own);
  }
  const Guard guard = at(own, step.at.back(), "guard");
  erase(own, step.at.back());
  owe(step, "a guard says nothing new", joined(given, own), guard);
}

void Kernel::same(Sum& sum, const Context& context, const Step& step) {
  if (step.at.size() != 6) throw Objection{"six positions are expected"};
  const auto argument = [&](std::size_t first) -> Sum& {
    Factor& factor = at(at(sum, step.at[first], "product").factors, step.at[first + 1], "factor");
    return at(factor.arguments, step.at[first + 2], "argument");
  };
  Sum& changed = argument(0);
  const Sum wanted = argument(3);
  const Product& product = sum[step.at[0]];
  empty(difference_of(changed, wanted), inside(context, product, product.factors[step.at[1]]), step.block,
        "two arguments are not shown to be equal");
  changed = wanted;
}

void Kernel::empty(Sum sum, const Context& context, const std::vector<Step>& steps, const char* what) {
  for (const Product& product : sum) check_scope(product, context.scope);
  run(sum, context, steps);
  if (!sum.empty()) throw Objection{std::string(what) + ": " + statement_.text(sum[0]) + " is left"};
}

/// c · Σ [G] max_{b: H} (s + Σ_j t_j) · F = c · Σ [G] max_{b: H} (s) · F + Σ_j c · Σ [G] t_j · F where no t_j depends
/// on b and H is not empty; a maximum of no s is 0. Without b, the maximum is [H] (Σ_j t_j).
void Kernel::open(Sum& sum, std::size_t p, std::size_t f, const Context& context, const Step& step) {
  Product product = sum[p];
  Factor maximum = product.factors[f];
  if (maximum.kind != Factor::Kind::Max) throw Objection{"the factor is no maximum"};
  std::set<Atom> scope = context.scope;
  scope.insert(product.bound.begin(), product.bound.end());
  if (maximum.bound.empty()) product.guards = joined(product.guards, maximum.guards);
  owe_point(maximum.bound, maximum.bound.empty() ? Guards() : maximum.guards, joined(context.given, product.guards),
            scope, step);
  erase(product.factors, f);
  Sum inside;
  Sum& body = maximum.arguments.at(0);
  erase(sum, p);
  for (const Product& part : body) {
    if (has_any(part, maximum.bound, atoms_)) {
      inside.push_back(part);
      continue;
    }
    Product opened = product;
    opened.coefficient = opened.coefficient * part.coefficient;
    opened.guards = joined(opened.guards, part.guards);
    tidy(opened.guards);
    opened.bound.insert(opened.bound.end(), part.bound.begin(), part.bound.end());
    opened.factors.insert(opened.factors.end(), part.factors.begin(), part.factors.end());
    check_scope(opened, context.scope);
    sum.push_back(std::move(opened));
  }
  if (inside.empty()) return;
  if (inside.size() == body.size()) throw Objection{"all of the maximum's body varies"};
  body = std::move(inside);
  product.factors.push_back(std::move(maximum));
  sum.push_back(std::move(product));
}

void Kernel::cancel(Sum& sum, const Context& context, const Step& step) {
  Obligation obligation{"products cancel", context.given, {}, {}, {}};
  std::set<std::size_t> members(step.at.begin(), step.at.end());
  if (members.size() != step.at.size() || members.empty()) throw Objection{"different products are expected"};
  const Product& first = at(sum, step.at[0], "product");
  const std::set<Atom> bound(first.bound.begin(), first.bound.end());
  for (const std::size_t p : step.at) {
    const Product& product = at(sum, p, "product");
    bool same = std::set<Atom>(product.bound.begin(), product.bound.end()) == bound &&
                product.factors.size() == first.factors.size();
    std::vector<Factor> rest;
    for (const Factor& factor : first.factors) rest.push_back(sorted(factor));
    for (const Factor& factor : product.factors) {
      const auto found = std::ranges::find(rest, sorted(factor));
      same = same && found != rest.end();
      if (found != rest.end()) rest.erase(found);
    }
    if (!same)
      throw Objection{"products " + std::to_string(step.at[0]) + " and " + std::to_string(p) + " have other factors"};
    obligation.indicators.emplace_back(product.coefficient, product.guards);
  }
  owe(step, std::move(obligation));
  for (auto p = members.rbegin(); p != members.rend(); ++p) erase(sum, *p);
}

}  // namespace rulemill::check
