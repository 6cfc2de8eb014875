// The script of the step Order: a sum, of functions whose formulas are known, has the value 0 in every case.
#include <algorithm>
#include <map>

#include "algebra/operators/function_interpreter.h"
#include "algebra/properties/sum_of_products.h"
#include "check/kernel/kernel.h"

namespace rulemill::check {

using algebra::Function;
using Form = algebra::SumOfProducts;
using FunctionOp = Function::Op;

namespace {

Form times(const Form& form, std::int64_t number) { return form * Form::constant({number, 1}); }

/// Factors whose formulas are not evaluated are real unknowns, integers are polynomials in integer unknowns. A case is
/// a set of signs of polynomials in them.
class CaseScripts {
 public:
  using Decide = std::function<char(const std::function<std::string()>& contradiction)>;
  using OnScript = std::function<void(std::string)>;

  CaseScripts(const Guards& given, const Statement& statement, const Decide& decide, const OnScript& on_script)
      : given_(given), statement_(statement), decide_(decide), on_script_(on_script) {}

  /// Divides the case, in which the formulas of `conditions` hold, if its value is open.
  void divide(const Sum& sum, const std::string& conditions) {
    undecided_.reset();
    const std::optional<Form> value = evaluate(sum);
    if (value && value->products().empty()) return;
    if (value) return on_script_(script(conditions + " (not (= 0.0 " + text(*value) + "))"));
    const Form open = undecided_.value();
    if (decide_([&] { return script(conditions); }) == 'x') return on_script_(script(conditions));
    const Unknowns outside = unknowns_;
    for (const int sign : {1, -1, 0}) {
      unknowns_ = outside;
      signs_[open.text()] = sign;
      divide(sum, conditions + " (" + (sign > 0 ? ">" : sign < 0 ? "<" : "=") + " " + text(open) + " 0.0)");
    }
    signs_.erase(open.text());
  }

 private:
  /// Of the claim that the case, or the formulas in it, are contradictory.
  std::string script(const std::string& conditions) const {
    std::string text = "; products cancel in every case\n(set-logic ALL)\n" + unknowns_.declarations;
    for (const Guard& guard : given_) {
      if (const auto form = known_polynomial(guard.poly))
        text += "(assert (" + std::string(guard.equality ? "=" : ">=") + " " + this->text(*form) + " 0.0))\n";
    }
    return text + unknowns_.facts + "(assert (and true" + conditions + "))\n(check-sat)\n";
  }

  /// Returns nothing if the sign of a polynomial is undecided, which is undecided_ then.
  std::optional<Form> evaluate(const Sum& sum) {
    Form total;
    for (const Product& product : sum) {
      Form value = Form::constant(product.coefficient);
      if (!product.guards.empty() || !product.bound.empty()) {
        Product whole = product;
        whole.coefficient = {1, 1};
        value = value * unknown({whole}, nullptr);
      } else {
        for (const Factor& factor : product.factors) {
          const std::optional<Form> part = evaluate(factor);
          if (!part) return std::nullopt;
          value = value * *part;
        }
      }
      total = total + value;
    }
    return total;
  }

  std::optional<Form> evaluate(const Factor& factor) {
    if (factor.kind == Factor::Kind::Integer) return polynomial(factor.index.at(0));
    if (factor.kind != Factor::Kind::Apply) return unknown(to_sum(factor), &factor);
    std::vector<Form> arguments;
    for (const Sum& argument : factor.arguments) {
      const std::optional<Form> value = evaluate(argument);
      if (!value) return std::nullopt;
      arguments.push_back(*value);
    }
    const auto leaf = [&](const Function::Instruction& node) -> std::optional<Form> {
      if (node.op == FunctionOp::Argument) return arguments.at(node.argument);
      return node.exact ? std::optional(Form::constant(*node.exact)) : std::nullopt;
    };
    const auto step = [&](FunctionOp op, const Form& a, const Form& b) { return apply(op, a, b); };
    is_undefined_ = false;
    const std::optional<Form> value = algebra::interpret<Form>(statement_.function(factor.symbol), leaf, step);
    if (is_undefined_) return Form();
    return value || undecided_ ? value : unknown(to_sum(factor), &factor);
  }

