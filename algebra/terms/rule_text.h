// Text form of rules, read and written:
//
//   rule matmul_distributes(x[m, k], a[k, n], b[k, n])
//     add(matmul(x, a), matmul(x, b)) => matmul(x, add(a, b))
//     when m = 2*n                                          # optional condition on sizes
//
//   rule merge(x:4, v:4, w:4)                               # ranks alone: types are inferred
//     let s = split(conv2d(x, concat(v, w; axis=0)); axis=1, at=?)
//     conv2d(x, v), conv2d(x, w) => s.first, s.second
//
//   rule any_rank(x[d..., m, k], a[k, n], b[k, n])        # d... stands for any number of dimensions (any_rank.h)
//
//   rule scaled(x[m, n], c[] of positives)                # c stands for positive(c): for any positive number
//     relu(scale(x, c)) => scale(relu(x), c)
//
// An integer parameter whose value is a size, as in stride=s, is open: the rule holds for any number of at least 1.
// A size parameter that is left out or '?' is a fresh size, to be inferred. `properties` use `=` for `=>`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// Reads rules. Throws InputError with origin:line:column: unknown operator, wrong arity, unbound variable, bad
/// parameter, a graph with a cycle.
std::vector<Rule> parse_rules(std::string_view text, const std::string& origin, Library& library, TermBank& bank,
                              Symbols& symbols);

/// A rule and where its text begins: "file:line:column".
struct PlacedRule {
  std::string place;
  Rule rule;
};
/// Reads rules that people or other programs wrote. Beyond what parse_rules refuses: two rules of one name, and with
/// `=>` a variable on the right that the left does not bind. A property whose right side alone binds all its variables
/// is turned round; variables that no side uses are left out.
std::vector<PlacedRule> parse_foreign_rules(std::string_view text, const std::string& origin, Library& library,
                                            TermBank& bank, Symbols& symbols);

/// conv2d(x, concat(v, w; axis=0)); parameters at their default are left out.
std::string to_string(TermId term, const TermBank& bank, const Symbols& symbols);
/// The rule in the form that parse_rules reads.
std::string to_string(const Rule& rule, const TermBank& bank, const Symbols& symbols);
std::string to_string(const SizeCondition& condition, const Symbols& symbols);

/// Laws that its operators rest on and that are not proved, as Library::assumed_laws says.
std::vector<std::string> assumed_laws(const Rule& rule, const TermBank& bank);

}  // namespace rulemill::algebra
