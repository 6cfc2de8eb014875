// Principal types of a rule by unification of size polynomials, and the match of a rule's types against given ones.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// A rule whose every term has a type over the rule's sizes.
struct TypedRule {
  Rule rule;  // shapes set; sizes of nodes symbolic; condition: what unification left over
  std::unordered_map<TermId, Shape> types;  // every term of either side, every output of every node
  std::vector<SizeCondition> facts;  // what typing guarantees beyond "sizes are at least 1" (at < d, k ≤ h, …)
  std::vector<std::string> pinned;   // sizes that unification fixed to a number, in words
  /// What the target's types demand of the source's own most general types: equations over the source's sizes. `shapes`
  /// and `condition` say the same; a matcher of either need not look here.
  std::vector<SizeCondition> restrictions;
};

struct TypeError {
  std::string what;  // the term and the dimensions that do not agree
};

/// Infers the most general types. Sizes of nodes that are numbers in an untyped candidate become fresh sizes; a split
/// position is traced to the dimension that a concat below it introduced, where there is one with the same number.
/// Declared shapes (rule.shapes) are kept, and equations of rule.condition are part of the typing; `a mod n = k` with
/// numbers n and k becomes a = n·t + k − n. Conditions "b divides a" become a = q·b with a fresh q, one per (a, b).
/// With an example, numbers among the nodes' sizes are examples too; without, they are meant.
std::variant<TypedRule, TypeError> infer_types(const Rule& rule, TermBank& bank, Symbols& symbols,
                                               const std::vector<std::vector<std::int64_t>>* example = nullptr);

/// Sizes of the rule for which its variables have the given types and its nodes' size parameters the given values; each
/// equation is rule-side (pattern) = actual. Equations of `condition`, over the rule's sizes alone, are solved too.
/// Nothing if they do not match, or not for sure (symbolic sizes). Sizes of the two sides may share names without being
/// the same.
std::optional<Substitution> match_sizes(std::span<const std::pair<Poly, Poly>> pattern_and_actual, Symbols& symbols,
                                        std::span<const SizeCondition> condition = {});

/// Whether a condition holds: yes, no, or not known for symbolic sizes.
enum class Truth : std::uint8_t { No, Yes, Unknown };
Truth holds(const SizeCondition& condition, const Symbols& symbols);
/// The condition with sizes replaced.
SizeCondition substitute(const SizeCondition& condition, const Substitution& sizes, Symbols& symbols);

}  // namespace rulemill::algebra
