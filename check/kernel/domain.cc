// Signs that sums can have for all values of the variables, by formulas.
#include <algorithm>

#include "check/kernel/kernel.h"

namespace rulemill::check {

using algebra::Signs;

namespace {

class SignAnalysis {
 public:
  SignAnalysis(const Statement& statement, SignOptions options) : statement_(statement), options_(options) {}

  Signs signs(const Sum& sum, const Guards& given) {
    Signs all{false, true, false};
    for (const Product& product : sum) {
      Signs own = algebra::sign_of(static_cast<double>(product.coefficient.num));
      for (const Factor& factor : product.factors) {
        const bool is_square = std::ranges::count(product.factors, factor) % 2 == 0;
        const Signs of = signs(factor, conjunction(given, product.guards));
        own = own * (is_square ? algebra::square(of) : of);
      }
      const bool may_cancel = !product.bound.empty() && own.negative && own.positive;
      if (may_cancel || !has_point(product, given)) own.zero = true;
      all = all + own;
    }
    all.natural = std::ranges::all_of(sum, [](const Product& product) {
      return product.factors.empty() && product.bound.empty() && product.coefficient.den == 1 &&
             product.coefficient.num >= 0;
    });
    return all;
  }

  Signs signs(const Factor& factor, const Guards& given) {
    switch (factor.kind) {
      case Factor::Kind::Read:
        return {};
      case Factor::Kind::Inverse:
      case Factor::Kind::Integer: {
        const Poly above = factor.index.at(0) - 1;
        const bool is_positive = factor.kind == Factor::Kind::Inverse || statement_.atoms().is_nonnegative(above);
        if (is_positive && !options_.integers) return algebra::sign_of(1);
        if (!options_.integers) return {};
        obligations.push_back({"an integer is positive", given, Guard{false, above}, {}, {}});
        return algebra::sign_of(1);
      }
      case Factor::Kind::Apply:
        return range(factor, given).signs;
      case Factor::Kind::Defined:
        return {false, true, true};
      case Factor::Kind::Max: {
        Signs own = signs(factor.arguments.at(0), conjunction(given, factor.guards));
        own.zero = true;  // of an empty range
        return own;
      }
    }
    return {};
  }

  algebra::FunctionRange range(const Factor& application, const Guards& given) {
    std::vector<Signs> arguments;
    for (const Sum& argument : application.arguments) arguments.push_back(signs(argument, given));
    algebra::FunctionRange range = algebra::range_of(statement_.function(application.symbol), arguments);
    range.signs.zero = range.signs.zero || (options_.undefined_is_zero && !range.defined);
    return range;
  }

  std::vector<Obligation> obligations;

 private:
  /// A product whose guards hold nowhere is 0. That they hold where all its indices are 0 is an obligation.
  bool has_point(const Product& product, const Guards& given) {
    if (product.guards.empty()) return true;
    if (!options_.points) return false;
    Images origin;
    for (const Atom atom : product.bound) origin[atom] = Poly(0);
    for (const Guard& guard : product.guards) {
      const Guard goal = statement_.atoms().substitute(guard, origin);
      if (goal.equality || !statement_.atoms().is_nonnegative(goal.poly))
        obligations.push_back({"a sum has a point", given, goal, {}, {}});
    }
    return true;
  }

  const Statement& statement_;
  const SignOptions options_;
};

}  // namespace

Signs signs_of(const Factor& factor, const Statement& statement) {
  return SignAnalysis(statement, {}).signs(factor, {});
}

std::optional<std::vector<Obligation>> shown_by_signs(const Sum& sum, bool or_zero, const Guards& given,
                                                      const Statement& statement, SignOptions options) {
  SignAnalysis analysis(statement, options);
  const Signs signs = analysis.signs(sum, given);
  if (signs.negative || (signs.zero && !or_zero)) return std::nullopt;
  return std::move(analysis.obligations);
}

std::optional<std::vector<Obligation>> defined_by_signs(const Factor& application, const Guards& given,
                                                        const Statement& statement, SignOptions options) {
  SignAnalysis analysis(statement, options);
  if (!analysis.range(application, given).defined) return std::nullopt;
  return std::move(analysis.obligations);
}

}  // namespace rulemill::check
