// Evaluates normal forms of the checker at given sizes, point by point. Bound indices run through a box of integers;
// values that depend on its border are undecided.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <set>

#include "algebra/operators/function_domain.h"
#include "check/kernel/proof.h"

namespace rulemill::check {

using algebra::Enclosure;

/// Thrown where the box or the work limit do not suffice, or rounding would decide whether a function is defined.
struct Undecided {};

class NormalFormValue {
 public:
  using Point = std::map<Atom, std::int64_t>;

  NormalFormValue(const Statement& statement, Point sizes, std::uint64_t seed)
      : statement_(statement), atoms_(statement.atoms()), sizes_(std::move(sizes)), seed_(seed) {}

  Enclosure value(const Sum& sum, Point& point) {
    Enclosure total;
    for (const Product& product : sum) {
      for_each_point(product.bound, product.guards, point, [&] { total += value(product, point); });
    }
    return total;
  }

  bool holds(const Guards& guards, const Point& point) {
    return std::ranges::all_of(guards, [&](const Guard& guard) { return holds(guard, point); });
  }

  /// True if the obligation holds at these sizes, for all integers in the box.
  bool holds(const Obligation& obligation) {
    std::set<Atom> all;
    const auto collect = [&](const Guard& guard) { atoms_.collect(guard.poly, all); };
    std::ranges::for_each(obligation.given, collect);
    if (obligation.goal) collect(*obligation.goal);
    for (const auto& [coefficient, guards] : obligation.indicators) std::ranges::for_each(guards, collect);
    std::vector<Atom> free;
    for (const Atom atom : all) {
      if (is_index(atom)) free.push_back(atom);
    }
    bool all_hold = true;
    Point point;
    walk(free, 0, obligation.given, point, [&](bool) {
      double sum = 0;
      for (const auto& [coefficient, guards] : obligation.indicators) {
        if (holds(guards, point)) sum += static_cast<double>(coefficient.num) / static_cast<double>(coefficient.den);
      }
      const bool here = obligation.goal                 ? holds(*obligation.goal, point)
                        : obligation.indicators.empty() ? false
                                                        : std::abs(sum) < 1e-9;
      all_hold = all_hold && here;
    });
    return all_hold;
  }

  /// Visits all values of the indices at which the guards hold.
  template <class Visit>
  void for_each_point(const std::vector<Atom>& bound, const Guards& guards, Point& point, const Visit& visit) {
    if (!holds_so_far(guards, point)) return;
    walk(bound, 0, guards, point, [&](bool on_border) {
      if (on_border) throw Undecided{};
      visit();
    });
  }

 private:
  static constexpr std::int64_t lowest = -6, highest = 10;
  static constexpr std::uint64_t max_work = 200000;

  bool is_index(Atom atom) const {
    return atoms_.kind(atom) == Atoms::Kind::Bound || atoms_.kind(atom) == Atoms::Kind::Output;
  }

  std::int64_t value(const Poly& poly, const Point& point) {
    std::int64_t sum = 0;
    for (const Poly::Term& term : poly.terms()) {
      std::int64_t product = term.coefficient;
      for (const Atom atom : term.monomial) product *= value(atom, point);
      sum += product;
    }
    if (std::abs(sum) > 1000000) throw Undecided{};
    return sum;
  }

  std::int64_t value(Atom atom, const Point& point) {
    if (!atoms_.is_compound(atom)) {
      const Point& from = is_index(atom) ? point : sizes_;
      const auto found = from.find(atom);
      if (found == from.end()) throw Undecided{};
      return found->second;
    }
    const std::int64_t l = value(atoms_.left(atom), point), r = value(atoms_.right(atom), point);
    if (atoms_.kind(atom) == Atoms::Kind::Min) return std::min(l, r);
    if (atoms_.kind(atom) == Atoms::Kind::Max) return std::max(l, r);
    if (r < 1) throw Undecided{};
    return (l - ((l % r) + r) % r) / r;
  }

  bool holds(const Guard& guard, const Point& point) {
    const std::int64_t number = value(guard.poly, point);
    return guard.equality ? number == 0 : number >= 0;
  }

