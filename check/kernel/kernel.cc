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

void erase(Sum& sum, const std::set<std::size_t>& positions) {
  for (auto p = positions.rbegin(); p != positions.rend(); ++p) erase_at(sum, *p);
}

Images to_images(const Step::Assignment& assignment) {
  Images images(assignment.begin(), assignment.end());
  expect(images.size() == assignment.size(), "an index has two values");
  return images;
}

}  // namespace

void Kernel::require(Obligation obligation) {
  const bool of_sizes = obligation.goal && !obligation.goal->equality && atoms_.is_nonnegative(obligation.goal->poly);
  if (of_sizes || is_trivial(obligation))
    ++trivial_;
  else
    on_obligation_(std::move(obligation));
}

void Kernel::require(const Step& step, const char* what, Guards given, Guard goal) {
  require({what, std::move(given), std::move(goal), {}, step.lemmas});
}

void Kernel::require(std::vector<Obligation> obligations, const Step& step) {
  for (Obligation& obligation : obligations) {
    obligation.lemmas = step.lemmas;
    require(std::move(obligation));
  }
}

void Kernel::require_point(const Guards& guards, const std::vector<Atom>& bound, std::span<const Poly> point,
                           const Context& context, const Step& step) {
  expect(point.size() == bound.size(), "expected a point with one polynomial per index");
  Images at;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    check_scope(point[i], context.scope);
    at[bound[i]] = point[i];
  }
  for (const Guard& guard : guards) require(step, "a range has a point", context.given, atoms_.substitute(guard, at));
}

void Kernel::check_scope(const Poly& poly, const std::set<Atom>& scope) const {
  std::set<Atom> all;
  atoms_.collect(poly, all);
  for (const Atom atom : all) {
    if (atoms_.kind(atom) == Atoms::Kind::Bound && !scope.contains(atom))
      throw CheckError{atoms_.text(Poly(atom)) + " is not bound there"};
  }
}

void Kernel::check_scope(const Guards& guards, const std::set<Atom>& scope) const {
  for (const Guard& guard : guards) check_scope(guard.poly, scope);
}

template <class Range>
void Kernel::enter(const Range& range, std::set<Atom>& scope) const {
  for (const Atom atom : range.bound) {
    if (atoms_.kind(atom) != Atoms::Kind::Bound) throw CheckError{atoms_.text(Poly(atom)) + " cannot be bound"};
    if (!scope.insert(atom).second) throw CheckError{atoms_.text(Poly(atom)) + " is bound twice"};
  }
  check_scope(range.guards, scope);
}

void Kernel::check_scope(const Sum& sum, const std::set<Atom>& scope) const {
  for (const Product& product : sum) {
    std::set<Atom> inside = scope;
    enter(product, inside);
    for (const Factor& factor : product.factors) check_scope(factor, inside);
  }
}

void Kernel::check_scope(const Factor& factor, std::set<Atom> scope) const {
  enter(factor, scope);
  for (const Poly& poly : factor.index) check_scope(poly, scope);
  for (const Sum& argument : factor.arguments) check_scope(argument, scope);
}

void Kernel::check_named(const Sum& sum, const std::set<Atom>& scope) const {
  check_scope(sum, scope);
  check_finite(sum);
}

