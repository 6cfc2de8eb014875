// What a checker's normal form is worth at some sizes, point by point: bound indices run through a box of integers, and
// what reaches its border is left undecided.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <set>

#include "algebra/language/function_domain.h"
#include "check/kernel/proof.h"

namespace rulemill::check {

/// Cannot be told within the box, the work that is allowed, or the precision of a double.
struct Untold {};

class NormalFormValue {
 public:
  using Point = std::map<Atom, std::int64_t>;

  NormalFormValue(const Statement& statement, Point sizes, std::uint64_t seed)
      : statement_(statement), atoms_(statement.atoms()), sizes_(std::move(sizes)), seed_(seed) {}

  double value(const Sum& sum, Point& point) {
    double total = 0;
    for (const Product& product : sum) {
      over(product.bound, product.guards, point, [&] { total += value(product, point); });
    }
    return total;
  }

  bool holds(const Guards& guards, const Point& point) {
    return std::ranges::all_of(guards, [&](const Guard& guard) { return holds(guard, point); });
  }

  /// Whether it is true at these sizes, for all integers in the box.
  bool holds(const Obligation& obligation) {
    std::set<Atom> all;
    const auto meet = [&](const Guard& guard) { atoms_.collect(guard.poly, all); };
    std::ranges::for_each(obligation.given, meet);
    if (obligation.goal) meet(*obligation.goal);
    for (const auto& [coefficient, guards] : obligation.indicators) std::ranges::for_each(guards, meet);
    std::vector<Atom> free;
    for (const Atom atom : all) {
      if (is_index(atom)) free.push_back(atom);
    }
    bool met = true;
    Point point;
    walk(free, 0, obligation.given, point, [&](bool) {
      double sum = 0;
      for (const auto& [coefficient, guards] : obligation.indicators) {
        if (holds(guards, point)) sum += static_cast<double>(coefficient.num) / static_cast<double>(coefficient.den);
      }
      const bool here = obligation.goal                 ? holds(*obligation.goal, point)
                        : obligation.indicators.empty() ? false
                                                        : std::abs(sum) < 1e-9;
      met = met && here;
    });
    return met;
  }

  /// All points of the indices at which the guards hold.
  template <class Visit>
  void over(const std::vector<Atom>& bound, const Guards& guards, Point& point, const Visit& visit) {
    if (!holds_so_far(guards, point)) return;
    walk(bound, 0, guards, point, [&](bool on_border) {
      if (on_border) throw Untold{};
      visit();
    });
  }

 private:
  static constexpr std::int64_t lowest = -6, highest = 10;
  static constexpr std::uint64_t most_work = 200000;

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
    if (std::abs(sum) > 1000000) throw Untold{};
    return sum;
  }

  std::int64_t value(Atom atom, const Point& point) {
    if (!atoms_.is_compound(atom)) {
      const Point& from = is_index(atom) ? point : sizes_;
      const auto found = from.find(atom);
      if (found == from.end()) throw Untold{};
      return found->second;
    }
    const std::int64_t l = value(atoms_.left(atom), point), r = value(atoms_.right(atom), point);
    if (atoms_.kind(atom) == Atoms::Kind::Min) return std::min(l, r);
    if (atoms_.kind(atom) == Atoms::Kind::Max) return std::max(l, r);
    if (r < 1) throw Untold{};
    return (l - ((l % r) + r) % r) / r;
  }

  bool holds(const Guard& guard, const Point& point) {
    const std::int64_t number = value(guard.poly, point);
    return guard.equality ? number == 0 : number >= 0;
  }

  /// Those of the guards that speak of nothing but what has a value.
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
    if (++work_ > most_work) throw Untold{};
    if (!holds_so_far(guards, point)) return;
    if (next == free.size()) return visit(on_border);
    if (is_outside(free[next], guards, point)) throw Untold{};
    for (std::int64_t i = lowest; i <= highest; ++i) {
      point[free[next]] = i;
      walk(free, next + 1, guards, point, visit, on_border || i == lowest || i == highest);
    }
    point.erase(free[next]);
  }

  /// Whether an equation gives the index, the last that it speaks of, a value that is not in the box.
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

  double value(const Product& product, Point& point) {
    double result = static_cast<double>(product.coefficient.num) / static_cast<double>(product.coefficient.den);
    for (const Factor& factor : product.factors) result *= value(factor, point);
    if (!(std::abs(result) < 1e9)) throw Untold{};
    return result;
  }

  double value(const Factor& factor, Point& point) {
    switch (factor.kind) {
      case Factor::Kind::Read: {
        std::uint64_t hash = seed_ + 31 * factor.symbol;
        for (const Poly& index : factor.index) hash = mixed(hash ^ static_cast<std::uint64_t>(value(index, point)));
        return static_cast<double>(mixed(hash) >> 40U) / static_cast<double>(1U << 22U) - 2;
      }
      case Factor::Kind::Inverse: {
        const std::int64_t size = value(factor.index.at(0), point);
        if (size < 1) throw Untold{};
        return 1.0 / static_cast<double>(size);
      }
      case Factor::Kind::Whole:
        return static_cast<double>(value(factor.index.at(0), point));
      case Factor::Kind::Apply: {
        std::vector<double> arguments;
        for (const Sum& argument : factor.arguments) arguments.push_back(value(argument, point));
        bool doubtful = false;
        const double result = algebra::evaluate_strictly(statement_.function(factor.symbol), arguments, doubtful);
        if (doubtful) throw Untold{};
        return std::isnan(result) ? 0 : result;
      }
      case Factor::Kind::Max: {
        std::optional<double> largest;
        over(factor.bound, factor.guards, point, [&] {
          const double here = value(factor.arguments.at(0), point);
          largest = largest ? std::max(*largest, here) : here;
        });
        return largest.value_or(0);
      }
    }
    return 0;
  }

  static std::uint64_t mixed(std::uint64_t a) {
    a = (a + 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
    return (a ^ (a >> 29U)) * 0x94d049bb133111ebULL;
  }

  const Statement& statement_;
  const Atoms& atoms_;
  Point sizes_;
  std::uint64_t seed_;
  std::uint64_t work_ = 0;
  std::map<Poly, std::vector<Atom>> indices_;  // of a polynomial
};

}  // namespace rulemill::check
