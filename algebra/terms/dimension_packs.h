// Rules for any rank. A size of a rule that every operator only passes through can become a dimension pack, which
// stands for any number of dimensions, including none. docs/rank_polymorphism.md has the proof.
#pragma once

#include <cstdint>
#include <optional>

#include "algebra/terms/typing.h"

namespace rulemill::algebra {

/// A rule with a size replaced, and its types, in which a further size can be replaced.
struct ExpandedRule {
  Rule rule;
  TypedRule typed;
};

/// The rule and its types if they leave its shapes as they are.
std::optional<ExpandedRule> with_types(Rule rule, TermBank& bank, Symbols& symbols);

/// Replaces the size `pack` of a typed rule by `rank` sizes named after it. nullopt if an operator does not only pass
/// it through, or has no instance of those ranks. `bank` is over `library`.
std::optional<ExpandedRule> expand_pack(const TypedRule& rule, Atom pack, std::uint32_t rank, Library& library,
                                        TermBank& bank, Symbols& symbols);
std::optional<Rule> expand_pack(const Rule& rule, Atom pack, std::uint32_t rank, Library& library, TermBank& bank,
                                Symbols& symbols);

/// Marks the packs of a rule (Rule::packs) and merges packs that are adjacent in every tensor.
Rule generalize_rank(const Rule& rule, Library& library, TermBank& bank, Symbols& symbols);

/// Adds a size before the first (or after the last) dimension of every variable. nullopt if an operator does not only
/// pass it through. The result is not implied by the rule and must be proved.
std::optional<Rule> with_outer_dimension(const Rule& rule, bool in_front, Library& library, TermBank& bank,
                                         Symbols& symbols);

}  // namespace rulemill::algebra