void Kernel::check_finite(const Sum& sum) const {
  for (const Product& product : sum) {
    check_finite(product.bound, product.guards);
    for (const Factor& factor : product.factors) {
      check_finite(factor.bound, factor.guards);
      for (const Sum& argument : factor.arguments) check_finite(argument);
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
  if (step.op == Op::Replace) return replace(sum, context, step);
  if (step.op == Op::Indicators && !step.targets_maximum) return indicators(sum, context, step);
  const std::size_t p = step.position(0);
  Product& product = at(sum, p, "product");
  const Context inside = within(context, product);
  if (step.targets_maximum) {
    Factor& maximum = at(product.factors, step.position(1), "factor");
    expect(maximum.kind == Factor::Kind::Max, "the factor is not a maximum");
    if (step.op == Op::Reindex) {
      reindex(maximum, inside, step, &maximum.arguments.at(0));
    } else {
      expect(step.op == Op::Indicators && step.indicators.size() == 1 && !step.indicators[0].coefficient,
             "expected a step on the range of a maximum");
      Guards changed = changed_guards(maximum.guards, step.indicators[0], within(inside, maximum).scope);
      require(to_obligations("two ranges are equal", inside.given, {{{1, 1}, maximum.guards}, {{-1, 1}, changed}}, {}),
              step);
      maximum.guards = std::move(changed);
    }
  } else if (step.op == Op::Reindex) {
    reindex(product, context, step, nullptr);
  } else if (step.op == Op::Count) {
    count(product, context, step);
  } else {
    at(product.factors, step.position(1), "factor");
    const Sum parts = step.op == Op::Law ? apply_law(product, context, step)
                                         : change_factor(product, step.position(1), context, step);
    check_scope(parts, context.scope);
    if (parts.size() == 1) return void(sum[p] = parts[0]);
    erase_at(sum, p);
    sum.insert(sum.end(), parts.begin(), parts.end());
    return;
  }
  check_scope({sum[p]}, context.scope);
}

bool Kernel::equal_but_for_guards(const Product& a, const Product& b) const {
  if (a.bound == b.bound && a.factors == b.factors) return true;
  if (a.factors.size() != b.factors.size() || !std::ranges::is_permutation(a.bound, b.bound)) return false;
  const auto factors = [&](const Product& product) {
    std::vector<Factor> result;
    for (const Factor& factor : product.factors) result.push_back(canonical(factor, atoms_));
    return result;
  };
  return std::ranges::is_permutation(factors(a), factors(b));
}

Guards Kernel::changed_guards(const Guards& guards, const Step::Indicator& change, const std::set<Atom>& scope) const {
  check_scope(change.with, scope);
  expect(std::ranges::adjacent_find(change.without, std::greater_equal()) == change.without.end(),
         "the positions of guards do not ascend");
  Guards result = guards;
  for (auto g = change.without.rbegin(); g != change.without.rend(); ++g) {
    at(result, *g, "guard");
    erase_at(result, *g);
  }
  return conjunction(std::move(result), change.with);
}

void Kernel::indicators(Sum& sum, const Context& context, const Step& step) {
  std::set<std::size_t> members = distinct_positions(sum, step);
  const std::size_t onto = step.position(0);
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
    result.guards = changed_guards(first.guards, change, scope);
    terms.emplace_back(-result.coefficient, result.guards);
    // Then their ranges are in those of the members, and finite.
    expect((result.coefficient * results[0].coefficient).num > 0, "the new products have different signs");
  }
  require(to_obligations("products have equal values", context.given, std::move(terms), {}), step);
  if (!results.empty()) {
    sum[onto] = results[0];
    members.erase(onto);
    sum.insert(sum.end(), results.begin() + 1, results.end());
  }
  erase(sum, members);
}

/// φ maps the new range {u: G(φ), u = ψ(φ(u))} to the old one {b: G}, and ψ maps it back. φ(ψ(b)) = b where G holds,
/// and ψ(φ(u)) = u in the new range, so both are bijections. A maximum may leave out the equation for an index that it
/// is not of, if ψ maps to the new range nevertheless. An atom x that is not bound here has the value φ(x) in both.
template <class Range>
void Kernel::reindex(Range& range, const Context& outside, const Step& step, const Sum* body) {
  const Context inside = within(outside, range);
  const Images images = to_images(step.images), inverse = to_images(step.inverse);
  std::vector<Atom> bound = range.bound;
  std::erase_if(bound, [&](Atom atom) { return images.contains(atom); });
  for (const auto& [atom, value] : step.inverse) bound.push_back(atom);
  std::set<Atom> scope = outside.scope;
  enter(Product{{1, 1}, {}, bound, {}}, scope);
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
    } else if (body && std::ranges::none_of(*body, [&, index = atom](const Product& part) {
                 return depends_on(part, {index}, atoms_);
               })) {
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
  check_scope(low, inside.scope);
  check_scope(high, inside.scope);
  const Guard least{false, Poly(index) - low}, most{false, high - Poly(index)};
  expect(std::erase(product.guards, least) > 0 && std::erase(product.guards, most) > 0,
         "the index has a different range");
  check_finite(Sum{product});  // also where the range is empty
  require(step, "a range has a nonnegative size", within(context, product).given, {false, high - low + 1});
  product.factors.push_back(integer_factor(high - low + 1));
}

void Kernel::replace(Sum& sum, const Context& context, const Step& step) {
  const auto argument_at = [&](std::size_t i) -> std::pair<Product*, Factor*> {
    Product& product = at(sum, step.position(i), "product");
    return {&product, &at(product.factors, step.position(i + 1), "factor")};
  };
  const auto [product, factor] = argument_at(0);
  Sum& changed = at(factor->arguments, step.position(2), "argument");
  const Sum wanted =
      step.sums.empty() ? at(argument_at(3).second->arguments, step.position(5), "argument") : step.sums[0];
  const Context inside = argument_context(context, *product, *factor);
  check_named(wanted, inside.scope);
  check_vanishes(subtract(changed, wanted), inside, at(step.blocks, 0, "block"),
                 "the arguments are not shown to be equal");
  changed = wanted;
  check_scope({*product}, context.scope);
}

void Kernel::order(Sum& sum, const Context& context, const Step& step) {
  const std::set<std::size_t> members = distinct_positions(sum, step);
  const auto range = [&](std::size_t p) {
    Guards guards = sum[p].guards;
    std::ranges::sort(guards);
    return std::pair(std::set<Atom>(sum[p].bound.begin(), sum[p].bound.end()), std::move(guards));
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
    on_obligation_({"products cancel in every case", {}, {}, {}, {}, std::move(script)});
  });
  expect(letters.empty(), "there are more cases than the sum has");
  erase(sum, members);
}

}  // namespace rulemill::check
