// The step Order: a case analysis on the values that piecewise functions compare. They are evaluated by their formulas;
// all other factors may have any value.
#include <algorithm>
#include <iterator>
#include <map>

#include "algebra/operators/function_domain.h"
#include "algebra/properties/function_interpreter.h"
#include "algebra/properties/sum_of_products.h"
#include "check/kernel/kernel.h"

namespace rulemill::check {

using algebra::SumOfProducts;
using FunctionOp = algebra::Function::Op;

namespace {

/// The sum of the products is a function of the values of their other factors: polynomials with max, min, abs and
/// comparisons. Each of these branches on the sign of a polynomial. A case is a set of polynomials that are positive,
/// and of some that are 0: either it is contradictory, or the sum is one polynomial there, which must be 0 by those
/// that are. Without comparisons the sum is continuous, and no polynomial needs the case 0: the points at which a
/// nonzero polynomial is 0 contain no open set, so a sum that is 0 at all others is 0 everywhere.
class CaseAnalysis {
 public:
  CaseAnalysis(const Statement& statement, bool is_continuous) : statement_(statement), is_continuous_(is_continuous) {}

  /// Products without guards and bound indices.
  bool vanishes(const Sum& sum) {
    if (++cases_ > max_cases) throw CheckError{"more than " + std::to_string(max_cases) + " cases"};
    const std::optional<SumOfProducts> value = evaluate(sum);
    if (value) return reduced(*value).products().empty();
    const SumOfProducts open = *undecided_;
    const auto holds_with = [&](std::vector<SumOfProducts>& forms, const SumOfProducts& form) {
      forms.push_back(form);
      const bool shown = is_contradictory() || vanishes(sum);
      forms.pop_back();
      return shown;
    };
    return holds_with(positive_, open) && holds_with(positive_, open * SumOfProducts::constant({-1, 1})) &&
           (is_continuous_ || holds_with(zero_, open));
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
      case FunctionOp::Less:
      case FunctionOp::Equal:
      case FunctionOp::Gate: {
        const std::optional<int> sign = sign_of(op == FunctionOp::Gate ? a : a + minus_b);
        if (!sign) return std::nullopt;
        if (op == FunctionOp::Gate) return *sign == 0 ? SumOfProducts() : b;
        return SumOfProducts::constant({op == FunctionOp::Less ? *sign < 0 : *sign == 0, 1});
      }
      default: {  // max, min, and abs(b) = max(−b, b)
        const SumOfProducts& other = op == FunctionOp::Abs ? minus_b : a;
        const std::optional<int> sign = sign_of(other + minus_b);  // if it is 0, both are equal
        if (!sign) return std::nullopt;
        return (*sign > 0) == (op != FunctionOp::Min) ? other : b;
      }
    }
  }

  /// A single factor of a form that no other of its products has, or nothing.
  static std::optional<std::vector<std::string>> lone_factor(const SumOfProducts& form) {
    for (const auto& each : form.products()) {
      const std::vector<std::string>& product = each.first;
      const auto has_factor = [&](const auto& other) { return std::ranges::count(other.first, product[0]) > 0; };
      if (product.size() == 1 && std::ranges::count_if(form.products(), has_factor) == 1) return product;
    }
    return std::nullopt;
  }

  /// The form less multiples of those that are 0 in this case. Each of these eliminates its lone factor from all
  /// products; without one, only its last product.
  SumOfProducts reduced(SumOfProducts form) const {
    for (const SumOfProducts& zero : zero_) {
      const auto lone = lone_factor(zero);
      const auto key = lone.value_or(zero.products().rbegin()->first);
      for (;;) {
        const auto found = std::ranges::find_if(form.products(), [&](const auto& product) {
          return lone ? std::ranges::includes(product.first, key) : product.first == key;
        });
        if (found == form.products().end()) break;
        std::vector<std::string> others;
        std::ranges::set_difference(found->first, key, std::back_inserter(others));
        SumOfProducts multiple =
            SumOfProducts::constant(found->second * reciprocal(zero.products().at(key)) * Rational{-1, 1});
        for (const std::string& name : others) multiple = multiple * SumOfProducts::factor(name);
        form = form + zero * multiple;
      }
    }
    return form;
  }

