#include "algebra/exchange/python_expression.h"

#include <algorithm>
#include <set>

#include "runtime/text/words.h"

namespace rulemill::algebra {
namespace {

/// Python's keywords, and the attributes and functions that rules of the module use.
const std::set<std::string>& reserved_names() {
  static const std::set<std::string> names = runtime::word_set(
      "False None True and as assert async await break class continue def del elif else except finally for from "
      "global if import in is lambda nonlocal not or pass raise return try while with yield self op check cleanup "
      "conditions div known larger match name nodes number numbers outputs pattern rewrite rule setup since sizes "
      "smaller target types until values variables Form Value ANY has_cycle has_types integer_input integers_input "
      "floats_input real_input shape_input remove_nodes as_function context");
  return names;
}

std::string python_atom(Atom atom, const Symbols& symbols) {
  const auto call = [&](const char* function) {
    return std::string(function) + "(" + python_expression(symbols.left(atom), symbols) + ", " +
           python_expression(symbols.right(atom), symbols) + ")";
  };
  switch (symbols.kind(atom)) {
    case Symbols::Kind::FloorDiv:
      return call("div");
    case Symbols::Kind::Min:
      return call("smaller");
    case Symbols::Kind::Max:
      return call("larger");
    default:
      return reserved_names().contains(symbols.name(atom)) ? symbols.name(atom) + "_" : symbols.name(atom);
  }
}

}  // namespace

std::string python_expression(const Poly& poly, const Symbols& symbols) {
  std::string text;
  for (const bool negative : {false, true}) {
    for (const Poly::Term& term : poly.terms()) {
      if ((term.coefficient < 0) != negative) continue;
      const std::int64_t magnitude = negative ? -term.coefficient : term.coefficient;
      std::string product = magnitude != 1 || term.monomial.empty() ? std::to_string(magnitude) : "";
      for (const Atom atom : term.monomial) product += (product.empty() ? "" : " * ") + python_atom(atom, symbols);
      text += negative ? (text.empty() ? "-" : " - ") : (text.empty() ? "" : " + ");
      text += product;
    }
  }
  return text.empty() ? "0" : text;
}

}  // namespace rulemill::algebra
