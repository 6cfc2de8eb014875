// The case analysis of the step Order: is a sum 0 for all values of its factors?
#include <algorithm>
#include <map>

#include "algebra/operators/function_domain.h"
#include "algebra/properties/function_interpreter.h"
#include "algebra/sizes/checked.h"
#include "check/kernel/forms.h"
#include "check/kernel/kernel.h"

namespace rulemill::check {

using algebra::Function;
using FunctionOp = Function::Op;

namespace {

/// True if a function that is evaluated has a quotient or floor and is not piecewise, at any depth of the sum.
bool has_quotients(const Sum& sum, const Statement& statement) {
  const auto has_one = [&](const Factor& factor) {
    const Function* function = factor.kind == Factor::Kind::Apply ? &statement.function(factor.symbol) : nullptr;
    const auto is_quotient = [](FunctionOp op) { return op == FunctionOp::Div || op == FunctionOp::Floor; };
    return (function && is_evaluated_by_cases(*function) && !is_piecewise(*function) &&
            std::ranges::any_of(function->program, is_quotient, &Function::Instruction::op)) ||
           std::ranges::any_of(factor.arguments, [&](const Sum& part) { return has_quotients(part, statement); });
  };
  return std::ranges::any_of(sum, [&](const Product& part) { return std::ranges::any_of(part.factors, has_one); });
}

/// A sum of products is a function of the values of its factors, the unknowns. Functions whose formulas are known are
/// evaluated: max, min, abs, comparisons and divisors branch on the sign of a polynomial. A case is a set of
/// polynomials that are positive, at least 0, or 0: either it is contradictory, or the sum is one polynomial there,
/// which must be 0 by those that are, or neither positive nor negative.
class CaseAnalysis {
 public:
  CaseAnalysis(const Statement& statement, const Sum& sum, const Guards& given, std::size_t& work)
      : statement_(statement), given_(given), work_(work), has_quotients_(has_quotients(sum, statement)) {}

  /// Products without guards and bound indices.
  bool vanishes(const Sum& sum) {
    spend(work_, 5000);  // so that there are at most 800 cases
    const std::size_t known = known_.size(), quotients = quotients_.size(), floors = floors_.size();
    const bool result = vanishes_in_case(sum);
    known_.resize(known);
    quotients_.resize(quotients);
    floors_.resize(floors);
    return result;
  }

 private:
  /// The unknown 1/p for a positive p, with the form 1/p · p − 1, which is 0. `key` is its leading product.
  struct Quotient {
    std::string name;
    Form zero;
    Unknowns key;
  };

  bool vanishes_in_case(const Sum& sum) {
    const std::optional<Form> value = evaluate(sum);
    if (value) {
      const Form rest = reduced(*value);
      return rest.products().empty() || (is_contradictory_with({rest}) && is_contradictory_with({times(rest, -1)}));
    }
    const auto [open, strict] = *undecided_;
    const auto holds_with = [&](auto& forms, auto form) {
      forms.push_back(std::move(form));
      const bool shown = is_contradictory() || vanishes(sum);
      forms.pop_back();
      return shown;
    };
    return holds_with(known_, Inequality{open, strict}) && holds_with(known_, Inequality{times(open, -1)}) &&
           (!strict || holds_with(zero_, open));
  }

  /// Returns nothing if the sign of a polynomial is undecided, and sets undecided_.
  std::optional<Form> evaluate(const Sum& sum) {
    Form total;
    for (const Product& product : sum) {
      const std::optional<Form> value = evaluate(product);
      if (!value) return std::nullopt;
      total = std::move(total) + *value;
    }
    return total;
  }

  std::optional<Form> evaluate(const Product& product) {
    Form result = Form::constant(product.coefficient);
    if (!product.guards.empty() || !product.bound.empty())
      return result * opaque({{1, 1}, product.guards, product.bound, product.factors});
    for (const Factor& factor : product.factors) {
      const std::optional<Form> value = evaluate(factor);
      if (!value) return std::nullopt;
      result = multiplied(result, *value);
    }
    return result;
  }