  std::optional<int> sign_of(const SumOfProducts& given) {
    const SumOfProducts form = reduced(given);
    if (const auto number = form.constant()) return (number->num > 0) - (number->num < 0);
    for (const std::vector<SumOfProducts>* known : {&positive_, &always_}) {
      for (const SumOfProducts& other : *known) {
        if (const auto multiple = ratio(form, reduced(other))) return multiple->num > 0 ? 1 : -1;
      }
    }
    undecided_ = form;
    return std::nullopt;
  }

  /// a / b, if it is a number.
  static std::optional<Rational> ratio(const SumOfProducts& a, const SumOfProducts& b) {
    if (a.products().empty() || b.products().empty()) return std::nullopt;
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
    // If the sum is continuous, 0 needs no case: positive values come arbitrarily close.
    if (signs.positive != signs.negative && (is_continuous_ || !signs.zero))
      always_.push_back(form * SumOfProducts::constant({signs.positive ? 1 : -1, 1}));
  }

  /// True if no values make all forms positive, by Fourier-Motzkin elimination. Each product of variables is a variable
  /// of its own, whose sign is known if the signs of its factors are, or if it is a square and the sum continuous.
  bool is_contradictory() const {
    std::vector<SumOfProducts> left = positive_;
    left.insert(left.end(), always_.begin(), always_.end());
    for (SumOfProducts& form : left) form = reduced(std::move(form));
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

  void add_signs_of_products(std::vector<SumOfProducts>& positive) const {
    std::map<std::string, std::int64_t> signs;
    for (const SumOfProducts& form : positive) {
      if (form.products().size() != 1) continue;
      const auto& [factors, coefficient] = *form.products().begin();
      if (factors.size() == 1) signs[factors[0]] = coefficient.num > 0 ? 1 : -1;
    }
    for (std::size_t i = positive.size(); i-- > 0;) {
      const auto products = positive[i].products();
      for (const auto& [factors, coefficient] : products) {
        Rational sign{1, 1};
        for (std::size_t n = 0; n < factors.size(); ++n) {
          const bool twice = is_continuous_ && n + 1 < factors.size() && factors[n] == factors[n + 1];
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
  const bool is_continuous_;
  std::vector<SumOfProducts> positive_, zero_;  // in the current case
  std::vector<SumOfProducts> always_;           // positive in all cases
  std::optional<SumOfProducts> undecided_;
  std::size_t cases_ = 0;
};

bool is_comparison(const algebra::Function::Instruction& node) {
  return node.op == FunctionOp::Less || node.op == FunctionOp::Equal || node.op == FunctionOp::Gate;
}

bool has_comparison(const Sum& sum, const Statement& statement) {
  return std::ranges::any_of(sum, [&](const Product& product) {
    return std::ranges::any_of(product.factors, [&](const Factor& factor) {
      const bool compares = factor.kind == Factor::Kind::Apply &&
                            std::ranges::any_of(statement.function(factor.symbol).program, is_comparison);
      return compares || std::ranges::any_of(factor.arguments,
                                             [&](const Sum& argument) { return has_comparison(argument, statement); });
    });
  });
}

}  // namespace

bool is_piecewise(const algebra::Function& function) {
  using enum algebra::Function::Op;
  const auto is_number = [](const algebra::Function::Instruction& node) { return node.op == Number && node.exact; };
  for (std::size_t i = 0; i < function.program.size(); ++i) {
    const algebra::Function::Instruction& node = function.program[i];
    const bool divides =
        node.op == Div && is_number(function.program.at(i - 1)) && function.program[i - 1].exact->num != 0;
    if (!divides && !is_number(node) && node.op != Argument && node.op != Add && node.op != Sub && node.op != Mul &&
        node.op != Max && node.op != Min && node.op != Abs && !is_comparison(node))
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
  expect(CaseAnalysis(statement_, !has_comparison(products, statement_)).vanishes(products),
         "the products do not cancel in every case");
  erase(sum, members);
}

}  // namespace rulemill::check
