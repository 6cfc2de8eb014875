// Writes normal forms as text. This is not trusted: texts are compared only to find a mistake early.
#include <algorithm>

#include "check/kernel/statement.h"

namespace rulemill::check {

void intern_sizes(const algebra::Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols,
                  Atoms& atoms) {
  std::set<std::string> names;
  const auto add_names = [&](const Poly& poly) {
    for (const Atom atom : symbols.atoms(poly)) names.insert(symbols.name(atom));
  };
  for (const auto& shape : rule.shapes) std::ranges::for_each(shape, add_names);
  for (const algebra::SizeCondition& c : rule.condition) add_names(c.left), add_names(c.right);
  for (const auto* side : {&rule.source, &rule.target}) {
    for (const algebra::NodeId node : bank.nodes(*side)) std::ranges::for_each(bank.node(node).sizes, add_names);
  }
  for (const std::string& name : names) atoms.size(name);
}

std::string Statement::text(const Factor& factor) const {
  std::string list;
  for (const Poly& poly : factor.index) list += (list.empty() ? "" : ", ") + atoms_.text(poly);
  if (factor.kind == Factor::Kind::Read) return bank_.term(rule_.variables[factor.symbol]).name + "[" + list + "]";
  if (factor.kind == Factor::Kind::Inverse) return "1/(" + list + ")";
  if (factor.kind == Factor::Kind::Integer) return "(" + list + ")";
  for (const Sum& argument : factor.arguments) list += (list.empty() ? "" : ", ") + text(argument);
  if (factor.kind == Factor::Kind::Apply) return function(factor.symbol).name + "(" + list + ")";
  std::string range;
  for (const Atom atom : factor.bound) range += " " + atoms_.text(Poly(atom));
  for (const Guard& guard : factor.guards) range += " [" + atoms_.text(guard) + "]";
  return "max(" + range.substr(range.empty() ? 0 : 1) + ": " + list + ")";
}

std::string Statement::text(const Product& product) const {
  std::string result = algebra::to_string(product.coefficient);
  for (const Atom atom : product.bound) result += (atom == product.bound[0] ? " sum " : " ") + atoms_.text(Poly(atom));
  for (const Guard& guard : product.guards) result += " [" + atoms_.text(guard) + "]";
  for (const Factor& factor : product.factors) result += " " + text(factor);
  return result;
}

std::string Statement::text(const Sum& sum) const {
  std::string result;
  for (const Product& product : sum) result += (result.empty() ? "" : " + ") + text(product);
  return sum.empty() ? "0" : result;
}

}  // namespace rulemill::check
