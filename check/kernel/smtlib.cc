// Obligations as SMT-LIB, rebuilt from data.
#include <algorithm>
#include <numeric>

#include "check/kernel/proof.h"
#include "runtime/error.h"

namespace rulemill::check {

namespace {

std::string number(std::int64_t value) {
  const std::string digits = std::to_string(value);
  return value < 0 ? "(- " + digits.substr(1) + ")" : digits;
}

std::string all_of(const char* connective, const std::vector<std::string>& parts, const char* none) {
  if (parts.empty()) return none;
  if (parts.size() == 1) return parts[0];
  std::string text = std::string("(") + connective;
  for (const std::string& part : parts) text += " " + part;
  return text + ")";
}

class Script {
 public:
  explicit Script(const Atoms& atoms) : atoms_(atoms) {}

  std::string whole(const Obligation& obligation) {
    std::string body;
    const auto add = [&](const std::string& formula) { body += "(assert " + formula + ")\n"; };
    for (const Guard& guard : obligation.given) add(text(guard));
    if (obligation.goal) add("(not " + text(*obligation.goal) + ")");
    if (!obligation.indicators.empty()) add("(not (= 0 " + indicators(obligation) + "))");
    for (const auto& [a, b] : obligation.times) {
      add("(=> (and " + at_least_0(a) + " " + at_least_0(b) + ") " + at_least_0(a * b) + ")");
    }
    for (const std::string& formula : definitions()) add(formula);
    std::string head = "; " + obligation.what + "\n(set-logic QF_LIA)\n";
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      head +=
          "(declare-const v" + std::to_string(i) + " Int) ; " + atoms_.text(Poly::of_terms({{pending_[i], 1}})) + "\n";
    }
    return head + body + "(check-sat)\n";
  }

 private:
  std::string name(const Monomial& monomial) {
    const auto [found, is_new] = names_.try_emplace(monomial, pending_.size());
    if (is_new) pending_.push_back(monomial);
    return "v" + std::to_string(found->second);
  }

  std::string text(const Poly& poly) {
    std::vector<std::string> parts;
    for (const Poly::Term& term : poly.terms()) {
      if (term.monomial.empty())
        parts.push_back(number(term.coefficient));
      else if (term.coefficient == 1)
        parts.push_back(name(term.monomial));
      else
        parts.push_back("(* " + number(term.coefficient) + " " + name(term.monomial) + ")");
    }
    return all_of("+", parts, "0");
  }
  std::string at_least_0(const Poly& poly) { return "(>= " + text(poly) + " 0)"; }
  std::string text(const Guard& guard) {
    return guard.equality ? "(= " + text(guard.poly) + " 0)" : at_least_0(guard.poly);
  }

  std::string indicators(const Obligation& obligation) {
    std::int64_t denominator = 1;
    for (const auto& [coefficient, guards] : obligation.indicators) {
      if (__builtin_mul_overflow(denominator / std::gcd(denominator, coefficient.den), coefficient.den, &denominator)) {
        throw Objection{"the coefficients have no common denominator within 64 bits"};
      }
    }
    std::string sum = "(+ 0";
    for (const auto& [coefficient, guards] : obligation.indicators) {
      std::int64_t scaled = 0;
      if (__builtin_mul_overflow(coefficient.num, denominator / coefficient.den, &scaled))
        throw Objection{"a coefficient is beyond 64 bits"};
      std::vector<std::string> parts;
      for (const Guard& guard : guards) parts.push_back(text(guard));
      sum += " (ite " + all_of("and", parts, "true") + " " + number(scaled) + " 0)";
    }
    return sum + ")";
  }

  /// What is true of the products and compound atoms that were met, and of those that this brings.
  std::vector<std::string> definitions() {
    std::vector<std::string> formulas;
    std::set<Atom> defined;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      const Monomial monomial = pending_[i];
      const auto is_size = [&](Atom atom) { return atoms_.kind(atom) == Atoms::Kind::Size; };
      if (std::ranges::all_of(monomial, is_size)) formulas.push_back(at_least_0(Poly::of_terms({{monomial, 1}}) - 1));
      for (const Atom atom : monomial) {
        if (is_size(atom)) name(Monomial{atom});
        if (atoms_.is_compound(atom) && defined.insert(atom).second) formulas.push_back(definition(atom));
      }
    }
    return formulas;
  }

  std::string definition(Atom atom) {
    const Poly value(atom);
    const Poly &l = atoms_.left(atom), &r = atoms_.right(atom);
    if (atoms_.kind(atom) == Atoms::Kind::Quotient) {
      return "(=> " + at_least_0(r - 1) + " (and " + at_least_0(l - r * value) + " " +
             at_least_0(r * value + r - 1 - l) + "))";
    }
    const std::int64_t sign = atoms_.kind(atom) == Atoms::Kind::Min ? 1 : -1;
    const auto above = [&](const Poly& a, const Poly& b) { return at_least_0((a - b) * Poly(sign)); };
    return "(and " + above(l, value) + " " + above(r, value) + " (or " + above(value, l) + " " + above(value, r) + "))";
  }

  const Atoms& atoms_;
  std::map<Monomial, std::size_t> names_;
  std::vector<Monomial> pending_;  // in the order of their names
};

}  // namespace

std::string smtlib(const Obligation& obligation, const Atoms& atoms) { return Script(atoms).whole(obligation); }

}  // namespace rulemill::check
