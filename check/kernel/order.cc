// A step by cases: what functions that are made of maxima, minima and absolute values are, whichever of two values is
// the larger. Such a function is what its formula says; what else products are made of may have any value.
#include <algorithm>
#include <map>

#include "algebra/claims/program.h"
#include "algebra/claims/sum_form.h"
#include "algebra/language/function_domain.h"
#include "check/kernel/kernel.h"

namespace rulemill::check {

using algebra::SumForm;
using FunctionOp = algebra::Function::Op;

namespace {

/// The products' sum is a continuous function of the values of their other factors: polynomials with max, min and abs.
/// Each of these asks for the sign of a polynomial, and both signs are gone through, so that a case is a set of
/// polynomials that are above 0. Where these contradict each other there is nothing to show; elsewhere the sum is one
/// polynomial there, and must be the zero polynomial. The cases leave out where a polynomial is 0 that is not the zero
/// polynomial: no open set. So what is 0 in all cases is 0 everywhere.
class Cases {
 public:
  explicit Cases(const Statement& statement) : statement_(statement) {}

  /// Products without guards and bound indices.
  bool vanish(const Sum& sum) {
    if (++tried_ > most_cases) throw Objection{"there are more than " + std::to_string(most_cases) + " cases"};
    const std::optional<SumForm> value = value_of(sum);
    if (value) return value->products().empty();
    const SumForm open = *open_;
    for (const std::int64_t sign : {1, -1}) {
      positive_.push_back(open * SumForm::constant({sign, 1}));
      const bool shown = contradictory() || vanish(sum);
      positive_.pop_back();
      if (!shown) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t most_cases = 400, most_inequations = 200;

  /// Nothing if a sign is not decided, which is open_ then.
  std::optional<SumForm> value_of(const Sum& sum) {
    SumForm total;
    for (const Product& product : sum) {
      const std::optional<SumForm> value = value_of(product);
      if (!value) return std::nullopt;
      total = total + *value;
    }
    return total;
  }

  std::optional<SumForm> value_of(const Product& product) {
    SumForm result = SumForm::constant(product.coefficient);
    if (!product.guards.empty() || !product.bound.empty()) {
      Product other = product;
      other.coefficient = {1, 1};
      return result * of_any_value(std::move(other));
    }
    for (const Factor& factor : product.factors) {
      const std::optional<SumForm> value = value_of(factor);
      if (!value) return std::nullopt;
      result = result * *value;
    }
    return result;
  }

  std::optional<SumForm> value_of(const Factor& factor) {
    if (factor.kind != Factor::Kind::Apply || !is_piecewise(statement_.function(factor.symbol)))
      return of_any_value({{1, 1}, {}, {}, {factor}});
    std::vector<SumForm> arguments;
    for (const Sum& argument : factor.arguments) {
      std::optional<SumForm> value = value_of(argument);
      if (!value) return std::nullopt;
      arguments.push_back(std::move(*value));
    }
    const auto leaf = [&](const algebra::Function::Node& node) -> std::optional<SumForm> {
      return node.op == FunctionOp::Argument ? arguments.at(node.argument) : SumForm::constant(node.exact.value());
    };
    const auto step = [&](FunctionOp op, const SumForm& a, const SumForm& b) { return apply(op, a, b); };
    return algebra::run<SumForm>(statement_.function(factor.symbol), leaf, step);
  }

  std::optional<SumForm> apply(FunctionOp op, const SumForm& a, const SumForm& b) {
    const SumForm minus_b = b * SumForm::constant({-1, 1});
    switch (op) {
      case FunctionOp::Add:
        return a + b;
      case FunctionOp::Sub:
        return a + minus_b;
      case FunctionOp::Mul:
        return a * b;
      case FunctionOp::Div:
        return a * SumForm::constant(reciprocal(b.constant().value()));
      case FunctionOp::Max:
      case FunctionOp::Min: {
        const std::optional<bool> larger = is_positive(a + minus_b);
        if (!larger) return std::nullopt;
        return *larger == (op == FunctionOp::Max) ? a : b;
      }
      default: {  // abs
        const std::optional<bool> above = is_positive(b);
        if (!above) return std::nullopt;
        return *above ? b : minus_b;
      }
    }
  }

  /// By the case; of what is 0 either answer will do.
  std::optional<bool> is_positive(const SumForm& form) {
    if (const auto number = form.constant()) return number->num > 0;
    for (const std::vector<SumForm>* known : {&positive_, &always_}) {
      for (const SumForm& other : *known) {
        if (const auto multiple = quotient(form, other)) return multiple->num > 0;
      }
    }
    open_ = form;
    return std::nullopt;
  }

  /// The number that makes `a` of `b`.
  static std::optional<Rational> quotient(const SumForm& a, const SumForm& b) {
    const Rational number = a.products().begin()->second * reciprocal(b.products().begin()->second);
    const SumForm rest = a + b * SumForm::constant(number * Rational{-1, 1});
    return rest.products().empty() ? std::optional(number) : std::nullopt;
  }

  /// A name for what is not a function by cases: equal things, one name. Which sign it has may be known.
  SumForm of_any_value(Product product) {
    std::ranges::sort(product.guards);
    for (Factor& factor : product.factors) factor = sorted(std::move(factor));
    const auto found = std::ranges::find(names_, product);
    const SumForm form = SumForm::factor(std::to_string(found - names_.begin()));
    if (found != names_.end()) return form;
    names_.push_back(std::move(product));
    const Product& added = names_.back();
    if (added.guards.empty() && added.bound.empty() && added.factors.size() == 1) note_sign(added.factors[0], form);
    return form;
  }

  void note_sign(const Factor& factor, const SumForm& form) {
    const algebra::Signs signs = signs_of(factor);
    // That it may be 0 is no case of its own: the values above 0 come as near to that as one likes.
    if (signs.positive != signs.negative) always_.push_back(form * SumForm::constant({signs.positive ? 1 : -1, 1}));
  }

  /// Which a value may have. What is undefined counts as 0, and so does what has no point.
  algebra::Signs signs_of(const Factor& factor) const {
    if (factor.kind == Factor::Kind::Inverse) return algebra::sign_of(1);
    if (factor.kind != Factor::Kind::Apply) return {};
    std::vector<algebra::Signs> arguments;
    for (const Sum& argument : factor.arguments) {
      algebra::Signs all = algebra::sign_of(0);
      for (const Product& product : argument) {
        algebra::Signs own = algebra::sign_of(static_cast<double>(product.coefficient.num));
        for (const Factor& inner : product.factors) own = own * signs_of(inner);
        const bool may_vanish = (own.negative && own.positive) || !product.guards.empty();
        own.zero = own.zero || may_vanish || !product.bound.empty();
        all = all + own;
      }
      arguments.push_back(all);
    }
    algebra::FunctionRange range = algebra::range_of(statement_.function(factor.symbol), arguments);
    range.signs.zero = range.signs.zero || !range.defined;
    return range.signs;
  }

  /// Shown: no values make all of them positive (Fourier and Motzkin), each product of names being a value of its own,
  /// but for its sign, where the names' signs are known or it is a square.
  bool contradictory() const {
    std::vector<SumForm> left = positive_;
    left.insert(left.end(), always_.begin(), always_.end());
    add_signs_of_products(left);
    while (left.size() <= most_inequations) {
      std::optional<std::vector<std::string>> key;
      for (const SumForm& form : left) {
        if (const auto number = form.constant()) {
          if (number->num <= 0) return true;
        } else {
          key = form.products().rbegin()->first;
        }
      }
      if (!key) return false;
      std::vector<SumForm> above, below, next;
      for (const SumForm& form : left) {
        const auto found = form.products().find(*key);
        if (found == form.products().end()) {
          next.push_back(form);
          continue;
        }
        const bool adds = found->second.num > 0;
        const Rational scale = reciprocal(found->second) * Rational{adds ? 1 : -1, 1};
        (adds ? above : below).push_back(form * SumForm::constant(scale));
      }
      for (const SumForm& a : above) {
        for (const SumForm& b : below) next.push_back(a + b);
      }
      left = std::move(next);
    }
    return false;
  }

  static void add_signs_of_products(std::vector<SumForm>& positive) {
    std::map<std::string, std::int64_t> signs;
    for (const SumForm& form : positive) {
      const auto& [names, coefficient] = *form.products().begin();
      if (form.products().size() == 1 && names.size() == 1) signs[names[0]] = coefficient.num > 0 ? 1 : -1;
    }
    for (std::size_t i = positive.size(); i-- > 0;) {
      const auto products = positive[i].products();
      for (const auto& [names, coefficient] : products) {
        Rational sign{1, 1};
        for (std::size_t n = 0; n < names.size(); ++n) {
          const bool twice = n + 1 < names.size() && names[n] == names[n + 1];
          if (!twice) sign = sign * Rational{signs.contains(names[n]) ? signs[names[n]] : 0, 1};
          n += twice ? 1 : 0;
        }
        if (names.size() < 2 || sign.num == 0) continue;
        SumForm product = SumForm::constant(sign);
        for (const std::string& name : names) product = product * SumForm::factor(name);
        positive.push_back(std::move(product));
      }
    }
  }

  const Statement& statement_;
  std::vector<Product> names_;
  std::vector<SumForm> positive_, always_;  // in the case that is looked at; whatever functions are applied to
  std::optional<SumForm> open_;
  std::size_t tried_ = 0;
};

}  // namespace

bool is_piecewise(const algebra::Function& function) {
  for (std::size_t i = 0; i < function.real.size(); ++i) {
    const algebra::Function::Node& node = function.real[i];
    switch (node.op) {
      case FunctionOp::Number:
        if (!node.exact) return false;
        break;
      case FunctionOp::Div: {
        const algebra::Function::Node& divisor = function.real.at(i - 1);
        if (divisor.op != FunctionOp::Number || !divisor.exact || divisor.exact->num == 0) return false;
        break;
      }
      case FunctionOp::Argument:
      case FunctionOp::Add:
      case FunctionOp::Sub:
      case FunctionOp::Mul:
      case FunctionOp::Max:
      case FunctionOp::Min:
      case FunctionOp::Abs:
        break;
      default:
        return false;
    }
  }
  return true;
}

/// Σ_b [G] (P + Q + …) = 0 where P + Q + … is 0 whatever the values of its factors are.
void Kernel::order(Sum& sum, const Step& step) {
  const std::set<std::size_t> members(step.at.begin(), step.at.end());
  if (members.size() != step.at.size() || members.empty()) throw Objection{"different products are expected"};
  if (*members.rbegin() >= sum.size()) throw Objection{"there is no product " + std::to_string(*members.rbegin())};
  const auto range = [&](std::size_t p) {
    Guards guards = sum[p].guards;
    std::ranges::sort(guards);
    return std::pair(std::set<Atom>(sum[p].bound.begin(), sum[p].bound.end()), std::move(guards));
  };
  Sum products;
  for (const std::size_t p : members) {
    if (range(p) != range(*members.begin())) throw Objection{"the products have other guards or bound indices"};
    products.push_back({sum[p].coefficient, {}, {}, sum[p].factors});
  }
  if (!Cases(statement_).vanish(products)) throw Objection{"the products do not cancel in every case"};
  for (auto p = members.rbegin(); p != members.rend(); ++p) sum.erase(sum.begin() + static_cast<std::ptrdiff_t>(*p));
}

}  // namespace rulemill::check