  std::optional<Form> evaluate(const Factor& factor) {
    if (has_quotients_ && factor.kind == Factor::Kind::Integer) return integer(factor.index.at(0));
    const Function* function = factor.kind == Factor::Kind::Apply ? &statement_.function(factor.symbol) : nullptr;
    if (!function || !(is_evaluated_by_cases(*function) || (has_quotients_ && is_reciprocal(*function))))
      return opaque({{1, 1}, {}, {}, {factor}});
    std::vector<Form> arguments;
    for (const Sum& argument : factor.arguments) {
      std::optional<Form> value = evaluate(argument);
      if (!value) return std::nullopt;
      arguments.push_back(std::move(*value));
    }
    const auto leaf = [&](const Function::Instruction& node) -> std::optional<Form> {
      return node.op == FunctionOp::Argument ? arguments.at(node.argument) : Form::constant(node.exact.value());
    };
    const auto step = [&](FunctionOp op, const Form& a, const Form& b) { return apply(op, a, b); };
    undecided_.reset();
    is_undefined_ = false;
    const std::optional<Form> value = algebra::interpret<Form>(*function, leaf, step);
    if (is_undefined_) return Form();
    return value || undecided_ ? value : opaque({{1, 1}, {}, {}, {factor}});
  }

  /// Returns nothing also for a power that is no product.
  std::optional<Form> apply(FunctionOp op, const Form& a, const Form& b) {
    const Form minus_b = times(b, -1);
    switch (op) {
      case FunctionOp::Add:
        return a + b;
      case FunctionOp::Sub:
        return a + minus_b;
      case FunctionOp::Mul:
        return multiplied(a, b);
      case FunctionOp::Floor:
        return floor_of(reduced(b));
      case FunctionOp::Div: {
        const std::optional<int> sign = sign_of(b);
        if (!sign) return std::nullopt;
        is_undefined_ = is_undefined_ || *sign == 0;
        return *sign == 0 ? Form() : times(multiplied(a, quotient(times(reduced(b), *sign))), *sign);
      }
      case FunctionOp::Power: {
        const std::optional<Rational> exponent = reduced(b).constant();
        constexpr std::int64_t max_exponent = 8;
        if (!exponent || exponent->den != 1 || exponent->num < 0 || exponent->num > max_exponent) return std::nullopt;
        Form power = Form::constant({1, 1});
        for (std::int64_t i = 0; i < exponent->num; ++i) power = multiplied(power, a);
        return power;
      }
      case FunctionOp::Less:
      case FunctionOp::Equal:
      case FunctionOp::Gate: {
        const std::optional<int> sign = sign_of(op == FunctionOp::Gate ? a : a + minus_b);
        if (!sign) return std::nullopt;
        if (op == FunctionOp::Gate) return *sign == 0 ? Form() : b;
        return Form::constant({op == FunctionOp::Less ? *sign < 0 : *sign == 0, 1});
      }
      default: {  // max, min, and abs(b) = max(−b, b)
        const Form& other = op == FunctionOp::Abs ? minus_b : a;
        const std::optional<int> sign = sign_of(other + minus_b, false);  // if it is 0, both are equal
        if (!sign) return std::nullopt;
        return (*sign > 0) == (op != FunctionOp::Min) ? other : b;
      }
    }
  }

  Form multiplied(const Form& a, const Form& b) {
    spend(work_, a.products().size() * b.products().size());
    return a * b;
  }

  /// 1/p for a p that is positive in this case.
  Form quotient(const Form& p) {
    if (const auto number = p.constant()) return Form::constant(reciprocal(*number));
    const std::string name = "/" + p.text();  // before the names of other unknowns, which lone_factor() prefers
    const Form value = Form::factor(name);
    spend(work_, name.size());
    if (std::ranges::count(quotients_, name, &Quotient::name) > 0) return value;
    const auto degree = [](const auto& product) { return std::pair(product.first.size(), product.first); };
    Unknowns key = std::ranges::max_element(p.products(), {}, degree)->first;  // so that elimination ends
    key.insert(std::ranges::upper_bound(key, name), name);
    known_.push_back({value});
    quotients_.push_back({name, plus(value * p, -1), std::move(key)});
    return value;
  }

