// Principal types of a rule, by unification of size polynomials.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "algebra/terms/term.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {

/// What typing requires of sizes that the text leaves free (narrowing.h); `shapes` and `condition` of the typed rule
/// imply it. Sizes have their names in the text; x[1] is dimension 1 of a variable without a shape; others have the
/// names of the typed rule's shapes.
struct Narrowing {
  std::vector<SizeCondition> conditions;
  std::vector<SizeCondition> known;  // inequalities that hold where both sides have types
};

/// A rule whose every term has a type over the rule's sizes.
struct TypedRule {
  Rule rule;  // shapes set, sizes of nodes symbolic, condition: the equations that unification could not solve
  std::unordered_map<TermId, Shape> types;  // every term of either side, every output of every node
  std::vector<SizeCondition> facts;  // guaranteed by typing, beyond "sizes are at least 1" (at < d, k ≤ h, …)
  Narrowing narrowing;               // empty with an example
};

struct TypeError {
  std::string what;  // the term and the dimensions that do not agree
};

/// Infers the most general types. Keeps declared shapes (rule.shapes) and adds the equations of rule.condition, where
/// `a mod n = k` with numbers n and k becomes a = n·t + k − n. A condition "b divides a" becomes a = q·b with a fresh
/// q, one per (a, b). With an example (concrete shapes of the variables), numbers among the nodes' sizes are examples,
/// too, and become fresh sizes. A split position becomes the dimension that a concat below it introduced, if one has
/// the same number. Without an example, numbers are literal.
std::variant<TypedRule, TypeError> infer_types(const Rule& rule, TermBank& bank, Symbols& symbols,
                                               const std::vector<std::vector<std::int64_t>>* example = nullptr);

/// The rule with its types; nullopt if it is ill-typed.
inline std::optional<TypedRule> try_typing(const Rule& rule, TermBank& bank, Symbols& symbols,
                                           const std::vector<std::vector<std::int64_t>>* example = nullptr) {
  auto types = infer_types(rule, bank, symbols, example);
  auto* typed = std::get_if<TypedRule>(&types);
  return typed == nullptr ? std::nullopt : std::optional(std::move(*typed));
}

/// The rule with its types. Throws InputError with `place` if it is ill-typed.
inline TypedRule require_types(const Rule& rule, TermBank& bank, Symbols& symbols, const std::string& place) {
  auto types = infer_types(rule, bank, symbols);
  if (const auto* error = std::get_if<TypeError>(&types))
    throw runtime::InputError(place, "is ill-typed: " + error->what);
  return std::move(std::get<TypedRule>(types));
}

/// The sizes that a rule's text names.
std::set<Atom> sizes_in_text(const Rule& rule, const TermBank& bank, const Symbols& symbols);

/// The values of the size slots of a node's instance.
std::vector<Poly> size_slots(NodeId id, const TypedRule& rule, const TermBank& bank);

}  // namespace rulemill::algebra
