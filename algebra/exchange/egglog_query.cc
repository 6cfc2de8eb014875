#include "algebra/exchange/egglog_query.h"

#include <algorithm>
#include <cstdlib>

#include "algebra/exchange/exported_rules.h"

namespace rulemill::algebra {
namespace {

std::string call(const std::string& function, const std::string& a, const std::string& b) {
  return "(" + function + " " + a + " " + b + ")";
}

}  // namespace

std::string EgglogQuery::pattern(const Poly& poly) {
  if (const auto number = poly.constant()) return std::to_string(*number);
  const auto atom = poly.atom();
  if (atom && symbols_.kind(*atom) == Symbols::Kind::Size) {
    known_.insert(*atom);
    return symbols_.name(*atom);
  }
  const std::string variable = fresh();
  equations_.emplace_back(variable, poly);
  return variable;
}

void EgglogQuery::solve() {
  while (!equations_.empty()) {
    const std::size_t before = equations_.size();
    std::erase_if(equations_, [&](const auto& equation) { return solve(equation.first, equation.second); });
    if (equations_.size() == before) throw NotExpressible{"its sizes do not follow from the shapes one by one"};
  }
}

/// Determines the last unknown size of `variable = poly`, if it has a coefficient of known sizes, and compares.
bool EgglogQuery::solve(const std::string& variable, const Poly& poly) {
  std::vector<Atom> unknown;
  for (const Atom atom : symbols_.atoms(poly)) {
    if (!known_.contains(atom)) unknown.push_back(atom);
  }
  if (unknown.size() > 1) return false;
  if (unknown.size() == 1) {
    const std::vector<Poly> coefficients = poly.coefficients_in(unknown[0]);
    if (coefficients.size() != 2 || symbols_.contains(coefficients[0], unknown[0]) ||
        symbols_.contains(coefficients[1], unknown[0]))
      return false;
    const std::string rest = coefficients[0].is_zero() ? variable : call("-", variable, expression(coefficients[0]));
    const std::string size = symbols_.name(unknown[0]);
    add(call("=", size, call("/", rest, expression(coefficients[1]))));
    add(call(">", size, "0"));
    known_.insert(unknown[0]);
  }
  add(call("=", variable, expression(poly)));
  return true;
}

std::string EgglogQuery::atom_expression(Atom atom) {
  const Symbols::Kind kind = symbols_.kind(atom);
  if (kind == Symbols::Kind::Size || kind == Symbols::Kind::Index) {
    if (!known_.contains(atom)) throw NotExpressible{"its sizes do not follow from the shapes one by one"};
    return symbols_.name(atom);
  }
  const std::string left = expression(symbols_.left(atom)), right = expression(symbols_.right(atom));
  if (kind != Symbols::Kind::FloorDiv) return call(kind == Symbols::Kind::Min ? "min" : "max", left, right);
  add(call(">=", left, "0"));
  add(call(">", right, "0"));
  const std::string quotient = fresh();
  add(call("=", quotient, call("/", left, right)));
  return quotient;
}

std::string EgglogQuery::expression(const Poly& poly) {
  std::string sum;
  for (const bool negative : {false, true}) {
    for (const Poly::Term& term : poly.terms()) {
      if ((term.coefficient < 0) != negative) continue;
      std::string product;
      for (const Atom atom : term.monomial) {
        const std::string factor = atom_expression(atom);
        product = product.empty() ? factor : call("*", product, factor);
      }
      const std::int64_t magnitude = std::abs(term.coefficient);
      if (product.empty()) {
        product = std::to_string(magnitude);
      } else if (magnitude != 1) {
        product = call("*", std::to_string(magnitude), product);
      }
      sum = negative ? call("-", sum.empty() ? "0" : sum, product) : sum.empty() ? product : call("+", sum, product);
    }
  }
  return sum.empty() ? "0" : sum;
}

}  // namespace rulemill::algebra
