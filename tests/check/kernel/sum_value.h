// Exact values of sums at one valuation: integers for sizes and indices, hashed numbers for the elements of variables.
// An index runs through the interval that its guards state, at sizes of any magnitude.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "algebra/operators/enclosure.h"
#include "algebra/sizes/checked.h"
#include "check/kernel/kernel.h"
#include "check/number.h"

namespace rulemill::check {

/// Thrown where a sum has infinitely many terms.
struct Unbounded : Undecided {};

class SumValue {
 public:
  /// `values` has the sizes, the indices of the output and the bound indices in scope. `points` limits the work.
  SumValue(const Statement& statement, const std::map<Atom, std::int64_t>& values, std::uint64_t seed,
           std::int64_t points = 20000)
      : statement_(statement), atoms_(statement.atoms()), seed_(seed), points_left_(points) {
    for (const auto& [atom, value] : values) slot(atom) = value;
  }

  /// Throws Undecided where a range is not bounded, the work is too much or the precision too small. Undefined values
  /// are 0, also inside of "is defined".
  Number value(const Sum& sum) {
    Number total = from_integer(0);
    for (const Product& product : sum) {
      for_each_point(product.bound, product.guards, false, [&] {
        Number term = quotient(product.coefficient);
        for (const Factor& factor : product.factors) term = multiply(term, value(factor));
        total = add(total, term);
        return true;
      });
    }
    return total;
  }

  bool holds(const Guards& guards) {
    return std::ranges::all_of(guards, [&](const Guard& guard) {
      const std::int64_t number = value(guard.poly);
      return guard.equality ? number == 0 : number >= 0;
    });
  }

  /// Whether the obligation holds for all values of the indices that have none. One without bounds gets some values.
  bool holds(const Obligation& obligation) {
    std::set<Atom> all;
    const auto collect = [&](const Guard& guard) { atoms_.collect(guard.poly, all); };
    std::ranges::for_each(obligation.given, collect);
    if (obligation.goal) collect(*obligation.goal);
    std::erase_if(all, [&](Atom atom) { return atoms_.is_compound(atom) || slot(atom); });
    return for_each_point({all.begin(), all.end()}, obligation.given, true,
                          [&] { return obligation.goal && holds(Guards{*obligation.goal}); });
  }

 private:
  static constexpr std::int64_t largest = std::int64_t{1} << 40;

  std::optional<std::int64_t>& slot(Atom atom) {
    const auto number = static_cast<std::size_t>(atom);
    if (number >= values_.size()) values_.resize(number + 1);
    return values_[number];
  }

  static Number quotient(algebra::Rational number) {
    return multiply(from_integer(number.num), reciprocal(from_integer(number.den)));
  }

  std::int64_t value(const Poly& poly) {
    std::int64_t sum = 0;
    for (const Poly::Term& term : poly.terms()) {
      std::int64_t product = term.coefficient;
      for (const Atom atom : term.monomial) {
        product *= value(atom);
        if (std::abs(product) > largest) throw Undecided{};
      }
      sum += product;
    }
    return sum;
  }
  std::int64_t value(Atom atom) {
    if (!atoms_.is_compound(atom)) {
      if (!slot(atom)) throw Undecided{};
      return *slot(atom);
    }
    const std::int64_t l = value(atoms_.left(atom)), r = value(atoms_.right(atom));
    if (atoms_.kind(atom) == Atoms::Kind::Min) return std::min(l, r);
    if (atoms_.kind(atom) == Atoms::Kind::Max) return std::max(l, r);
    if (r < 1) throw Undecided{};
    return algebra::floor_quotient(l, r);
  }

  Number value(const Factor& factor) {
    switch (factor.kind) {
      case Factor::Kind::Read: {
        std::uint64_t hash = seed_ + 31 * factor.symbol;
        for (const Poly& index : factor.index) hash = mix_bits(hash ^ static_cast<std::uint64_t>(value(index)));
        return random_number(mix_bits(hash));
      }
      case Factor::Kind::Inverse:
        return reciprocal(from_integer(std::max<std::int64_t>(1, value(factor.index.at(0)))));
      case Factor::Kind::Integer:
        return from_integer(value(factor.index.at(0)));
      case Factor::Kind::Apply:
      case Factor::Kind::Defined: {
        std::vector<Number> arguments;
        for (const Sum& argument : factor.arguments) arguments.push_back(value(argument));
        const algebra::Function& function = statement_.function(factor.symbol);
        if (factor.kind == Factor::Kind::Defined) return from_integer(is_defined(function, arguments) ? 1 : 0);
        return apply(function, factor.symbol, std::move(arguments));
      }
      case Factor::Kind::Max:
        break;
    }
    std::optional<Number> greatest;
    for_each_point(factor.bound, factor.guards, false, [&] {
      const Number here = value(factor.arguments.at(0));
      greatest = greatest && is_less(here, *greatest) ? *greatest : here;
      return true;
    });
    return greatest.value_or(from_integer(0));
  }

