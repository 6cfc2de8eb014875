// Steps on sums, and on the guards and bound indices of products and maxima.
#include "check/kernel/kernel.h"

#include <algorithm>

namespace rulemill::check {

using algebra::Function;
using Op = Step::Op;

std::set<std::size_t> positions(const Sum& sum, const Step& step) {
  const std::set<std::size_t> result(step.positions.begin(), step.positions.end());
  expect(result.size() == step.positions.size(), "expected distinct products");
  at(sum, *result.rbegin(), "product");
  return result;
}

void erase(Sum& sum, const std::set<std::size_t>& positions) {
  for (auto p = positions.rbegin(); p != positions.rend(); ++p) erase_at(sum, *p);
}

void Kernel::require(Obligation obligation) {
  const bool of_sizes = obligation.goal && !obligation.goal->equality && atoms_.is_nonnegative(obligation.goal->poly);
  of_sizes || is_trivial(obligation) ? void(++trivial_) : on_obligation_(std::move(obligation));
}

void Kernel::require(const Step& step, const char* what, Guards given, std::optional<Guard> goal) {
  require({what, std::move(given), std::move(goal), {}, step.lemmas});
}

void Kernel::require_point(const Factor& maximum, const Context& context, const Step& step,
                           std::span<const Poly> point) {
  expect(point.size() == maximum.bound.size(), "expected a point with one polynomial per index of the maximum");
  Images images;
  for (std::size_t i = 0; i < point.size(); ++i) images[maximum.bound[i]] = point[i];
  for (const Guard& guard : maximum.guards)
    require(step, "a range is not empty", context.given, atoms_.substitute(guard, images));
}

void Kernel::check_scope(const Poly& poly, const std::set<Atom>& scope) const {
  std::set<Atom> all;
  atoms_.collect(poly, all);
  for (const Atom atom : all) {
    if (atoms_.kind(atom) == Atoms::Kind::Bound && !scope.contains(atom))
      throw CheckError{atoms_.text(Poly(atom)) + " is not bound there"};
  }
}

/// Throws CheckError if an index cannot be bound, or is bound already.
void Kernel::bind(Atom atom, std::set<Atom>& scope) const {
  if (atoms_.kind(atom) != Atoms::Kind::Bound) throw CheckError{atoms_.text(Poly(atom)) + " cannot be bound"};
  if (!scope.insert(atom).second) throw CheckError{atoms_.text(Poly(atom)) + " is bound twice"};
}

/// Throws CheckError if a bound index occurs outside its product or maximum, or shadows another.
void Kernel::check_scope(const Product& product, std::set<Atom> scope) const {
  const auto enter = [&](const auto& range, std::set<Atom>& into) {
    for (const Atom atom : range.bound) bind(atom, into);
    for (const Guard& guard : range.guards) check_scope(guard.poly, into);
  };
  enter(product, scope);
  for (const Factor& factor : product.factors) {
    std::set<Atom> within = scope;
    enter(factor, within);
    for (const Poly& poly : factor.index) check_scope(poly, within);
    for (const Sum& argument : factor.arguments) {
      for (const Product& inner : argument) check_scope(inner, within);
    }
  }
}

/// Each index of a range has a lower and an upper bound in which no index occurs that has none yet.
void Kernel::check_finite(const Sum& sum) const {
  const auto check = [&](const auto& range) {
    std::set<Atom> open(range.bound.begin(), range.bound.end());
    const auto has_bound = [&](Atom index, int sign) {
      return std::ranges::any_of(range.guards, [&](const Guard& guard) {
        const std::vector<Poly> powers = guard.poly.coefficients_in(index);
        const auto is_in_rest = [&](Atom other) { return atoms_.occurs(powers[0], other); };
        const auto is_positive = [&](const Poly& number) { return atoms_.is_nonnegative(number - 1); };
        return powers.size() == 2 && std::ranges::none_of(open, is_in_rest) &&
               (is_positive(powers[1] * sign) || (guard.equality && is_positive(powers[1] * -sign)));
      });
    };
    while (!open.empty()) {
      const auto next = std::ranges::find_if(open, [&](Atom i) { return has_bound(i, 1) && has_bound(i, -1); });
      expect(next != open.end(), "a range may be infinite by its own guards");
      open.erase(next);
    }
  };
  for (const Product& product : sum) {
    check(product);
    for (const Factor& factor : product.factors) {
      check(factor);
      for (const Sum& argument : factor.arguments) check_finite(argument);
    }
  }
}

void Kernel::check_vanishes(Sum sum, const Context& context, const std::vector<Step>& steps, const char* what) {
  for (const Product& product : sum) check_scope(product, context.scope);
  run(sum, context, steps);
  if (!sum.empty()) throw CheckError{std::string(what) + ": " + statement_.text(sum[0]) + " remains"};
}

void Kernel::check_scope(const std::vector<ProductLemma>& lemmas, Product product, std::set<Atom> scope) const {
  for_each_poly(product, [&](const Poly& poly) { atoms_.collect(poly, scope); });
  for (const auto& [a, b] : lemmas) check_scope(a, scope), check_scope(b, scope);
}

/// Throws CheckError unless all that the step names is in scope. Points of a maximum are outside of it. What takes the
/// place of an index, or counts its values, does not contain it.
void Kernel::check_names(const Sum& sum, const Context& context, const Step& step) const {
  const Product& product = at(sum, step.position(0), "product");
  std::set<Atom> outside = context.scope, inside = outside, removed;
  inside.insert(product.bound.begin(), product.bound.end());
  if (step.targets_maximum || step.op == Op::Flatten || step.op == Op::DivideMax) {
    outside = inside;
    const Factor& maximum = at(product.factors, step.position(1), "factor");
    inside.insert(maximum.bound.begin(), maximum.bound.end());
  }
  if (step.op == Op::Set || step.op == Op::CountRange) removed = {step.atom.value()};
  if (step.op == Op::Project) {
    for (const auto& [atom, image] : step.images) removed.insert(atom);
  }
  for (const Atom atom : removed) check_scope(Poly(atom), inside);
  std::set<Atom> changed = step.op == Op::NewIndex ? inside : outside;
  if (step.op == Op::NewIndex) bind(step.atom.value(), changed);
  for (const auto& [atom, image] : step.inverse) bind(atom, changed);
  const auto check = [&](const Poly& poly, const std::set<Atom>& scope) {
    check_scope(poly, scope);
    for (const Atom atom : removed) expect(!atoms_.occurs(poly, atom), "the value of an index contains the index");
  };
  for (const Poly& poly : step.polys) check(poly, step.op == Op::DivideMax ? outside : inside);
  if (step.guard) check(step.guard->poly, inside);
  for (const auto& [atom, image] : step.images) check(image, step.op == Op::Map ? changed : inside);
  for (const auto& [atom, image] : step.inverse) check(image, inside);
  if (!step.lemmas.empty()) check_scope(step.lemmas, product, inside);
}

void Kernel::apply(Sum& sum, const Context& context, const Step& step) {
  check_names(sum, context, step);
  if (step.op == Op::Cancel || step.op == Op::CollectTerms) return cancel(sum, context, step);
  if (step.op == Op::Same || step.op == Op::Root) return take(sum, context, step);
  if (step.op == Op::Order) return order(sum, context, step);
  const std::size_t p = step.position(0);
  Product& product = at(sum, p, "product");
  switch (step.op) {
    case Op::Drop:
      require(step, "a product vanishes", within(context, product).given, {});
      return erase_at(sum, p);
    case Op::Split:
      for (const Guard& outside : complement(step.guard.value())) {
        Product other = sum[p];
        other.guards.push_back(outside);
        sum.push_back(std::move(other));
      }
      sum[p].guards.push_back(*step.guard);
      break;
    case Op::Set:
    case Op::Map:
    case Op::AddGuard:
    case Op::DropGuard:
    case Op::NewIndex:
    case Op::Project: {
      Factor* maximum = step.targets_maximum ? &at(product.factors, step.position(1), "factor") : nullptr;
      expect(!maximum || maximum->kind == Factor::Kind::Max, "the factor is not a maximum");
      maximum ? change_range(*maximum, within(context, product), step) : change_range(product, context, step);
      break;
    }
    case Op::CountRange:
      count_range(product, context, step);
      break;
    default:
      at(product.factors, step.position(1), "factor");
      if (const auto parts = change_factor(product, step.position(1), context, step)) {
        for (const Product& part : *parts) check_scope(part, context.scope);
        erase_at(sum, p);
        sum.insert(sum.end(), parts->begin(), parts->end());
        return;
      }
  }
  check_scope(sum[p], context.scope);
}

template <class Range>
void Kernel::change_range(Range& range, const Context& outside, const Step& step) {
  const Context inside = within(outside, range);
  switch (step.op) {
    case Op::Set: {
      const Atom index = step.atom.value();
      const Poly& value = step.polys.at(0);
      require(step, "an index has one value", inside.given, Guard{true, Poly(index) - value});
      for_each_poly(range, [&](Poly& poly) { poly = atoms_.substitute(poly, {{index, value}}); });
      if (std::erase(range.bound, index) == 0) range.guards.push_back({true, Poly(index) - value});
      return remove_redundant(range.guards);
    }
    case Op::AddGuard:
      require(step, "a guard holds", inside.given, step.guard.value());
      range.guards.push_back(*step.guard);
      return remove_redundant(range.guards);
    case Op::DropGuard: {
      const Guard guard = at(range.guards, step.positions.back(), "guard");
      erase_at(range.guards, step.positions.back());
      return require(step, "a guard is redundant", conjunction(outside.given, range.guards), guard);
    }
    case Op::NewIndex:
      range.bound.push_back(*step.atom);
      return range.guards.push_back({true, Poly(*step.atom) - step.polys.at(0)});
    case Op::Project: {
      expect(step.targets_maximum, "an index of a sum cannot be projected out");
      Images point;
      for (const auto& [index, value] : step.images) {
        expect(std::erase(range.bound, index) == 1, "an index that is projected out is not bound there");
        point[index] = value;
      }
      Guards kept, dropped;
      for (const Guard& guard : range.guards) {
        const bool drops =
            std::ranges::any_of(point, [&](const auto& at) { return atoms_.occurs(guard.poly, at.first); });
        (drops ? dropped : kept).push_back(guard);
      }
      range.guards = std::move(kept);
      for (const Guard& guard : dropped)
        require(step, "a range is not empty", within(outside, range).given, atoms_.substitute(guard, point));
      return;
    }
    default:
      return map(range, step);
  }
}

/// φ and ψ are inverse to each other as polynomials, so the map is one-to-one between all integer points.
template <class Range>
void Kernel::map(Range& range, const Step& step) const {
  const Images images(step.images.begin(), step.images.end()), inverse(step.inverse.begin(), step.inverse.end());
  expect(std::ranges::is_permutation(step.images, range.bound, {}, &std::pair<Atom, Poly>::first),
         "the map is not defined on exactly the bound indices");
  const auto check_inverse = [&](const Images& one, const Images& other) {
    for (const auto& [atom, image] : one)
      expect(atoms_.substitute(image, other) == Poly(atom), "the map and its inverse are not inverse to each other");
  };
  check_inverse(images, inverse);
  check_inverse(inverse, images);
  for_each_poly(range, [&](Poly& poly) { poly = atoms_.substitute(poly, images); });
  range.bound.clear();
  for (const auto& [atom, image] : step.inverse) range.bound.push_back(atom);
}

void Kernel::count_range(Product& product, const Context& context, const Step& step) {
  const Atom index = step.atom.value();
  const Poly &low = step.polys.at(0), &high = step.polys.at(1);
  const Guard least{false, Poly(index) - low}, most{false, high - Poly(index)};
  expect(std::erase(product.bound, index) == 1, "the index is not bound there");
  expect(std::erase(product.guards, least) > 0 && std::erase(product.guards, most) > 0,
         "the index has a different range");
  require(step, "a range has a nonnegative size", within(context, product).given, Guard{false, high - low + 1});
  check_finite({product});
  product.factors.push_back({Factor::Kind::Integer, 0, {high - low + 1}, {}, {}, {}});
}

/// Same: F(…, s, …) = F(…, t, …) if s − t is 0. Root: √s = |t| if s − t² is 0. t may be an argument in another product.
void Kernel::take(Sum& sum, const Context& context, const Step& step) {
  const bool is_root = step.op == Op::Root;
  const auto factor_at = [&](std::size_t first) -> Factor& {
    return at(at(sum, step.position(first), "product").factors, step.position(first + 1), "factor");
  };
  Factor& factor = factor_at(0);
  const Factor other = factor_at(is_root ? 2 : 3);
  expect(!is_root || applies(factor, Function::Op::Sqrt), "the factor is not a square root by its formula");
  expect(!is_root || applies(other, Function::Op::Abs), "the other factor is not an absolute value by its formula");
  Sum& changed = at(factor.arguments, is_root ? 0 : step.position(2), "argument");
  const Sum& taken = at(other.arguments, is_root ? 0 : step.position(5), "argument");
  check_finite(taken);
  check_vanishes(
      subtract(changed, is_root ? multiply(taken, taken) : taken),
      argument_context(context, sum[step.position(0)], factor), step.block,
      is_root ? "the argument of the root is not shown to be the square" : "two arguments are not shown to be equal");
  changed = taken;
  if (is_root) factor.symbol = other.symbol;
}

/// CollectTerms is Cancel for the products and −(c + d) · R, the negated result.
void Kernel::cancel(Sum& sum, const Context& context, const Step& step) {
  std::set<std::size_t> members = positions(sum, step);
  const std::size_t onto = step.position(0);
  const Product& first = sum[onto];
  Obligation obligation{"products cancel", context.given, {}, {}, step.lemmas};
  Rational total{0, 1};
  for (const std::size_t p : step.positions) {
    const Product& product = sum[p];
    if (!std::ranges::is_permutation(product.bound, first.bound) ||
        !std::ranges::is_permutation(product.factors, first.factors, {}, with_sorted_guards, with_sorted_guards)) {
      throw CheckError{"products " + std::to_string(onto) + " and " + std::to_string(p) + " have different factors"};
    }
    obligation.indicators.emplace_back(product.coefficient, product.guards);
    total = total + product.coefficient;
  }
  if (step.op == Op::CollectTerms) {
    expect(total.num != 0, "the coefficients add up to 0");
    obligation.indicators.emplace_back(-total, first.guards);
    sum[onto].coefficient = total;
    members.erase(onto);
  }
  require(std::move(obligation));
  erase(sum, members);
}

}  // namespace rulemill::check
