#include "prove/elaboration/law_matcher.h"

#include <algorithm>
#include <numeric>

#include "algebra/properties/exact_value.h"
#include "algebra/sizes/checked.h"
#include "check/kernel/kernel.h"

namespace rulemill::prove {

using algebra::LawEquation;
using algebra::ScalarExpr;

namespace {

/// True for equal factors, whatever their order inside and the names of bound indices.
bool are_equal(const check::Factor& a, const check::Factor& b, const check::Statement& statement) {
  return a == b || (a.kind == b.kind && a.symbol == b.symbol && !a.arguments.empty() &&
                    check::canonical(check::to_sum(a), statement.atoms()) ==
                        check::canonical(check::to_sum(b), statement.atoms()));
}

/// The sum without the factors of a product that all its products have, and divided by its number.
std::optional<check::Sum> divide(const check::Sum& sum, const check::Sum& divisor, const check::Statement& statement) {
  if (divisor.size() != 1 || !divisor[0].guards.empty() || !divisor[0].bound.empty()) return std::nullopt;
  check::Sum rest = sum;
  for (check::Product& product : rest) {
    product.coefficient = product.coefficient * algebra::reciprocal(divisor[0].coefficient);
    for (const check::Factor& factor : divisor[0].factors) {
      const auto found = std::ranges::find_if(
          product.factors, [&](const check::Factor& own) { return are_equal(own, factor, statement); });
      if (found == product.factors.end() || check::depends_on(factor, product.bound, statement.atoms()))
        return std::nullopt;
      product.factors.erase(found);
    }
  }
  return rest;
}

class LawMatcher {
 public:
  explicit LawMatcher(const check::Statement& statement) : statement_(statement) {}

  std::vector<LawValues> match(const ScalarExpr& pattern, const check::Sum& sum, const LawValues& known) {
    switch (pattern.kind) {
      case ScalarExpr::Kind::Constant:
        return same(sum, pattern.value.num == 0 ? check::Sum{} : check::Sum{check::number(pattern.value)}) ? one(known)
                                                                                                           : none;
      case ScalarExpr::Kind::Read: {
        const auto& value = known.at(pattern.tensor);
        if (value) return same(*value, sum) ? one(known) : none;
        LawValues bound = known;
        bound[pattern.tensor] = sum;
        return one(std::move(bound));
      }
      case ScalarExpr::Kind::Apply:
        return match_application(pattern, sum, known);
      case ScalarExpr::Kind::Add:
        return match_sum(pattern, sum, known);
      case ScalarExpr::Kind::Mul:
        return match_product(pattern, sum, known);
      default:
        return none;
    }
  }

 private:
  static constexpr std::size_t max_matches = 8;
  static inline const std::vector<LawValues> none;

  static std::vector<LawValues> one(LawValues values) { return {std::move(values)}; }
  bool same(const check::Sum& a, const check::Sum& b) const {
    return a == b || check::canonical(a, statement_.atoms()) == check::canonical(b, statement_.atoms());
  }
  static void append(std::vector<LawValues>& to, std::vector<LawValues> more) {
    for (LawValues& values : more) {
      if (to.size() < max_matches) to.push_back(std::move(values));
    }
  }

  std::vector<LawValues> match_application(const ScalarExpr& pattern, const check::Sum& sum, const LawValues& known) {
    if (const auto fixed = fixed_number(pattern, sum)) return match(*pattern.operands[0], *fixed, known);
    if (sum.size() != 1 || sum[0].factors.size() != 1 || sum != check::to_sum(sum[0].factors[0])) return none;
    const check::Factor& factor = sum[0].factors[0];
    if (factor.kind != check::Factor::Kind::Apply ||
        factor.symbol != statement_.function(pattern.function).representative)
      return none;
    std::vector<LawValues> results = {known};
    for (std::size_t a = 0; a < factor.arguments.size(); ++a) {
      std::vector<LawValues> next;
      for (const LawValues& values : results) append(next, match(*pattern.operands[a], factor.arguments[a], values));
      results = std::move(next);
    }
    return results;
  }

  /// The number that the sum is, if the function maps it to itself.
  std::optional<check::Sum> fixed_number(const ScalarExpr& pattern, const check::Sum& sum) const {
    if (pattern.operands.size() != 1 || sum.size() > 1) return std::nullopt;
    const check::Rational number = sum.empty() ? check::Rational{0, 1} : sum[0].coefficient;
    if (!sum.empty() && sum[0] != check::number(number)) return std::nullopt;
    const auto value = algebra::evaluate_exactly(statement_.function(pattern.function), std::vector{number});
    return value == number ? std::optional(sum) : std::nullopt;
  }