  /// Returns nothing also for what is not evaluated.
  std::optional<Form> apply(FunctionOp op, const Form& a, const Form& b) {
    const auto by_sign = [&](const Form& of, const auto& value) -> std::optional<Form> {
      const std::optional<int> sign = sign_of(of);
      return sign ? std::optional(value(*sign)) : std::nullopt;
    };
    const Form difference = a + times(b, -1);
    switch (op) {
      case FunctionOp::Add:
        return a + b;
      case FunctionOp::Sub:
        return difference;
      case FunctionOp::Mul:
        return a * b;
      case FunctionOp::Max:
        return by_sign(difference, [&](int sign) { return sign >= 0 ? a : b; });
      case FunctionOp::Min:
        return by_sign(difference, [&](int sign) { return sign <= 0 ? a : b; });
      case FunctionOp::Abs:
        return by_sign(b, [&](int sign) { return times(b, sign); });
      case FunctionOp::Less:
        return by_sign(difference, [](int sign) { return Form::constant({sign < 0, 1}); });
      case FunctionOp::Equal:
        return by_sign(difference, [](int sign) { return Form::constant({sign == 0, 1}); });
      case FunctionOp::Gate:
        return by_sign(a, [&](int sign) { return sign == 0 ? Form() : b; });
      case FunctionOp::Div:
        return by_sign(b, [&](int sign) {
          is_undefined_ = is_undefined_ || sign == 0;
          return sign == 0 ? Form() : quotient(a, b);
        });
      case FunctionOp::Floor:
        return floor_of(b);
      case FunctionOp::Power: {
        const std::optional<Rational> exponent = b.constant();
        constexpr std::int64_t max_exponent = 8;
        if (!exponent || exponent->den != 1 || exponent->num < 0 || exponent->num > max_exponent) return std::nullopt;
        Form power = Form::constant({1, 1});
        for (std::int64_t i = 0; i < exponent->num; ++i) power = power * a;
        return power;
      }
      default:
        return std::nullopt;
    }
  }

  static std::pair<Rational, Form> divided_by_leading(const Form& form) {
    const Rational leading = form.products().rbegin()->second;
    return {leading, form * Form::constant(algebra::reciprocal(leading))};
  }

  /// The sign in this case of a polynomial, or of a multiple of it.
  std::optional<int> sign_of(const Form& form) {
    if (const auto constant = form.constant()) return (constant->num > 0) - (constant->num < 0);
    const auto [leading, monic] = divided_by_leading(form);
    const auto found = signs_.find(monic.text());
    if (found != signs_.end()) return leading.num > 0 ? found->second : -found->second;
    undecided_ = monic;
    return std::nullopt;
  }

  /// 1/p for a p that is not 0 in this case.
  Form reciprocal(const Form& p) {
    if (const auto constant = p.constant()) return Form::constant(algebra::reciprocal(*constant));
    const auto [leading, monic] = divided_by_leading(p);
    const std::string divisor = text(monic);
    return Form::constant(algebra::reciprocal(leading)) *
           defined("1/" + monic.text(), false, [&](const std::string& name) {
             return "(=> (not (= 0.0 " + divisor + ")) (= 1.0 (* " + name + " " + divisor + ")))";
           });
  }

  /// a / p = q + r · 1/p, where no product of r is a multiple of the last one of p.
  Form quotient(Form a, const Form& p) {
    const auto degree = [](const auto& product) { return std::pair(product.first.size(), product.first); };
    const auto last = std::ranges::max_element(p.products(), {}, degree);  // in an order in which division ends
    for (Form whole;;) {
      const auto multiple = std::ranges::find_if(
          a.products(), [&](const auto& product) { return std::ranges::includes(product.first, last->first); });
      if (multiple == a.products().end()) return whole + a * reciprocal(p);
      Form part = Form::constant(multiple->second * algebra::reciprocal(last->second));
      std::vector<std::string> rest;
      std::ranges::set_difference(multiple->first, last->first, std::back_inserter(rest));
      for (const std::string& name : rest) part = part * Form::factor(name);
      whole = whole + part;
      a = a + times(part * p, -1);
    }
  }

  /// floor(m + t) = m + floor(t) for an integer m, and floor(t) ≤ t < floor(t) + 1.
  Form floor_of(const Form& form) {
    Form whole;
    for (const auto& [unknowns, c] : form.products()) {
      if (!std::ranges::all_of(unknowns, [&](const std::string& name) { return unknowns_.integers.contains(name); }))
        continue;
      Form product = Form::constant({c.num / c.den - (c.num % c.den < 0 ? 1 : 0), 1});
      for (const std::string& name : unknowns) product = product * Form::factor(name);
      whole = whole + product;
    }
    const Form rest = form + times(whole, -1);
    if (rest.constant()) return whole;
    return whole + defined("floor" + rest.text(), true, [&](const std::string& name) {
             return "(and (<= " + name + " " + text(rest) + ") (< " + text(rest) + " (+ 1.0 " + name + ")))";
           });
  }

