// The core form of a rule, made from its terms and the definitions of its operators.
#pragma once

#include <map>
#include <string>

#include "algebra/terms/term.h"
#include "check/kernel/statement.h"

namespace rulemill::check {

/// Polynomials for sizes, by name.
using PolysByName = std::map<std::string, Poly>;

/// Translates a polynomial in a rule's symbols; sizes become their `values`, if given. Throws InputError for a size
/// without a value, and for an index.
Poly to_core(const Poly& poly, const algebra::Symbols& symbols, Atoms& atoms, const PolysByName* values = nullptr);

/// A rule in core form, and the core terms of `others`, terms of the bank over its variables. Sizes become their
/// `values`, if given. The names of sizes are interned in their order, so that texts do not depend on earlier uses of
/// the symbols.
struct CoreRuleTerms {
  CoreRule rule;
  std::vector<CoreTerm> others;
};
CoreRuleTerms to_core(const algebra::Rule& rule, std::span<const algebra::TermId> others, const algebra::TermBank& bank,
                      const algebra::Symbols& symbols, Atoms& atoms, const PolysByName* values = nullptr);
inline CoreRule to_core(const algebra::Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols,
                        Atoms& atoms, const PolysByName* values = nullptr) {
  return to_core(rule, {}, bank, symbols, atoms, values).rule;
}

}  // namespace rulemill::check
