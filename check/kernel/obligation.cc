// Decides trivial obligations without a solver.
#include <algorithm>
#include <map>
#include <span>

#include "algebra/sizes/checked.h"
#include "check/kernel/kernel.h"

namespace rulemill::check {

namespace {

/// a + sign · b, if that is a constant.
std::optional<std::int64_t> constant_sum(const Poly& a, std::int64_t sign, const Poly& b) {
  const auto variable = [](const Poly& poly) {
    return std::span(poly.terms()).subspan(poly.constant_term() == 0 ? 0 : 1);
  };
  const auto cancels = [&](const Poly::Term& s, const Poly::Term& t) {
    return s.monomial == t.monomial && s.coefficient == algebra::checked_multiply(-sign, t.coefficient);
  };
  if (!std::ranges::equal(variable(a), variable(b), cancels)) return std::nullopt;
  return algebra::checked_add(a.constant_term(), algebra::checked_multiply(sign, b.constant_term()));
}

bool contradict(const Guard& a, const Guard& b) {
  const auto sum = constant_sum(a.poly, 1, b.poly), difference = constant_sum(a.poly, -1, b.poly);
  if (a.equality && b.equality) return (sum && *sum != 0) || (difference && *difference != 0);
  if (a.equality) return (difference && *difference > 0) || (sum && *sum < 0);
  if (b.equality) return contradict(b, a);
  return sum && *sum < 0;  // a + b ≥ 0 is false
}

}  // namespace

bool is_trivial(const Obligation& o) {
  if (!o.indicators.empty()) {
    std::map<Guards, Rational> sums;
    for (auto [coefficient, guards] : o.indicators) {
      std::ranges::sort(guards);
      Rational& sum = sums.try_emplace(guards, Rational{0, 1}).first->second;
      sum = sum + coefficient;
    }
    return std::ranges::all_of(sums, [](const auto& entry) { return entry.second.num == 0; });
  }
  if (!o.goal) {
    for (const Guard& a : o.given) {
      const auto constant = a.poly.constant();
      if (constant && (a.equality ? *constant != 0 : *constant < 0)) return true;
      if (std::ranges::any_of(o.given, [&](const Guard& b) { return contradict(a, b); })) return true;
    }
    return false;
  }
  if (always_holds(*o.goal)) return true;
  return std::ranges::any_of(o.given, [&](const Guard& given) {
    if (given == *o.goal || (o.goal->equality && given == Guard{true, -o.goal->poly})) return true;
    const auto slack = constant_sum(o.goal->poly, -1, given.poly);
    return !o.goal->equality && slack && *slack >= 0;
  });
}

}  // namespace rulemill::check