  /// True if all guards hold whose indices have values.
  bool holds_so_far(const Guards& guards, const Point& point) {
    for (const Guard& guard : guards) {
      auto [known, is_new] = indices_.try_emplace(guard.poly);
      if (is_new) {
        std::set<Atom> all;
        atoms_.collect(guard.poly, all);
        for (const Atom atom : all) {
          if (is_index(atom)) known->second.push_back(atom);
        }
      }
      if (!std::ranges::all_of(known->second, [&](Atom atom) { return point.contains(atom); })) continue;
      if (!holds(guard, point)) return false;
    }
    return true;
  }

  template <class Visit>
  void walk(const std::vector<Atom>& free, std::size_t next, const Guards& guards, Point& point, const Visit& visit,
            bool on_border = false) {
    if (++work_ > max_work) throw Undecided{};
    if (!holds_so_far(guards, point)) return;
    if (next == free.size()) return visit(on_border);
    if (is_outside(free[next], guards, point)) throw Undecided{};
    for (std::int64_t i = lowest; i <= highest; ++i) {
      point[free[next]] = i;
      walk(free, next + 1, guards, point, visit, on_border || i == lowest || i == highest);
    }
    point.erase(free[next]);
  }

  /// True if an equation whose other indices have values gives the index a value outside of the box.
  bool is_outside(Atom index, const Guards& guards, Point& point) {
    for (const Guard& guard : guards) {
      const std::vector<Atom>& all = indices_[guard.poly];
      const auto known = [&](Atom atom) { return atom == index || point.contains(atom); };
      if (!guard.equality || std::ranges::find(all, index) == all.end() || !std::ranges::all_of(all, known)) continue;
      bool inside = false;
      for (point[index] = lowest; point[index] <= highest; ++point[index]) inside = inside || holds(guard, point);
      point.erase(index);
      if (!inside) return true;
    }
    return false;
  }

  Enclosure value(const Product& product, Point& point) {
    Enclosure result(product.coefficient);
    for (const Factor& factor : product.factors) result *= value(factor, point);
    return result;
  }

  Enclosure value(const Factor& factor, Point& point) {
    switch (factor.kind) {
      case Factor::Kind::Read: {
        std::uint64_t hash = seed_ + 31 * factor.symbol;
        for (const Poly& index : factor.index) hash = mix_bits(hash ^ static_cast<std::uint64_t>(value(index, point)));
        return static_cast<double>(mix_bits(hash) >> 40U) / static_cast<double>(1U << 22U) - 2;
      }
      case Factor::Kind::Inverse: {
        const std::int64_t size = value(factor.index.at(0), point);
        if (size < 1) throw Undecided{};
        return Enclosure(algebra::Rational{1, size});
      }
      case Factor::Kind::Integer:
        return static_cast<double>(value(factor.index.at(0), point));
      case Factor::Kind::Apply: {
        std::vector<Enclosure> arguments;
        for (const Sum& argument : factor.arguments) arguments.push_back(value(argument, point));
        bool doubtful = false;
        const Enclosure result = algebra::evaluate_strictly(statement_.function(factor.symbol), arguments, doubtful);
        if (doubtful) throw Undecided{};
        return result.is_undefined() ? 0 : result;
      }
      case Factor::Kind::Max: {
        std::optional<Enclosure> largest;
        for_each_point(factor.bound, factor.guards, point, [&] {
          const Enclosure here = value(factor.arguments.at(0), point);
          largest = largest ? algebra::larger(*largest, here) : here;
        });
        return largest.value_or(Enclosure());
      }
    }
    return 0;
  }

  static std::uint64_t mix_bits(std::uint64_t a) {
    a = (a + 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
    return (a ^ (a >> 29U)) * 0x94d049bb133111ebULL;
  }

  const Statement& statement_;
  const Atoms& atoms_;
  Point sizes_;
  std::uint64_t seed_;
  std::uint64_t work_ = 0;
  std::map<Poly, std::vector<Atom>> indices_;  // by polynomial
};

}  // namespace rulemill::check