  /// floor(m + t) = m + floor(t) for an integer m, and floor(t) = 0 if 0 ≤ t < 1. Else floor(t) ≤ t < floor(t) + 1.
  Form floor_of(const Form& form) {
    Form whole;
    for (const auto& [unknowns, c] : form.products()) {
      if (std::ranges::all_of(unknowns, [&](const std::string& name) { return integers_.contains(name); }))
        whole = whole + times(product_of(unknowns), algebra::floor_quotient(c.num, c.den));
    }
    const Form rest = form + times(whole, -1);
    if (rest.constant() || (is_contradictory_with({times(rest, -1)}) && is_contradictory_with({plus(rest, -1), false})))
      return whole;
    const std::string name = "floor" + rest.text();
    const Form value = Form::factor(name);
    if (std::ranges::count(floors_, name) == 0) {
      integers_.insert(name);
      floors_.push_back(name);
      known_.push_back({rest + times(value, -1), false});
      known_.push_back({plus(value, 1) + times(rest, -1)});
    }
    return whole + value;
  }

  /// The integer p as a polynomial in unknowns for its atoms. Sizes are at least 1.
  Form integer(const Poly& p) {
    for (const Poly::Term& term : p.terms()) {
      for (const Atom atom : term.monomial) {
        if (atoms_.contains(atom)) continue;
        const Form unknown = opaque({{1, 1}, {}, {}, {{Factor::Kind::Integer, 0, {Poly(atom)}, {}, {}, {}}}});
        atoms_.emplace(atom, unknown);
        integers_.insert(unknown.products().begin()->first[0]);
        if (statement_.atoms().kind(atom) == Atoms::Kind::Size) always_.push_back({plus(unknown, -1), false});
      }
    }
    return *polynomial(p);
  }
  /// Returns nothing if an atom has no unknown.
  std::optional<Form> polynomial(const Poly& p) const {
    Form sum;
    for (const Poly::Term& term : p.terms()) {
      Form product = Form::constant({term.coefficient, 1});
      for (const Atom atom : term.monomial) {
        const auto found = atoms_.find(atom);
        if (found == atoms_.end()) return std::nullopt;
        product = product * found->second;
      }
      sum = sum + product;
    }
    return sum;
  }

  /// The form less multiples of those that are 0 in this case. Each of these eliminates its lone factor from all
  /// products; without one, only its last product. Quotients may bring these back, and the other way round.
  Form reduced(Form form) const {
    for (int pass = quotients_.empty() ? 2 : 0; pass < 3; ++pass) {
      for (const Form& zero : zero_) {
        const auto lone = lone_factor(zero);
        eliminate(form, zero, lone.value_or(zero.products().rbegin()->first), lone.has_value(), work_);
      }
      for (const Quotient& quotient : quotients_) eliminate(form, quotient.zero, quotient.key, true, work_);
    }
    return form;
  }

  std::optional<int> sign_of(const Form& given, bool zero_matters = true) {
    const Form form = reduced(given);
    if (const auto number = form.constant()) return (number->num > 0) - (number->num < 0);
    for (const std::vector<Inequality>* list : {&known_, &always_}) {
      for (const auto& [other, strict] : *list) {
        const auto multiple = strict || !zero_matters ? ratio(form, reduced(other)) : std::nullopt;
        if (multiple) return multiple->num > 0 ? 1 : -1;
      }
    }
    undecided_ = {form, zero_matters};
    return std::nullopt;
  }

