// Signs that sums can have for all values of the variables, by formulas.
#include <algorithm>

#include "check/kernel/kernel.h"

namespace rulemill::check {

using algebra::FunctionRange;
using algebra::Signs;

FunctionRange SignAnalysis::range(const Sum& sum, const Guards& given) {
  FunctionRange all{true, {false, true, false}};
  for (const Product& product : sum) {
    Signs own = algebra::sign_of(static_cast<double>(product.coefficient.num));
    for (const Factor& factor : product.factors) {
      const bool is_square = std::ranges::count(product.factors, factor) % 2 == 0;
      const FunctionRange of = range(factor, conjunction(given, product.guards));
      all.defined = all.defined && of.defined;
      own = own * (is_square ? algebra::square(of.signs) : of.signs);
    }
    // A product whose guards hold nowhere is 0. That they hold where all its indices are 0 is an obligation.
    const bool may_cancel = !product.bound.empty() && own.negative && own.positive;
    const bool may_vanish = may_cancel || (!points && !product.guards.empty());
    own.zero = own.zero || may_vanish;
    all.signs = all.signs + own;
    Images origin;
    for (const Atom atom : product.bound) origin[atom] = Poly(0);
    for (const Guard& guard : may_vanish ? Guards() : product.guards)
      needed.push_back({"a sum has a point", given, statement.atoms().substitute(guard, origin), {}});
  }
  all.signs.natural = std::ranges::all_of(sum, [](const Product& product) {
    return product.factors.empty() && product.bound.empty() && product.coefficient.den == 1 &&
           product.coefficient.num >= 0;
  });
  return all;
}

FunctionRange SignAnalysis::range(const Factor& factor, const Guards& given) {
  switch (factor.kind) {
    case Factor::Kind::Read:
      break;
    case Factor::Kind::Inverse:
      return {true, algebra::sign_of(1)};
    case Factor::Kind::Integer: {
      const Poly above = factor.index.at(0) - 1;
      if (integers) needed.push_back({"an integer is positive", given, Guard{false, above}, {}});
      if (integers || statement.atoms().is_nonnegative(above)) return {true, algebra::sign_of(1)};
      break;
    }
    case Factor::Kind::Apply: {
      std::vector<Signs> arguments;
      for (const Sum& argument : factor.arguments) arguments.push_back(range(argument, given).signs);
      FunctionRange own = algebra::range_of(statement.function(factor.symbol), arguments);
      own.signs.zero = own.signs.zero || (undefined_is_zero && !own.defined);
      return own;
    }
    case Factor::Kind::Defined:
      return {true, {false, true, true}};
    case Factor::Kind::Max: {
      const Signs body = range(factor.arguments.at(0), conjunction(given, factor.guards)).signs;
      return {true, {body.negative, true, body.positive}};  // 0, of an empty range
    }
  }
  return {};
}

}  // namespace rulemill::check
