// Obligations as SMT-LIB, generated from data only.
#include <algorithm>
#include <numeric>

#include "check/kernel/proof.h"
#include "runtime/text/error.h"

namespace rulemill::check {

namespace {

std::string integer(std::int64_t value) {
  const std::string digits = std::to_string(value);
  return value < 0 ? "(- " + digits.substr(1) + ")" : digits;
}

std::string connect(const char* connective, const std::vector<std::string>& parts, const char* none) {
  if (parts.empty()) return none;
  if (parts.size() == 1) return parts[0];
  std::string text = std::string("(") + connective;
  for (const std::string& part : parts) text += " " + part;
  return text + ")";
}

class Script {
 public:
  explicit Script(const Atoms& atoms) : atoms_(atoms) {}

  std::string script(const Obligation& obligation) {
    std::string body;
    const auto add = [&](const std::string& formula) { body += "(assert " + formula + ")\n"; };
    for (const Guard& guard : obligation.given) add(text(guard));
    if (obligation.goal) add("(not " + text(*obligation.goal) + ")");
    if (!obligation.indicators.empty()) add("(not (= 0 " + indicators(obligation) + "))");
    for (const auto& [a, b] : obligation.lemmas) {
      add("(=> (and " + nonnegative(a) + " " + nonnegative(b) + ") " + nonnegative(a * b) + ")");
    }
    for (const std::string& formula : definitions()) add(formula);
    std::string head = "; " + obligation.what + "\n(set-logic QF_LIA)\n";
    for (std::size_t i = 0; i < monomials_.size(); ++i) {
      head += "(declare-const v" + std::to_string(i) + " Int) ; " +
              atoms_.text(Poly::from_terms({{monomials_[i], 1}})) + "\n";
    }
    return head + body + "(check-sat)\n";
  }

 private:
  std::string name(const Monomial& monomial) {
    const auto [found, is_new] = names_.try_emplace(monomial, monomials_.size());
    if (is_new) monomials_.push_back(monomial);
    return "v" + std::to_string(found->second);
  }

  std::string text(const Poly& poly) {
    std::vector<std::string> parts;
    for (const Poly::Term& term : poly.terms()) {
      if (term.monomial.empty())
        parts.push_back(integer(term.coefficient));
      else if (term.coefficient == 1)
        parts.push_back(name(term.monomial));
      else
        parts.push_back("(* " + integer(term.coefficient) + " " + name(term.monomial) + ")");
    }
    return connect("+", parts, "0");
  }
  std::string nonnegative(const Poly& poly) { return "(>= " + text(poly) + " 0)"; }
  std::string text(const Guard& guard) {
    return guard.equality ? "(= " + text(guard.poly) + " 0)" : nonnegative(guard.poly);
  }

  std::string indicators(const Obligation& obligation) {
    std::int64_t denominator = 1;
    for (const auto& [coefficient, guards] : obligation.indicators) {
      if (__builtin_mul_overflow(denominator / std::gcd(denominator, coefficient.den), coefficient.den, &denominator)) {
        throw CheckError{"the common denominator of the coefficients exceeds 64 bits"};
      }
    }
    std::string sum = "(+ 0";
    for (const auto& [coefficient, guards] : obligation.indicators) {
      std::int64_t scaled = 0;
      if (__builtin_mul_overflow(coefficient.num, denominator / coefficient.den, &scaled))
        throw CheckError{"a coefficient exceeds 64 bits"};
      std::vector<std::string> parts;
      for (const Guard& guard : guards) parts.push_back(text(guard));
      sum += " (ite " + connect("and", parts, "true") + " " + integer(scaled) + " 0)";
    }
    return sum + ")";
  }

  /// The facts about the products and compound atoms that occur, including those that the facts introduce.
  std::vector<std::string> definitions() {
    std::vector<std::string> formulas;
    std::set<Atom> defined;
    for (std::size_t i = 0; i < monomials_.size(); ++i) {
      const Monomial monomial = monomials_[i];
      const auto is_size = [&](Atom atom) { return atoms_.kind(atom) == Atoms::Kind::Size; };
      if (std::ranges::all_of(monomial, is_size))
        formulas.push_back(nonnegative(Poly::from_terms({{monomial, 1}}) - 1));
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
      return "(=> " + nonnegative(r - 1) + " (and " + nonnegative(l - r * value) + " " +
             nonnegative(r * value + r - 1 - l) + "))";
    }
    const std::int64_t sign = atoms_.kind(atom) == Atoms::Kind::Min ? 1 : -1;
    const auto above = [&](const Poly& a, const Poly& b) { return nonnegative((a - b) * Poly(sign)); };
    return "(and " + above(l, value) + " " + above(r, value) + " (or " + above(value, l) + " " + above(value, r) + "))";
  }

  const Atoms& atoms_;
  std::map<Monomial, std::size_t> names_;
  std::vector<Monomial> monomials_;  // by number of the name
};

}  // namespace

std::string smtlib(const Obligation& obligation, const Atoms& atoms) { return Script(atoms).script(obligation); }

}  // namespace rulemill::check
