// Queries as SMT-LIB text, for certificates: readable names, one assertion a line.
#include <numeric>
#include <set>

#include "prove/solver/query.h"

namespace rulemill::prove {

namespace {

using algebra::Monomial;

class SmtlibWriter {
 public:
  SmtlibWriter(const Query& query, const Symbols& symbols) : query_(query), symbols_(symbols) {}

  std::vector<std::string> assertions() {
    std::vector<std::string> all;
    for (const Guard& guard : query_.asserted) all.push_back("(assert " + text(guard) + ")");
    for (const Lemma& lemma : query_.lemmas) {
      const std::string conclusion = text(lemma.conclusion);
      all.push_back(lemma.premises.empty() ? "(assert " + conclusion + ")"
                                           : "(assert (=> " + conjunction(lemma.premises) + " " + conclusion + "))");
    }
    if (!query_.indicators.empty()) all.push_back("(assert (not (= 0 " + indicators() + ")))");
    return all;
  }

 private:
  std::string name(const Monomial& monomial) const {
    std::string joined;
    for (const Atom atom : monomial) joined += (joined.empty() ? "" : "*") + symbols_.to_string(Poly(atom));
    return "|" + joined + "|";
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
};

}  // namespace

std::vector<std::string> smtlib_assertions(const Query& query, const Symbols& symbols) {
  return SmtlibWriter(query, symbols).assertions();
}

std::string smtlib_declarations(const std::vector<std::string>& assertions) {
  std::set<std::string> names;
  for (const std::string& assertion : assertions) {
    for (std::size_t begin = assertion.find('|'); begin != std::string::npos;) {
      const std::size_t end = assertion.find('|', begin + 1);
      if (end == std::string::npos) break;
      names.insert(assertion.substr(begin, end - begin + 1));
      begin = assertion.find('|', end + 1);
    }
  }
  std::string text;
  for (const std::string& name : names) text += "(declare-const " + name + " Int)\n";
  return text;
}

std::string to_smtlib(const Query& query, const Symbols& symbols) {
  const std::vector<std::string> assertions = smtlib_assertions(query, symbols);
  std::string text = "; " + query.name + "\n(set-logic QF_LIA)\n" + smtlib_declarations(assertions);
  for (const std::string& assertion : assertions) text += assertion + "\n";
  return text + "(check-sat)\n";
}

}  // namespace rulemill::prove
