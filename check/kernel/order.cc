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

/// The formulas of a sum ask for the sign of a polynomial that is open in a case.
struct OpenSign {
  Form polynomial;
};
/// A divisor is 0.
struct Undefined {};

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
    Form open;
    try {
      const Form value = evaluate(sum);
      if (!value.products().empty()) on_script_(script(conditions + " (not (= 0.0 " + text(value) + "))"));
      return;
    } catch (const OpenSign& sign) {
      open = sign.polynomial;
    }
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
  std::string script(const std::string& conditions) {
    std::string text = "; products cancel in every case\n(set-logic ALL)\n" + unknowns_.declarations;
    const auto is_known = [&](const Poly::Term& term) {
      return std::ranges::all_of(term.monomial, [&](Atom atom) { return unknowns_.names.contains(meaning(atom)); });
    };
    for (const Guard& guard : given_) {
      if (std::ranges::all_of(guard.poly.terms(), is_known))
        text +=
            "(assert (" + std::string(guard.equality ? "= " : ">= ") + this->text(polynomial(guard.poly)) + " 0.0))\n";
    }
    return text + unknowns_.facts + "(assert (and true" + conditions + "))\n(check-sat)\n";
  }

  Form evaluate(const Sum& sum) {
    Form total;
    for (Product product : sum) {
      Form value = Form::constant(std::exchange(product.coefficient, {1, 1}));
      if (!product.guards.empty() || !product.bound.empty())
        value = value * unknown({product});
      else
        for (const Factor& factor : product.factors) value = value * evaluate(factor);
      total = total + value;
    }
    return total;
  }

  Form evaluate(const Factor& factor) {
    if (factor.kind == Factor::Kind::Integer) return polynomial(factor.index.at(0));
    if (factor.kind != Factor::Kind::Apply) return unknown(to_sum(factor));
    std::vector<Form> arguments;
    for (const Sum& argument : factor.arguments) arguments.push_back(evaluate(argument));
    const auto leaf = [&](const Function::Instruction& node) -> std::optional<Form> {
      if (node.op == FunctionOp::Argument) return arguments.at(node.argument);
      return node.exact ? std::optional(Form::constant(*node.exact)) : std::nullopt;
    };
    const auto step = [&](FunctionOp op, const Form& a, const Form& b) { return apply(op, a, b); };
    try {
      const auto value = algebra::interpret<Form>(statement_.function(factor.symbol), leaf, step);
      return value ? *value : unknown(to_sum(factor));
    } catch (const Undefined&) {
      return {};
    }
  }

  /// Returns nothing for what is not evaluated.
  std::optional<Form> apply(FunctionOp op, const Form& a, const Form& b) {
    const Form difference = a + times(b, -1);
    switch (op) {
      case FunctionOp::Add:
        return a + b;
      case FunctionOp::Sub:
        return difference;
      case FunctionOp::Mul:
        return a * b;
      case FunctionOp::Max:
        return sign_of(difference) >= 0 ? a : b;
      case FunctionOp::Min:
        return sign_of(difference) <= 0 ? a : b;
      case FunctionOp::Abs:
        return times(b, sign_of(b));
      case FunctionOp::Less:
        return Form::constant({sign_of(difference) < 0, 1});
      case FunctionOp::Equal:
        return Form::constant({sign_of(difference) == 0, 1});
      case FunctionOp::Gate:
        return sign_of(a) == 0 ? Form() : b;
      case FunctionOp::Div:
        if (sign_of(b) == 0) throw Undefined{};
        return quotient(a, b);
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
  int sign_of(const Form& form) const {
    if (const auto constant = form.constant()) return (constant->num > 0) - (constant->num < 0);
    const auto [leading, monic] = divided_by_leading(form);
    const auto found = signs_.find(monic.text());
    if (found == signs_.end()) throw OpenSign{monic};
    return leading.num > 0 ? found->second : -found->second;
  }

  /// 1/p for a p that is not 0 in this case.
  Form reciprocal(const Form& p) {
    if (const auto constant = p.constant()) return Form::constant(algebra::reciprocal(*constant));
    const auto [leading, monic] = divided_by_leading(p);
    const std::string divisor = text(monic);
    return Form::constant(algebra::reciprocal(leading)) *
           defined({"1/" + monic.text(), {}}, false, [&](const std::string& name) {
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
    return whole + defined({"floor" + rest.text(), {}}, true, [&](const std::string& name) {
             return "(and (<= " + name + " " + text(rest) + ") (< " + text(rest) + " (+ 1.0 " + name + ")))";
           });
  }

  /// The integer p as a polynomial in unknowns for its atoms. Sizes are at least 1.
  Form polynomial(const Poly& p) {
    Form sum;
    for (const Poly::Term& term : p.terms()) {
      Form product = Form::constant({term.coefficient, 1});
      for (const Atom atom : term.monomial) {
        const bool is_size = statement_.atoms().kind(atom) == Atoms::Kind::Size;
        product = product * defined(meaning(atom), true, [&](const std::string& name) {
                    return is_size ? "(>= " + name + " 1.0)" : std::string("true");
                  });
      }
      sum = sum + product;
    }
    return sum;
  }

  /// An unknown for a product that is not evaluated, the same one for equal products, with its signs.
  Form unknown(const Sum& product) {
    return defined({"", canonical(product, statement_.atoms())}, false, [&](const std::string& name) {
      const algebra::Signs signs = SignAnalysis{statement_}.range(product, {}).signs;
      return "(or " + std::string(signs.negative ? "(< " + name + " 0.0) " : "") +
             (signs.zero ? "(= " + name + " 0.0) " : "") + (signs.positive ? "(> " + name + " 0.0) " : "") + "false)";
    });
  }

  /// What an unknown stands for: a function of polynomials, or a sum.
  using Meaning = std::pair<std::string, Sum>;
  static Meaning meaning(Atom atom) { return {"atom" + std::to_string(static_cast<std::uint32_t>(atom)), {}}; }

  /// The unknown of this meaning, declared when it first occurs, with a fact about it.
  template <class Fact>
  Form defined(const Meaning& meaning, bool is_integer, const Fact& fact) {
    const auto [found, is_new] = unknowns_.names.try_emplace(meaning, "v" + std::to_string(unknowns_.names.size()));
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
  struct Unknowns {                   // of the current case
    std::map<Meaning, std::string> names;
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
