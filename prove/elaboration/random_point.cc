#include "prove/elaboration/random_point.h"

#include <algorithm>
#include <array>

#include "algebra/properties/exact_value.h"
#include "check/kernel/kernel.h"
#include "prove/elaboration/piecewise.h"
#include "prove/solver/models.h"

namespace rulemill::prove {

using algebra::Rational;
using Kind = check::Factor::Kind;

std::optional<Rational> RandomPoint::value(const check::Sum& sum) {
  Rational total{0, 1};
  for (check::Product product : sum) {
    Rational value{1, 1};
    std::swap(value, product.coefficient);
    if (!product.guards.empty() || !product.bound.empty()) {
      value = value * drawn({product}, nullptr);
    } else {
      for (const check::Factor& factor : product.factors) {
        const std::optional<Rational> part = this->value(factor);
        if (!part) return std::nullopt;
        value = value * *part;
      }
    }
    total = total + value;
  }
  return total;
}

std::optional<Rational> RandomPoint::value(const check::Factor& factor) {
  if (factor.kind == Kind::Integer) return Rational{value(factor.index.at(0)), 1};
  if (factor.kind != Kind::Apply) return drawn(check::to_sum(factor), &factor);
  // The step Order evaluates the same functions (check/kernel/order.cc).
  const algebra::Function& function = statement_.function(factor.symbol);
  if (!is_evaluated_by_cases(function) && !is_reciprocal(function)) return drawn(check::to_sum(factor), &factor);
  std::vector<Rational> arguments;
  for (const check::Sum& argument : factor.arguments) {
    const std::optional<Rational> part = value(argument);
    if (!part) return std::nullopt;
    arguments.push_back(*part);
  }
  return algebra::evaluate_exactly(function, arguments);
}

/// The same value for equal products, with a sign that the factor may have.
Rational RandomPoint::drawn(const check::Sum& product, const check::Factor* factor) {
  static constexpr std::array<Rational, 14> numbers = {{{0, 1},
                                                        {1, 1},
                                                        {-1, 1},
                                                        {1, 2},
                                                        {-1, 2},
                                                        {2, 1},
                                                        {-3, 1},
                                                        {5, 2},
                                                        {-7, 2},
                                                        {4, 1},
                                                        {259, 2},
                                                        {-261, 2},
                                                        {7, 1},
                                                        {-600, 1}}};
  const auto [known, is_new] = products_.try_emplace(check::canonical(product, statement_.atoms()));
  if (!is_new) return known->second;
  const algebra::Signs signs = factor ? check::signs_of(*factor, statement_) : algebra::Signs{};
  if (!signs.negative && !signs.positive) return known->second = {0, 1};
  constexpr int max_draws = 40;
  for (int i = 0; i < max_draws; ++i) {
    known->second = numbers[random_() % numbers.size()];
    const std::int64_t sign = known->second.num;
    if (sign < 0 ? signs.negative : sign == 0 ? signs.zero : signs.positive) break;
  }
  return known->second;
}

std::int64_t RandomPoint::value(const check::Poly& poly) {
  const check::Atoms& atoms = statement_.atoms();
  return evaluate(poly, atoms, [&](check::Atom atom) {
    constexpr std::uint64_t width = 5;
    const std::int64_t first = atoms.kind(atom) == check::Atoms::Kind::Size ? 1 : 0;
    return integers_.try_emplace(atom, first + static_cast<std::int64_t>(random_() % width)).first->second;
  });
}

bool RandomPoint::satisfies(const check::Guards& guards) const {
  const check::Atoms& atoms = statement_.atoms();
  return std::ranges::all_of(guards, [&](const check::Guard& guard) {
    std::set<check::Atom> all;
    atoms.collect(guard.poly, all);
    const auto is_known = [&](check::Atom atom) { return atoms.is_compound(atom) || integers_.contains(atom); };
    if (!std::ranges::all_of(all, is_known)) return true;
    const std::int64_t value = evaluate(guard.poly, atoms, [&](check::Atom atom) { return integers_.at(atom); });
    return guard.equality ? value == 0 : value >= 0;
  });
}

}  // namespace rulemill::prove