  /// The integer p as a polynomial in unknowns for its atoms. Sizes are at least 1.
  Form polynomial(const Poly& p) {
    for (const Poly::Term& term : p.terms()) {
      for (const Atom atom : term.monomial) {
        if (unknowns_.atoms.contains(atom)) continue;
        const bool is_size = statement_.atoms().kind(atom) == Atoms::Kind::Size;
        unknowns_.atoms.emplace(atom, defined("atom" + std::to_string(static_cast<std::uint32_t>(atom)), true,
                                              [&](const std::string& name) {
                                                return is_size ? "(>= " + name + " 1.0)" : std::string("true");
                                              }));
      }
    }
    return *known_polynomial(p);
  }
  /// Returns nothing if an atom has no unknown.
  std::optional<Form> known_polynomial(const Poly& p) const {
    Form sum;
    for (const Poly::Term& term : p.terms()) {
      Form product = Form::constant({term.coefficient, 1});
      for (const Atom atom : term.monomial) {
        const auto found = unknowns_.atoms.find(atom);
        if (found == unknowns_.atoms.end()) return std::nullopt;
        product = product * found->second;
      }
      sum = sum + product;
    }
    return sum;
  }

  /// An unknown for a product that is not evaluated, the same one for equal products; with its sign, if it is a factor.
  Form unknown(const Sum& product, const Factor* factor) {
    const Sum key = canonical(product, statement_.atoms());
    const auto known = std::ranges::find(unknowns_.opaque, key);
    if (known == unknowns_.opaque.end()) unknowns_.opaque.push_back(key);
    const auto number = static_cast<std::size_t>(std::ranges::find(unknowns_.opaque, key) - unknowns_.opaque.begin());
    return defined("product" + std::to_string(number), false, [&](const std::string& name) {
      const algebra::Signs signs = factor ? signs_of(*factor, statement_) : algebra::Signs{};
      return "(or " + std::string(signs.negative ? "(< " + name + " 0.0) " : "") +
             (signs.zero ? "(= " + name + " 0.0) " : "") + (signs.positive ? "(> " + name + " 0.0) " : "") + "false)";
    });
  }

  /// The unknown for a description, declared when it first occurs, with a fact about it.
  template <class Fact>
  Form defined(const std::string& description, bool is_integer, const Fact& fact) {
    const auto [found, is_new] = unknowns_.names.try_emplace(description, "v" + std::to_string(unknowns_.names.size()));
    const std::string name = found->second;
    if (is_new) {
      unknowns_.declarations += "(declare-const " + name + (is_integer ? " Int)\n" : " Real)\n");
      if (is_integer) unknowns_.integers.insert(name);
      unknowns_.facts += "(assert " + fact(is_integer ? "(to_real " + name + ")" : name) + ")\n";
    }
    return Form::factor(name);
  }

  std::string text(const Form& form) const {
    std::string sum = "(+ 0.0 0.0";
    for (const auto& [unknowns, c] : form.products()) {
      const std::string numerator = std::to_string(c.num < 0 ? -c.num : c.num) + ".0";
      sum += " (* (/ " + (c.num < 0 ? "(- " + numerator + ")" : numerator) + " " + std::to_string(c.den) + ".0)";
      for (const std::string& name : unknowns)
        sum += unknowns_.integers.contains(name) ? " (to_real " + name + ")" : " " + name;
      sum += ")";
    }
    return sum + ")";
  }

  const Guards& given_;
  const Statement& statement_;
  const Decide& decide_;
  const OnScript& on_script_;
  std::map<std::string, int> signs_;  // of monic polynomials in the current case
  std::optional<Form> undecided_;
  bool is_undefined_ = false;  // a divisor is 0
  struct Unknowns {            // of the current case
    std::vector<Sum> opaque;
    std::map<std::string, std::string> names;  // by what they are
    std::map<Atom, Form> atoms;
    std::set<std::string> integers;  // names of integers
    std::string declarations, facts;
  } unknowns_;
};

}  // namespace

void evaluate_in_cases(const Sum& sum, const Guards& given, const Statement& statement,
                       const CaseScripts::Decide& decide, const CaseScripts::OnScript& on_script) {
  CaseScripts(given, statement, decide, on_script).divide(sum, "");
}

}  // namespace rulemill::check
