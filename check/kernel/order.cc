// The step Order: a case analysis on the values that max, min and abs compare. Piecewise functions are evaluated by
// their formulas; all other factors may have any value.
#include <algorithm>
#include <map>

#include "algebra/operators/function_domain.h"
#include "algebra/properties/function_interpreter.h"
#include "algebra/properties/sum_of_products.h"
#include "check/kernel/kernel.h"

namespace rulemill::check {

using algebra::SumOfProducts;
using FunctionOp = algebra::Function::Op;

namespace {

/// The sum of the products is a continuous function of the values of their other factors: polynomials with max, min and
/// abs. Each of these branches on the sign of a polynomial. A case is a set of polynomials that are positive: either it
/// is contradictory, or the sum is one polynomial there, which must be the zero polynomial. The cases leave out points
/// where a nonzero polynomial is 0, which contain no open set. So a sum that is 0 in all cases is 0 everywhere.
class CaseAnalysis {
 public:
  explicit CaseAnalysis(const Statement& statement) : statement_(statement) {}

  /// Products without guards and bound indices.
  bool vanishes(const Sum& sum) {
    if (++cases_ > max_cases) throw CheckError{"more than " + std::to_string(max_cases) + " cases"};
    const std::optional<SumOfProducts> value = evaluate(sum);
    if (value) return value->products().empty();
    const SumOfProducts open = *undecided_;
    for (const std::int64_t sign : {1, -1}) {
      positive_.push_back(open * SumOfProducts::constant({sign, 1}));
      const bool shown = is_contradictory() || vanishes(sum);
      positive_.pop_back();
      if (!shown) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t max_cases = 400, max_inequalities = 200;

  /// Returns nothing if the sign of a polynomial is undecided, and sets undecided_ to it.
  std::optional<SumOfProducts> evaluate(const Sum& sum) {
    SumOfProducts total;
    for (const Product& product : sum) {
      const std::optional<SumOfProducts> value = evaluate(product);
      if (!value) return std::nullopt;
      total = total + *value;
    }
    return total;
  }

  std::optional<SumOfProducts> evaluate(const Product& product) {
    SumOfProducts result = SumOfProducts::constant(product.coefficient);
    if (!product.guards.empty() || !product.bound.empty()) {
      Product other = product;
      other.coefficient = {1, 1};
      return result * opaque(std::move(other));
    }
    for (const Factor& factor : product.factors) {
      const std::optional<SumOfProducts> value = evaluate(factor);
      if (!value) return std::nullopt;
      result = result * *value;
    }
    return result;
  }

  std::optional<SumOfProducts> evaluate(const Factor& factor) {
    if (factor.kind != Factor::Kind::Apply || !is_piecewise(statement_.function(factor.symbol)))
      return opaque({{1, 1}, {}, {}, {factor}});
    std::vector<SumOfProducts> arguments;
    for (const Sum& argument : factor.arguments) {
      std::optional<SumOfProducts> value = evaluate(argument);
      if (!value) return std::nullopt;
      arguments.push_back(std::move(*value));
    }
    const auto leaf = [&](const algebra::Function::Instruction& node) -> std::optional<SumOfProducts> {
      return node.op == FunctionOp::Argument ? arguments.at(node.argument)
                                             : SumOfProducts::constant(node.exact.value());
    };
    const auto step = [&](FunctionOp op, const SumOfProducts& a, const SumOfProducts& b) { return apply(op, a, b); };
    return algebra::interpret<SumOfProducts>(statement_.function(factor.symbol), leaf, step);
  }

  std::optional<SumOfProducts> apply(FunctionOp op, const SumOfProducts& a, const SumOfProducts& b) {
    const SumOfProducts minus_b = b * SumOfProducts::constant({-1, 1});
    switch (op) {
      case FunctionOp::Add:
        return a + b;
      case FunctionOp::Sub:
        return a + minus_b;
      case FunctionOp::Mul:
        return a * b;
      case FunctionOp::Div:
        return a * SumOfProducts::constant(reciprocal(b.constant().value()));
      default: {  // max, min, and abs(b) = max(−b, b)
        const SumOfProducts& other = op == FunctionOp::Abs ? minus_b : a;
        const std::optional<bool> larger = is_positive(other + minus_b);
        if (!larger) return std::nullopt;
        return *larger == (op != FunctionOp::Min) ? other : b;
      }
    }
  }

  /// The sign in this case; either answer is right for 0.
  std::optional<bool> is_positive(const SumOfProducts& form) {
    if (const auto number = form.constant()) return number->num > 0;
    for (const std::vector<SumOfProducts>* known : {&positive_, &always_}) {
      for (const SumOfProducts& other : *known) {
        if (const auto multiple = ratio(form, other)) return multiple->num > 0;
      }
    }
    undecided_ = form;
    return std::nullopt;
  }

  /// a / b, if it is a number.
  static std::optional<Rational> ratio(const SumOfProducts& a, const SumOfProducts& b) {
    const Rational number = a.products().begin()->second * reciprocal(b.products().begin()->second);
    const SumOfProducts rest = a + b * SumOfProducts::constant(number * Rational{-1, 1});
    return rest.products().empty() ? std::optional(number) : std::nullopt;
  }

  /// A variable for a product that is not evaluated, the same one for equal products. Records its sign if it is known.
  SumOfProducts opaque(Product product) {
    std::ranges::sort(product.guards);
    for (Factor& factor : product.factors) factor = with_sorted_guards(std::move(factor));
    const auto found = std::ranges::find(opaque_, product);
    const SumOfProducts form = SumOfProducts::factor(std::to_string(found - opaque_.begin()));
    if (found != opaque_.end()) return form;
    opaque_.push_back(std::move(product));
    const Product& added = opaque_.back();
    if (added.guards.empty() && added.bound.empty() && added.factors.size() == 1) record_sign(added.factors[0], form);
    return form;
  }

  void record_sign(const Factor& factor, const SumOfProducts& form) {
    const algebra::Signs signs = signs_of(factor, statement_);
    // By continuity 0 needs no case: positive values come arbitrarily close.
    if (signs.positive != signs.negative)
      always_.push_back(form * SumOfProducts::constant({signs.positive ? 1 : -1, 1}));
  }

  /// True if no values make all forms positive, by Fourier-Motzkin elimination. Each product of variables is a variable
  /// of its own, whose sign is known if it is a square or the signs of its factors are known.
  bool is_contradictory() const {
    std::vector<SumOfProducts> left = positive_;
    left.insert(left.end(), always_.begin(), always_.end());
    add_signs_of_products(left);
    while (left.size() <= max_inequalities) {
      std::optional<std::vector<std::string>> key;
      for (const SumOfProducts& form : left) {
        if (const auto number = form.constant()) {
          if (number->num <= 0) return true;
        } else {
          key = form.products().rbegin()->first;
        }
      }
      if (!key) return false;
      std::vector<SumOfProducts> above, below, next;
      for (const SumOfProducts& form : left) {
        const auto found = form.products().find(*key);
        if (found == form.products().end()) {
          next.push_back(form);
          continue;
        }
        const bool adds = found->second.num > 0;
        const Rational scale = reciprocal(found->second) * Rational{adds ? 1 : -1, 1};
        (adds ? above : below).push_back(form * SumOfProducts::constant(scale));
      }
      for (const SumOfProducts& a : above) {
        for (const SumOfProducts& b : below) next.push_back(a + b);
      }
      left = std::move(next);
    }
    return false;
  }

  static void add_signs_of_products(std::vector<SumOfProducts>& positive) {
    std::map<std::string, std::int64_t> signs;
    for (const SumOfProducts& form : positive) {
      const auto& [factors, coefficient] = *form.products().begin();
      if (form.products().size() == 1 && factors.size() == 1) signs[factors[0]] = coefficient.num > 0 ? 1 : -1;
    }
    for (std::size_t i = positive.size(); i-- > 0;) {
      const auto products = positive[i].products();
      for (const auto& [factors, coefficient] : products) {
        Rational sign{1, 1};
        for (std::size_t n = 0; n < factors.size(); ++n) {
          const bool twice = n + 1 < factors.size() && factors[n] == factors[n + 1];
          if (!twice) sign = sign * Rational{signs.contains(factors[n]) ? signs[factors[n]] : 0, 1};
          n += twice ? 1 : 0;
        }
        if (factors.size() < 2 || sign.num == 0) continue;
        SumOfProducts product = SumOfProducts::constant(sign);
        for (const std::string& name : factors) product = product * SumOfProducts::factor(name);
        positive.push_back(std::move(product));
      }
    }
  }

  const Statement& statement_;
  std::vector<Product> opaque_;
  std::vector<SumOfProducts> positive_, always_;  // in the current case; in all cases
  std::optional<SumOfProducts> undecided_;
  std::size_t cases_ = 0;
};

}  // namespace

bool is_piecewise(const algebra::Function& function) {
  using enum algebra::Function::Op;
  const auto is_number = [](const algebra::Function::Instruction& node) { return node.op == Number && node.exact; };
  for (std::size_t i = 0; i < function.program.size(); ++i) {
    const algebra::Function::Instruction& node = function.program[i];
    const bool divides =
        node.op == Div && is_number(function.program.at(i - 1)) && function.program[i - 1].exact->num != 0;
    if (!divides && !is_number(node) && node.op != Argument && node.op != Add && node.op != Sub && node.op != Mul &&
        node.op != Max && node.op != Min && node.op != Abs)
      return false;
  }
  return true;
}

void Kernel::order(Sum& sum, const Step& step) {
  const std::set<std::size_t> members = positions(sum, step);
  const auto range = [&](std::size_t p) {
    Guards guards = sum[p].guards;
    std::ranges::sort(guards);
    return std::pair(std::set<Atom>(sum[p].bound.begin(), sum[p].bound.end()), std::move(guards));
  };
  Sum products;
  for (const std::size_t p : members) {
    expect(range(p) == range(*members.begin()), "the products have different guards or bound indices");
    products.push_back({sum[p].coefficient, {}, {}, sum[p].factors});
  }
  expect(CaseAnalysis(statement_).vanishes(products), "the products do not cancel in every case");
  erase(sum, members);
}

}  // namespace rulemill::check