  /// An unknown for a product that is not evaluated, the same one for equal products. Records its sign if it is known.
  Form opaque(Product product) {
    std::ranges::sort(product.guards);
    for (Factor& factor : product.factors) factor = with_sorted_guards(std::move(factor));
    const auto found = std::ranges::find(opaque_, product);
    const Form form = Form::factor(std::to_string(found - opaque_.begin()));
    if (found != opaque_.end()) return form;
    opaque_.push_back(std::move(product));
    const Product& added = opaque_.back();
    if (added.guards.empty() && added.bound.empty() && added.factors.size() == 1) {
      const algebra::Signs signs = signs_of(added.factors[0], statement_);
      if (signs.positive != signs.negative) always_.push_back({times(form, signs.positive ? 1 : -1), !signs.zero});
    }
    return form;
  }

  /// The inequalities are those of this case, the given guards on integers, and signs of products and squares.
  bool is_contradictory() const {
    std::vector<Inequality> all = known_;
    all.insert(all.end(), always_.begin(), always_.end());
    for (const Guard& guard : given_) {
      const auto form = polynomial(guard.poly);
      if (form) all.push_back({*form, false});
      if (form && guard.equality) all.push_back({times(*form, -1), false});
    }
    for (Inequality& each : all) each.form = reduced(std::move(each.form));
    add_signs_of_products(all);
    add_quotients(all);
    return are_contradictory(std::move(all), work_);
  }
  bool is_contradictory_with(Inequality inequality) {
    known_.push_back(std::move(inequality));
    const bool result = is_contradictory();
    known_.pop_back();
    return result;
  }

  void add_signs_of_products(std::vector<Inequality>& known) const {
    std::map<std::string, std::pair<int, bool>> signs;  // and whether 0 is excluded
    std::set<Unknowns> all;
    for (const auto& [form, strict] : known) {
      for (const auto& [unknowns, coefficient] : form.products()) {
        if (unknowns.size() > 1) all.insert(unknowns);
        const bool is_alone = unknowns.size() == 1 && form.products().size() == 1;
        if (is_alone && !signs[unknowns[0]].second) signs[unknowns[0]] = {coefficient.num > 0 ? 1 : -1, strict};
      }
    }
    for (const Unknowns& unknowns : all) {
      Inequality product{product_of(unknowns)};
      for (std::size_t n = 0; n < unknowns.size(); ++n) {
        const bool twice = n + 1 < unknowns.size() && unknowns[n] == unknowns[n + 1];
        const auto [sign, strict] = signs[unknowns[n]];
        product = {twice ? product.form : times(product.form, sign), product.strict && strict};
        n += twice ? 1 : 0;
      }
      if (!product.form.products().empty()) known.push_back(std::move(product));
    }
  }

  /// Adds the linear inequalities times 1/p for each p, which is positive.
  void add_quotients(std::vector<Inequality>& known) const {
    const auto is_linear = [](const auto& product) { return product.first.size() <= 1; };
    for (std::size_t i = known.size(); i-- > 0;) {
      const auto [form, strict] = known[i];
      if (form.constant() || !std::ranges::all_of(form.products(), is_linear)) continue;
      for (const Quotient& quotient : quotients_)
        known.push_back({reduced(form * Form::factor(quotient.name)), strict});
    }
  }

  const Statement& statement_;
  const Guards& given_;
  std::size_t& work_;
  const bool has_quotients_;  // or floor: 1/t is evaluated, and integers are polynomials
  std::vector<Product> opaque_;
  std::map<Atom, Form> atoms_;
  std::set<std::string> integers_;  // unknowns that are integers
  std::vector<Inequality> always_;  // in all cases
  std::vector<Inequality> known_;   // this and all below in the current case
  std::vector<Form> zero_;          // are 0
  std::vector<Quotient> quotients_;
  Unknowns floors_;                      // whose bounds are known
  std::optional<Inequality> undecided_;  // or the negated form is positive, or, if this one is strict, it is 0
  bool is_undefined_ = false;            // a divisor is 0
};

}  // namespace

bool vanishes_in_every_case(const Sum& sum, const Guards& given, const Statement& statement, std::size_t& work) {
  work = 0;
  return CaseAnalysis(statement, sum, given, work).vanishes(sum);
}

}  // namespace rulemill::check