  /// The second operand is one product, or its known value.
  std::vector<LawValues> match_sum(const ScalarExpr& pattern, const check::Sum& sum, const LawValues& known) {
    const ScalarExpr &first = *pattern.operands.at(0), &second = *pattern.operands.at(1);
    const std::size_t width =
        second.kind == ScalarExpr::Kind::Read && known[second.tensor] ? known[second.tensor]->size() : 1;
    std::vector<LawValues> results;
    for (std::size_t q = 0; width == 1 && q < sum.size(); ++q) {
      check::Sum rest = sum;
      check::erase_at(rest, q);
      for (const LawValues& values : match(second, {sum[q]}, known)) append(results, match(first, rest, values));
    }
    return results;
  }

  std::vector<LawValues> match_product(const ScalarExpr& pattern, const check::Sum& sum, const LawValues& known) {
    const ScalarExpr &first = *pattern.operands.at(0), &second = *pattern.operands.at(1);
    if (sum.empty()) return none;
    if (first.kind == ScalarExpr::Kind::Constant) {
      const check::Sum scaled = check::multiply({check::number(algebra::reciprocal(first.value))}, sum);
      return match(second, scaled, known);
    }
    if (first.kind == ScalarExpr::Kind::Apply) return match_common_factor(first, second, sum, known);
    if (first.kind != ScalarExpr::Kind::Read) return none;
    if (const auto& value = known[first.tensor]) {
      const auto rest = divide(sum, *value, statement_);
      return rest ? match(second, *rest, known) : none;
    }
    std::optional<std::pair<check::Sum, check::Sum>> divided;
    if (first.tensor == LawEquation::positive)
      divided = divide_by_positive(sum, {}, statement_);
    else if (const check::Sum part = first_factor(sum); !part.empty())
      divided = {part, *divide(sum, part, statement_)};
    if (!divided) return none;
    LawValues values = known;
    values[first.tensor] = divided->first;
    return match(second, divided->second, values);
  }

  /// An application that all products have as a factor.
  std::vector<LawValues> match_common_factor(const ScalarExpr& first, const ScalarExpr& second, const check::Sum& sum,
                                             const LawValues& known) {
    std::vector<LawValues> results;
    for (const check::Factor& factor : sum[0].factors) {
      if (factor.kind != check::Factor::Kind::Apply) continue;
      const check::Sum part = check::to_sum(factor);
      const auto rest = divide(sum, part, statement_);
      if (!rest) continue;
      for (const LawValues& values : match(first, part, known)) append(results, match(second, *rest, values));
    }
    return results;
  }

  /// The number of the one product, or its first factor; nothing if the rest would be 1.
  static check::Sum first_factor(const check::Sum& sum) {
    if (sum.size() != 1 || !sum[0].guards.empty() || !sum[0].bound.empty()) return {};
    const check::Product& product = sum[0];
    if (product.coefficient != check::Rational{1, 1})
      return product.factors.empty() ? check::Sum{} : check::Sum{check::number(product.coefficient)};
    return product.factors.size() > 1 ? check::to_sum(product.factors[0]) : check::Sum{};
  }

  const check::Statement& statement_;
};

}  // namespace

std::vector<LawValues> match_law(const LawEquation& law, const ScalarExpr& side, const check::Sum& sum,
                                 const check::Statement& statement) {
  return LawMatcher(statement).match(side, sum, LawValues(law.variables));
}

std::optional<std::pair<check::Sum, check::Sum>> divide_by_positive(const check::Sum& sum,
                                                                    const std::vector<check::Atom>& without,
                                                                    const check::Statement& statement) {
  if (sum.empty()) return std::nullopt;
  std::int64_t num = 0, den = 1;
  for (const check::Product& part : sum) {
    num = std::gcd(num, part.coefficient.num);
    den = algebra::checked_multiply(den, part.coefficient.den / std::gcd(den, part.coefficient.den));
  }
  check::Product common = check::number({1, 1});
  for (const check::Factor& factor : sum[0].factors) {
    const algebra::Signs signs = check::SignAnalysis{statement}.range(factor, {}).signs;
    if (factor.kind != check::Factor::Kind::Integer && (signs.negative || signs.zero)) continue;
    if (check::depends_on(factor, without, statement.atoms())) continue;
    check::Product longer = common;
    longer.factors.push_back(factor);
    if (divide(sum, {longer}, statement)) common = std::move(longer);
  }
  common.coefficient = algebra::make_rational(num, den);
  if (common == check::number({1, 1})) return std::nullopt;
  return std::pair(check::Sum{common}, *divide(sum, {common}, statement));
}

std::vector<check::Sum> to_sums(const LawValues& values) {
  std::vector<check::Sum> sums;
  for (const auto& value : values) sums.push_back(value.value_or(check::Sum{}));
  return sums;
}

}  // namespace rulemill::prove