  static bool is_defined(const algebra::Function& function, const std::vector<Number>& arguments) {
    if (algebra::is_total(function)) return true;
    constexpr long double least = 1e-9L;  // a number closer to a bound of the domain may be on either side
    std::vector<algebra::Enclosure> reals;
    for (const Number& each : arguments) {
      const bool is_zero = each == from_integer(0);
      if (!is_zero && std::abs(each.real) < least) throw Undecided{};
      reals.emplace_back(is_zero ? 0.0 : static_cast<double>(each.real));
    }
    bool doubtful = false;
    const algebra::Enclosure value = algebra::evaluate_strictly(function, reals, doubtful);
    if (doubtful) throw Undecided{};
    return !value.is_undefined();
  }

  /// The greatest lower and the least upper bound of an index by the guards of which all else has a value.
  struct Interval {
    std::optional<std::int64_t> low, high;
    std::int64_t size() const { return low && high ? *high - *low + 1 : largest; }
  };
  Interval interval(Atom index, const Guards& guards) {
    Interval result;
    for (const Guard& guard : guards) {
      if (!atoms_.occurs(guard.poly, index)) continue;
      const std::vector<Poly> parts = guard.poly.coefficients_in(index);
      if (parts.size() != 2 || !has_value(parts[0]) || !has_value(parts[1])) continue;
      const std::int64_t a = value(parts[1]), b = value(parts[0]);
      if (a == 0) continue;
      // a · index + b ≥ 0, and for an equation ≤ 0, too.
      const std::int64_t up = algebra::floor_quotient(a > 0 ? b : -b, std::abs(a));
      const std::int64_t down = algebra::floor_quotient(a > 0 ? -b : b, std::abs(a));
      if (a > 0 || guard.equality) result.low = std::max(result.low.value_or(-up), -up);
      if (a < 0 || guard.equality) result.high = std::min(result.high.value_or(down), down);
    }
    return result;
  }
  bool has_value(const Poly& poly) {
    std::set<Atom> all;
    atoms_.collect(poly, all);
    return std::ranges::all_of(all, [&](Atom atom) { return atoms_.is_compound(atom) || slot(atom); });
  }

  /// Calls visit at all points at which the guards hold, until it returns false.
  template <class Visit>
  bool for_each_point(std::vector<Atom> free, const Guards& guards, bool samples, const Visit& visit) {
    for (const Guard& guard : guards) {
      if (has_value(guard.poly) && !holds(Guards{guard})) return true;
    }
    if (free.empty()) return visit();
    std::size_t best = 0;
    Interval range = interval(free[0], guards);
    for (std::size_t i = 1; i < free.size(); ++i) {
      const Interval other = interval(free[i], guards);
      if (other.size() < range.size()) best = i, range = other;
    }
    const Atom index = free[best];
    free.erase(free.begin() + static_cast<std::ptrdiff_t>(best));
    if (range.size() > points_left_) {
      if (!samples && range.size() == largest) throw Unbounded{};
      if (!samples || range.size() < largest) throw Undecided{};
      const std::int64_t middle = range.low ? *range.low + 6 : range.high ? *range.high - 6 : 0;
      range = {middle - 7, middle + 7};
    }
    bool goes_on = true;
    for (std::int64_t i = *range.low; goes_on && i <= *range.high; ++i) {
      if (--points_left_ < 0) throw Undecided{};
      slot(index) = i;
      goes_on = for_each_point(free, guards, samples, visit);
    }
    slot(index).reset();
    return goes_on;
  }

  static std::uint64_t mix_bits(std::uint64_t a) {
    a = (a + 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
    return (a ^ (a >> 29U)) * 0x94d049bb133111ebULL;
  }

  const Statement& statement_;
  const Atoms& atoms_;
  std::uint64_t seed_;
  std::vector<std::optional<std::int64_t>> values_;  // by atom
  std::int64_t points_left_;
};

}  // namespace rulemill::check
