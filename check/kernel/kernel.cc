// Steps on sums, and on the guards and bound indices of products and maxima.
#include "check/kernel/kernel.h"

#include <algorithm>

namespace rulemill::check {

using Op = Step::Op;

namespace {

std::set<std::size_t> distinct_positions(const Sum& sum, const Step& step) {
  const std::set<std::size_t> result(step.positions.begin(), step.positions.end());
  expect(result.size() == step.positions.size() && !result.empty(), "expected distinct products");
  at(sum, *result.rbegin(), "product");
  return result;
}

Images to_images(const Step::Assignment& assignment) {
  Images images(assignment.begin(), assignment.end());
  expect(images.size() == assignment.size(), "an index has two values");
  return images;
}

}  // namespace

Images Kernel::require_point(const Guards& guards, const std::vector<Atom>& bound, std::span<const Poly> point,
                             const Context& context, const Step& step) {
  expect(point.size() == bound.size(), "expected a point with one polynomial per index");
  Images at;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    check_scope(point[i], context.scope);
    at[bound[i]] = point[i];
  }
  for (const Guard& guard : guards) require(step, "a range has a point", context.given, atoms_.substitute(guard, at));
  return at;
}

void Kernel::check_scope(const Poly& poly, const std::set<Atom>& scope) const {
  std::set<Atom> all;
  atoms_.collect(poly, all);
  for (const Atom atom : all) {
    if (atoms_.kind(atom) == Atoms::Kind::Bound && !scope.contains(atom))
      throw CheckError{atoms_.text(Poly(atom)) + " is not bound there"};
  }
}

template <class Range>
void Kernel::enter(const Range& range, std::set<Atom>& scope, bool is_finite) const {
  for (const Atom atom : range.bound) {
    if (atoms_.kind(atom) != Atoms::Kind::Bound) throw CheckError{atoms_.text(Poly(atom)) + " cannot be bound"};
    if (!scope.insert(atom).second) throw CheckError{atoms_.text(Poly(atom)) + " is bound twice"};
  }
  for (const Guard& guard : range.guards) check_scope(guard.poly, scope);
  if (is_finite) check_finite(range.bound, range.guards);
}

void Kernel::check_scope(const Sum& sum, const std::set<Atom>& scope, bool is_finite) const {
  for (const Product& product : sum) {
    std::set<Atom> inside = scope;
    enter(product, inside, is_finite);
    for (const Factor& factor : product.factors) {
      std::set<Atom> inner = inside;
      enter(factor, inner, is_finite);
      for (const Poly& poly : factor.index) check_scope(poly, inner);
      for (const Sum& argument : factor.arguments) check_scope(argument, inner, is_finite);
    }
  }
}

/// Each index has a lower and an upper bound in which no index occurs that has none yet.
void Kernel::check_finite(const std::vector<Atom>& bound, const Guards& guards) const {
  std::set<Atom> open(bound.begin(), bound.end());
  const auto is_bounded = [&](Atom index) {
    bool from_below = false, from_above = false;
    for (const Guard& guard : guards) {
      const std::vector<Poly> powers = guard.poly.coefficients_in(index);
      if (powers.size() != 2 || std::ranges::any_of(open, [&](Atom other) { return atoms_.occurs(powers[0], other); }))
        continue;
      const bool rises = atoms_.is_nonnegative(powers[1] - 1), falls = atoms_.is_nonnegative(-powers[1] - 1);
      from_below = from_below || rises || (guard.equality && falls);
      from_above = from_above || falls || (guard.equality && rises);
    }
    return from_below && from_above;
  };
  while (!open.empty()) {
    const auto next = std::ranges::find_if(open, is_bounded);
    if (next == open.end()) throw CheckError{atoms_.text(Poly(*open.begin())) + " has no bounds"};
    open.erase(next);
  }
}

void Kernel::check_vanishes(Sum sum, const Context& context, const std::vector<Step>& steps, const char* what) {
  check_scope(sum, context.scope);
  run(sum, context, steps);
  if (!sum.empty()) throw CheckError{std::string(what) + ": nothing cancels " + statement_.text(sum[0])};
}

