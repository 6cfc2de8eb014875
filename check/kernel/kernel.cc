#include "check/kernel/kernel.h"

#include <algorithm>

namespace rulemill::check {

namespace {

template <class T>
T& at(std::vector<T>& list, std::size_t position, const char* what) {
  if (position >= list.size()) throw CheckError{"there is no " + std::string(what) + " " + std::to_string(position)};
  return list[position];
}

}  // namespace

void Kernel::require(const Step& step, Obligation obligation) {
  obligation.lemmas = step.lemmas;
  require(std::move(obligation));
}

void Kernel::require(Obligation obligation) {
  if (is_trivial(obligation))
    ++trivial_;
  else
    on_obligation_(std::move(obligation));
}

void Kernel::require(const Step& step, const char* what, Guards given, Guard goal) {
  require(step, {what, std::move(given), std::move(goal), {}, {}});
}

Kernel::Context Kernel::argument_context(const Context& context, const Product& product, const Factor& factor) const {
  Context inner{conjunction(conjunction(context.given, product.guards), factor.guards), context.scope};
  inner.scope.insert(product.bound.begin(), product.bound.end());
  inner.scope.insert(factor.bound.begin(), factor.bound.end());
  return inner;
}

void Kernel::check_scope(const Poly& poly, const std::set<Atom>& scope) const {
  std::set<Atom> all;
  atoms_.collect(poly, all);
  for (const Atom atom : all) {
    if (atoms_.kind(atom) == Atoms::Kind::Bound && !scope.contains(atom)) {
      throw CheckError{atoms_.text(Poly(atom)) + " is not bound there"};
    }
  }
}

/// Throws CheckError if a bound index occurs outside its product or maximum, or shadows another.
void Kernel::check_scope(const Product& product, std::set<Atom> scope) const {
  const auto enter = [&](const std::vector<Atom>& bound, std::set<Atom>& into) {
    for (const Atom atom : bound) {
      if (atoms_.kind(atom) != Atoms::Kind::Bound) throw CheckError{atoms_.text(Poly(atom)) + " cannot be bound"};
      if (!into.insert(atom).second) throw CheckError{atoms_.text(Poly(atom)) + " is bound twice"};
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

void Kernel::apply(Sum& sum, const Context& context, const Step& step) {
  using Op = Step::Op;
  const auto position = [&](std::size_t i) {
    if (i >= step.positions.size()) throw CheckError{"a position is missing"};
    return step.positions[i];
  };
  if (step.op == Op::Cancel) return cancel(sum, context, step);
  if (step.op == Op::Same) return same(sum, context, step);
  if (step.op == Op::Order) return order(sum, step);
  const std::size_t p = position(0);
  Product& product = at(sum, p, "product");
  const bool on_product = step.op == Op::NewIndex || step.op == Op::CountRange || step.op == Op::CollectTerms;
  const bool in_factor = step.targets_maximum || (step.op >= Op::Index && !on_product);
  Factor* factor = in_factor ? &at(product.factors, position(1), "factor") : nullptr;
  if (step.targets_maximum && factor->kind != Factor::Kind::Max) throw CheckError{"the factor is not a maximum"};
  const algebra::Function* function = factor ? function_of(*factor) : nullptr;
  switch (step.op) {
    case Op::Drop:
      require(step, {"a product vanishes", conjunction(context.given, product.guards), {}, {}, {}});
      return erase_at(sum, p);
    case Op::Set:
      return set(product, factor, context, step), check_scope(sum[p], context.scope);
    case Op::Map:
      return map(product, factor, context, step), check_scope(sum[p], context.scope);
    case Op::AddGuard:
    case Op::DropGuard:
      return change_guards(product, factor, context, step), check_scope(sum[p], context.scope);
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
      require(step, "two indices are equal", conjunction(context.given, product.guards),
              {true, index - step.polys.at(0)});
      index = step.polys[0];
      return check_scope(product, context.scope);
    }
    case Op::Within:
      return run(at(factor->arguments, position(2), "argument"), argument_context(context, product, *factor),
                 step.block);
    case Op::Zero: {
      const bool empty = std::ranges::all_of(factor->arguments, [](const Sum& argument) { return argument.empty(); });
      const bool lawful = factor->kind == Factor::Kind::Max || (function && function->maps_zero_to_zero);
      if (!empty || !lawful) throw CheckError{"the factor is not zero"};
      return erase_at(sum, p);
    }
    case Op::Commute:
      if (!function || !function->commutative || factor->arguments.size() != 2)
        throw CheckError{"the function is not commutative"};
      return std::swap(factor->arguments[0], factor->arguments[1]);
    case Op::InstantiateMax:
      return instantiate_max(sum, p, position(1), context, step);
    case Op::Cancel:
    case Op::Same:
    case Op::Order:
      return;
    case Op::NewIndex:
      return new_index(product, factor, context, step), check_scope(sum[p], context.scope);
    case Op::CountRange:
      return count_range(product, context, step), check_scope(sum[p], context.scope);
    case Op::CollectTerms:
      return collect_terms(sum, p, position(1));
    default:
      return apply_law(sum, p, position(1), context, step);
  }
}

void Kernel::set(Product& product, Factor* maximum, const Context& context, const Step& step) {
  const Atom atom = step.atom.value();
  const Poly& value = step.polys.at(0);
  Guards given = conjunction(context.given, product.guards);
  if (maximum) given = conjunction(std::move(given), maximum->guards);
  if (atoms_.occurs(value, atom)) throw CheckError{"the value of an index contains the index"};
  require(step, "an index has one value", given, {true, Poly(atom) - value});
  std::vector<Atom>& bound = maximum ? maximum->bound : product.bound;
  Guards& own = maximum ? maximum->guards : product.guards;
  const auto substitute = [&](Poly& poly) { poly = atoms_.substitute(poly, {{atom, value}}); };
  maximum ? for_each_poly(*maximum, substitute) : for_each_poly(product, substitute);
  if (std::erase(bound, atom) == 0) own.push_back({true, Poly(atom) - value});
  remove_redundant(own);
}

/// φ contains the new indices, ψ the old ones, and both those that are bound outside. φ and ψ are inverse to each other
/// as polynomials. So the map is one-to-one between all integer points, and a sum or maximum over them is the same.
void Kernel::map(Product& product, Factor* maximum, const Context& context, const Step& step) {
  std::vector<Atom>& bound = maximum ? maximum->bound : product.bound;
  const Images images(step.images.begin(), step.images.end()), inverse(step.inverse.begin(), step.inverse.end());
  if (images.size() != step.images.size() || inverse.size() != step.inverse.size())
    throw CheckError{"an index is mapped twice"};
  std::set<Atom> old(bound.begin(), bound.end()), mapped, outer = context.scope;
  if (maximum) outer.insert(product.bound.begin(), product.bound.end());
  std::set<Atom> with_old = outer, with_new = outer;
  with_old.insert(old.begin(), old.end());
  for (const auto& [atom, image] : images) mapped.insert(atom);
  for (const auto& [atom, image] : inverse) with_new.insert(atom);
  if (mapped != old) throw CheckError{"the map is not defined on exactly the bound indices"};
  const auto check_inverse = [&](const Images& one, const Images& other, const std::set<Atom>& scope) {
    for (const auto& [atom, image] : one) {
      check_scope(image, scope);
      if (atoms_.substitute(image, other) != Poly(atom))
        throw CheckError{"the map and its inverse are not inverse to each other"};
    }
  };
  check_inverse(images, inverse, with_new);
  check_inverse(inverse, images, with_old);
  const auto substitute = [&](Poly& poly) { poly = atoms_.substitute(poly, images); };
  maximum ? for_each_poly(*maximum, substitute) : for_each_poly(product, substitute);
  bound.clear();
  for (const auto& [atom, image] : step.inverse) bound.push_back(atom);
}

void Kernel::change_guards(Product& product, Factor* maximum, const Context& context, const Step& step) {
  Guards& own = maximum ? maximum->guards : product.guards;
  Guards given = maximum ? conjunction(context.given, product.guards) : context.given;
  if (step.op == Step::Op::AddGuard) {
    require(step, "a guard holds", conjunction(given, own), step.guard.value());
    own.push_back(*step.guard);
    return remove_redundant(own);
  }
  const Guard guard = at(own, step.positions.back(), "guard");
  erase_at(own, step.positions.back());
  require(step, "a guard is redundant", conjunction(given, own), guard);
}

void Kernel::same(Sum& sum, const Context& context, const Step& step) {
  if (step.positions.size() != 6) throw CheckError{"expected six positions"};
  const auto argument = [&](std::size_t first) -> Sum& {
    Factor& factor = at(at(sum, step.positions[first], "product").factors, step.positions[first + 1], "factor");
    return at(factor.arguments, step.positions[first + 2], "argument");
  };
  Sum& changed = argument(0);
  const Sum wanted = argument(3);
  const Product& product = sum[step.positions[0]];
  check_vanishes(subtract(changed, wanted), argument_context(context, product, product.factors[step.positions[1]]),
                 step.block, "two arguments are not shown to be equal");
  changed = wanted;
}

void Kernel::check_vanishes(Sum sum, const Context& context, const std::vector<Step>& steps, const char* what) {
  for (const Product& product : sum) check_scope(product, context.scope);
  run(sum, context, steps);
  if (!sum.empty()) throw CheckError{std::string(what) + ": " + statement_.text(sum[0]) + " remains"};
}

/// c · Σ [G] max_{b: H} (s + Σ_j t_j) · F = c · Σ [G] max_{b: H} (s) · F + Σ_j c · Σ [G] t_j · F where no t_j depends
/// on b and H is not empty. A maximum of 0 is 0. Without b, the maximum is [H] (Σ_j t_j).
void Kernel::instantiate_max(Sum& sum, std::size_t p, std::size_t f, const Context& context, const Step& step) {
  Product product = sum[p];
  Factor maximum = product.factors[f];
  if (maximum.kind != Factor::Kind::Max) throw CheckError{"the factor is not a maximum"};
  std::set<Atom> scope = context.scope;
  scope.insert(product.bound.begin(), product.bound.end());
  if (maximum.bound.empty()) product.guards = conjunction(product.guards, maximum.guards);
  require_point(maximum.bound, maximum.bound.empty() ? Guards() : maximum.guards,
                conjunction(context.given, product.guards), scope, step);
  erase_at(product.factors, f);
  Sum inside;
  Sum& body = maximum.arguments.at(0);
  erase_at(sum, p);
  for (const Product& part : body) {
    if (depends_on(part, maximum.bound, atoms_)) {
      inside.push_back(part);
      continue;
    }
    Product extracted = product;
    extracted.coefficient = extracted.coefficient * part.coefficient;
    extracted.guards = conjunction(extracted.guards, part.guards);
    remove_redundant(extracted.guards);
    extracted.bound.insert(extracted.bound.end(), part.bound.begin(), part.bound.end());
    extracted.factors.insert(extracted.factors.end(), part.factors.begin(), part.factors.end());
    check_scope(extracted, context.scope);
    sum.push_back(std::move(extracted));
  }
  if (inside.empty()) return;
  if (inside.size() == body.size()) throw CheckError{"every product in the maximum depends on its indices"};
  body = std::move(inside);
  product.factors.push_back(std::move(maximum));
  sum.push_back(std::move(product));
}

void Kernel::cancel(Sum& sum, const Context& context, const Step& step) {
  Obligation obligation{"products cancel", context.given, {}, {}, {}};
  std::set<std::size_t> members(step.positions.begin(), step.positions.end());
  if (members.size() != step.positions.size() || members.empty()) throw CheckError{"expected distinct products"};
  const Product& first = at(sum, step.positions[0], "product");
  const std::set<Atom> bound(first.bound.begin(), first.bound.end());
  for (const std::size_t p : step.positions) {
    const Product& product = at(sum, p, "product");
    bool same = std::set<Atom>(product.bound.begin(), product.bound.end()) == bound &&
                product.factors.size() == first.factors.size();
    std::vector<Factor> rest;
    for (const Factor& factor : first.factors) rest.push_back(with_sorted_guards(factor));
    for (const Factor& factor : product.factors) {
      const auto found = std::ranges::find(rest, with_sorted_guards(factor));
      same = same && found != rest.end();
      if (found != rest.end()) rest.erase(found);
    }
    if (!same)
      throw CheckError{"products " + std::to_string(step.positions[0]) + " and " + std::to_string(p) +
                       " have different factors"};
    obligation.indicators.emplace_back(product.coefficient, product.guards);
  }
  require(step, std::move(obligation));
  for (auto p = members.rbegin(); p != members.rend(); ++p) erase_at(sum, *p);
}

}  // namespace rulemill::check
