// Signs that sums can have for all values of the variables, by formulas.
#include <algorithm>

#include "check/kernel/kernel.h"

namespace rulemill::check {

using algebra::FunctionRange;
using algebra::Signs;

namespace {

class SignAnalysis {
 public:
  SignAnalysis(const Statement& statement, SignOptions options, std::vector<Obligation>& needed)
      : statement_(statement), options_(options), needed_(needed) {}

  FunctionRange range(const Sum& sum, const Guards& given) {
    FunctionRange all{true, {false, true, false}};
    for (const Product& product : sum) {
      Signs own = algebra::sign_of(static_cast<double>(product.coefficient.num));
      for (const Factor& factor : product.factors) {
        const bool is_square = std::ranges::count(product.factors, factor) % 2 == 0;
        const FunctionRange of = range(factor, conjunction(given, product.guards));
        all.defined = all.defined && of.defined;
        own = own * (is_square ? algebra::square(of.signs) : of.signs);
      }
      const bool may_cancel = !product.bound.empty() && own.negative && own.positive;
      if (may_cancel || !has_point(product, given)) own.zero = true;
      all.signs = all.signs + own;
    }
    all.signs.natural = std::ranges::all_of(sum, [](const Product& product) {
      return product.factors.empty() && product.bound.empty() && product.coefficient.den == 1 &&
             product.coefficient.num >= 0;
    });
    return all;
  }

 private:
  FunctionRange range(const Factor& factor, const Guards& given) {
    switch (factor.kind) {
      case Factor::Kind::Read:
        break;
      case Factor::Kind::Inverse:
      case Factor::Kind::Integer: {
        const Poly above = factor.index.at(0) - 1;
        if (options_.integers) needed_.push_back({"an integer is positive", given, Guard{false, above}, {}});
        if (options_.integers || factor.kind == Factor::Kind::Inverse || statement_.atoms().is_nonnegative(above))
          return {true, algebra::sign_of(1)};
        break;
      }
      case Factor::Kind::Apply: {
        std::vector<Signs> arguments;
        for (const Sum& argument : factor.arguments) arguments.push_back(range(argument, given).signs);
        FunctionRange own = algebra::range_of(statement_.function(factor.symbol), arguments);
        own.signs.zero = own.signs.zero || (options_.undefined_is_zero && !own.defined);
        return own;
      }
      case Factor::Kind::Defined:
        return {true, {false, true, true}};
      case Factor::Kind::Max: {
        FunctionRange own = range(factor.arguments.at(0), conjunction(given, factor.guards));
        own.signs.zero = true;  // of an empty range
        return {true, own.signs};
      }
    }
    return {};
  }

  /// A product whose guards hold nowhere is 0. That they hold where all its indices are 0 is an obligation.
  bool has_point(const Product& product, const Guards& given) {
    if (product.guards.empty()) return true;
    if (!options_.points) return false;
    Images origin;
    for (const Atom atom : product.bound) origin[atom] = Poly(0);
    for (const Guard& guard : product.guards)
      needed_.push_back({"a sum has a point", given, statement_.atoms().substitute(guard, origin), {}});
    return true;
  }

  const Statement& statement_;
  const SignOptions options_;
  std::vector<Obligation>& needed_;
};

}  // namespace

FunctionRange range_of(const Sum& sum, const Guards& given, const Statement& statement, SignOptions options,
                       std::vector<Obligation>& needed) {
  return SignAnalysis(statement, options, needed).range(sum, given);
}

Signs signs_of(const Factor& factor, const Statement& statement) {
  std::vector<Obligation> none;
  return range_of(to_sum(factor), {}, statement, {}, none).signs;
}

}  // namespace rulemill::check