void Kernel::apply(Sum& sum, const Context& context, const Step& step) {
  if (step.op == Op::Order) return order(sum, context, step);
  if (step.op == Op::Indicators && !step.targets_maximum)
    return indicators(sum, distinct_positions(sum, step), context, step);
  const std::size_t p = step.position(0);
  Sum parts = {at(sum, p, "product")};
  if (step.op == Op::Count)
    count(parts[0], context, step);
  else if (step.op == Op::Reindex && !step.targets_maximum)
    reindex(parts[0], context, step);
  else
    parts = change_factor(sum, context, step);
  check_scope(parts, context.scope);
  if (parts.size() == 1) return void(sum[p] = std::move(parts[0]));
  erase_at(sum, p);
  sum.insert(sum.end(), parts.begin(), parts.end());
}

/// The range of a maximum is changed like that of a product with the body of the maximum as its one factor.
void Kernel::change_maximum(Factor& maximum, const Context& inside, const Step& step) {
  expect(maximum.kind == Factor::Kind::Max, "the factor is not a maximum");
  Sum range = {{{1, 1}, std::exchange(maximum.guards, {}), std::exchange(maximum.bound, {}), {}}};
  range[0].factors.push_back(std::move(maximum));
  if (step.op == Op::Reindex)
    reindex(range[0], inside, step);
  else
    indicators(range, {0}, inside, step);
  expect(range.size() == 1 && range[0].coefficient == Rational{1, 1}, "expected a step on the range of a maximum");
  maximum = std::move(range[0].factors[0]);
  maximum.guards = std::move(range[0].guards), maximum.bound = std::move(range[0].bound);
}

bool Kernel::equal_but_for_guards(Product a, Product b) const {
  if (!std::ranges::is_permutation(a.bound, b.bound)) return false;
  b.bound = a.bound, b.guards = a.guards, b.coefficient = a.coefficient;
  return a == b || is_same({a}, {b});
}

void Kernel::indicators(Sum& sum, std::set<std::size_t> members, const Context& context, const Step& step) {
  const std::size_t onto = step.targets_maximum ? 0 : step.position(0);
  const Product first = sum[onto];
  const std::set<Atom> scope = within(context, first).scope;
  IndicatorSum terms;
  for (const std::size_t p : members) {
    if (!equal_but_for_guards(sum[p], first))
      throw CheckError{"products " + std::to_string(onto) + " and " + std::to_string(p) + " have different factors"};
    terms.emplace_back(sum[p].coefficient, sum[p].guards);
  }
  Sum results;
  for (const Step::Indicator& change : step.indicators) {
    Product& result = results.emplace_back(first);
    result.coefficient = change.coefficient.value_or(first.coefficient);
    expect(std::ranges::adjacent_find(change.without, std::greater_equal()) == change.without.end(),
           "the positions of guards do not ascend");
    erase(result.guards, {change.without.begin(), change.without.end()}, "guard");
    for (const Guard& guard : change.with) check_scope(guard.poly, scope);
    result.guards = conjunction(std::move(result.guards), change.with);
    terms.emplace_back(-result.coefficient, result.guards);
    // Then their ranges are in those of the members, and finite.
    expect((result.coefficient * results[0].coefficient).num > 0, "the new products have different signs");
  }
  require_zero({"products have equal values", context.given, {}, step.lemmas}, terms, atoms_, on_obligation_);
  if (!results.empty()) {
    sum[onto] = results[0];
    members.erase(onto);
    sum.insert(sum.end(), results.begin() + 1, results.end());
  }
  erase(sum, members, "product");
}

