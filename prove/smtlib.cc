// Queries as SMT-LIB text, for certificates: readable names, one assertion a line.
#include <numeric>
#include <set>

#include "prove/query.h"

namespace rulemill::prove {

namespace {

using algebra::Monomial;

class SmtlibWriter {
 public:
  SmtlibWriter(const Query& query, const Symbols& symbols) : query_(query), symbols_(symbols) {}

  std::string write() {
    std::string body;
    for (const Guard& guard : query_.asserted) body += "(assert " + text(guard) + ")\n";
    for (const Lemma& lemma : query_.lemmas) {
      const std::string conclusion = text(lemma.conclusion);
      body += "(assert " +
              (lemma.premises.empty() ? conclusion : "(=> " + conjunction(lemma.premises) + " " + conclusion + ")") +
              ")\n";
    }
    if (!query_.indicators.empty()) body += "(assert (not (= 0 " + indicators() + ")))\n";
    std::string declarations;
    for (const std::string& name : names_) declarations += "(declare-const " + name + " Int)\n";
    return "; " + query_.name + "\n(set-logic QF_LIA)\n" + declarations + body + "(check-sat)\n";
  }

 private:
  std::string name(const Monomial& monomial) {
    std::string joined;
    for (const Atom atom : monomial) joined += (joined.empty() ? "" : "*") + symbols_.to_string(Poly(atom));
    std::string quoted = "|" + joined + "|";
    names_.insert(quoted);
    return quoted;
  }

  static std::string number(std::int64_t value) {
    return value < 0 ? "(- " + std::to_string(-value) + ")" : std::to_string(value);
  }

  std::string text(const Poly& poly) {
    if (poly.is_zero()) return "0";
    std::string sum;
    for (const Poly::Term& term : poly.terms()) {
      if (!sum.empty()) sum += ' ';
      if (term.monomial.empty()) {
        sum += number(term.coefficient);
      } else if (term.coefficient == 1) {
        sum += name(term.monomial);
      } else {
        sum += "(* " + number(term.coefficient) + " " + name(term.monomial) + ")";
      }
    }
    return poly.terms().size() == 1 ? sum : "(+ " + sum + ")";
  }

  std::string text(const Guard& guard) { return (guard.equality ? "(= " : "(>= ") + text(guard.poly) + " 0)"; }

  std::string conjunction(const Guards& guards) {
    if (guards.empty()) return "true";
    if (guards.size() == 1) return text(guards[0]);
    std::string all = "(and";
    for (const Guard& guard : guards) all += " " + text(guard);
    return all + ")";
  }

  std::string indicators() {
    std::int64_t denominator = 1;
    for (const auto& [coefficient, guards] : query_.indicators) {
      denominator = std::lcm(denominator, coefficient.den);
    }
    std::string sum = "(+ 0";
    for (const auto& [coefficient, guards] : query_.indicators) {
      sum += " (ite " + conjunction(guards) + " " + number(coefficient.num * (denominator / coefficient.den)) + " 0)";
    }
    return sum + ")";
  }

  const Query& query_;
  const Symbols& symbols_;
  std::set<std::string> names_;
};

}  // namespace

std::string to_smtlib(const Query& query, const Symbols& symbols) { return SmtlibWriter(query, symbols).write(); }

}  // namespace rulemill::prove