/// φ maps the new range {u: G(φ), u = ψ(φ(u))} to the old one {b: G}, and ψ maps it back. φ(ψ(b)) = b where G holds,
/// and ψ(φ(u)) = u in the new range, so both are bijections. A maximum may leave out the equation for an index that it
/// is not of, if ψ maps to the new range nevertheless. An atom x that is not bound here has the value φ(x) in both.
void Kernel::reindex(Product& range, const Context& outside, const Step& step) {
  const Context inside = within(outside, range);
  const Images images = to_images(step.images), inverse = to_images(step.inverse);
  std::vector<Atom> bound = range.bound;
  std::erase_if(bound, [&](Atom atom) { return images.contains(atom); });
  for (const auto& [atom, value] : step.inverse) bound.push_back(atom);
  std::set<Atom> scope = outside.scope;
  enter(Product{{1, 1}, {}, bound, {}}, scope, false);
  for (const auto& [atom, value] : images) check_scope(value, scope);
  for (const auto& [atom, value] : inverse) check_scope(value, inside.scope);
  Guards equations;  // of the new range
  bool is_onto = true;
  for (const auto& [atom, value] : images) {
    const bool is_bound = std::ranges::count(range.bound, atom) > 0;
    expect(is_bound || atoms_.kind(atom) != Atoms::Kind::Bound || outside.scope.contains(atom),
           "an index is not in scope");
    if (!is_bound) {
      Images others = images;
      others.erase(atom);
      equations.push_back({true, atoms_.substitute(Poly(atom), others) - value});
    } else if (step.targets_maximum && !depends_on(range.factors[0], {atom}, atoms_)) {
      is_onto = false;
      continue;
    }
    require(step, "an index has its value", inside.given, {true, Poly(atom) - atoms_.substitute(value, inverse)});
  }
  for (const auto& [atom, value] : inverse) equations.push_back({true, Poly(atom) - atoms_.substitute(value, images)});
  for_each_poly(range, [&](Poly& poly) { poly = atoms_.substitute(poly, images); });
  range.guards = conjunction(std::move(range.guards), equations);
  range.bound = std::move(bound);
  remove_redundant(range.guards);
  if (is_onto) return;
  for (const Guard& guard : range.guards)
    require(step, "a point of the new range", inside.given, atoms_.substitute(guard, inverse));
}

void Kernel::count(Product& product, const Context& context, const Step& step) {
  const Atom index = step.atom.value();
  expect(step.polys.size() == 2 && std::erase(product.bound, index) == 1, "the index is not bound there");
  const Poly &low = step.polys[0], &high = step.polys[1];
  const Context inside = within(context, product);  // without the index
  for (const Poly& end : step.polys) check_scope(end, inside.scope);
  const Guard least{false, Poly(index) - low}, most{false, high - Poly(index)};
  expect(std::erase(product.guards, least) > 0 && std::erase(product.guards, most) > 0,
         "the index has a different range");
  check_scope({product}, context.scope, true);  // its ranges are finite also where this one is empty
  require(step, "a range has a nonnegative size", within(context, product).given, {false, high - low + 1});
  product.factors.push_back(integer_factor(high - low + 1));
}

void Kernel::order(Sum& sum, const Context& context, const Step& step) {
  const std::set<std::size_t> members = distinct_positions(sum, step);
  const auto range = [&](std::size_t p) {
    const auto& [coefficient, guards, bound, factors] = sum[p];
    return std::pair(std::set(bound.begin(), bound.end()), std::set(guards.begin(), guards.end()));
  };
  Sum products;
  for (const std::size_t p : members) {
    expect(range(p) == range(*members.begin()), "the products have different guards or bound indices");
    products.push_back({sum[p].coefficient, {}, {}, sum[p].factors});
  }
  std::string_view letters = step.name;
  const auto next_letter = [&](const auto&) {
    expect(letters.starts_with('s') || letters.starts_with('x'), "expected a case");
    const char letter = letters[0];
    letters.remove_prefix(1);
    return letter;
  };
  const Guards given = within(context, sum[*members.begin()]).given;
  evaluate_in_cases(products, given, statement_, next_letter, [&](std::string script) {
    on_obligation_({"products cancel in every case", {}, {}, {}, std::move(script)});
  });
  expect(letters.empty(), "there are more cases than the sum has");
  erase(sum, members, "product");
}

}  // namespace rulemill::check
