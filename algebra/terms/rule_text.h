// The text form of rules:
//
//   rule matmul_distributes(x[m, k], a[k, n], b[k, n])
//     add(matmul(x, a), matmul(x, b)) => matmul(x, add(a, b))
//     when m = 2*n                                          # optional condition on sizes
//
//   rule merge(x:4, v:4, w:4)                               # ranks only: types are inferred
//     let s = split(conv2d(x, concat(v, w; axis=0)); axis=1, at=?)
//     conv2d(x, v), conv2d(x, w) => s.first, s.second
//
//   rule any_rank(x[d..., m, k], a[k, n], b[k, n])          # a dimension pack (dimension_packs.h)
//
//   rule scaled(x[m, n], c[] of positive)                # c stands for positive(c): for any positive number
//     relu(scale(x, c)) => scale(relu(x), c)
//
//   rule quotient(x[m, n], y[m, n])                      # it only widens: the source is undefined where y is 0
//     mul(div(x, y), y) -> x
//
//   rule truth(p[m, n] of bool)                          # p stands for truth_of_number(p): for any truth value
//     logical_and(p, p) => p
//
// An integer parameter whose value is a size, as in stride=s, is symbolic: the rule holds for every number of at least
// 1. A size parameter that is omitted or '?' is a fresh size, to be inferred. A `property` may use `=` for `=>`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// Parses rules. Throws InputError with origin:line:column for an unknown operator, a wrong arity, an unbound variable,
/// a bad parameter, or a cycle.
std::vector<Rule> parse_rules(std::string_view text, const std::string& origin, Library& library, TermBank& bank,
                              Symbols& symbols);

/// Parses the text of one rule. Throws InputError also if there are none or several.
Rule parse_rule(std::string_view text, const std::string& origin, Library& library, TermBank& bank, Symbols& symbols);

/// A rule of an imported file (in the text form or in TASO's), or why it could not be read.
struct ImportedRule {
  std::string name;
  std::string place;         // "file:line:column", or "file: rule 3"
  std::optional<Rule> rule;  // neither typed nor proved
  std::string problem;       // if there is no rule
};
/// Parses rules written by users or other programs. Also rejects two rules of one name. Swaps the sides of a property
/// if only the right side binds all variables. Drops unused variables. An error within a rule becomes its problem, and
/// parsing goes on at the next rule. Throws InputError for text that cannot be split into tokens.
std::vector<ImportedRule> parse_imported_rules(std::string_view text, const std::string& origin, Library& library,
                                               TermBank& bank, Symbols& symbols);

/// Parses terms over these variables, after `let` lines if there are any. Returns a rule with the terms on both sides.
Rule parse_terms(std::string_view text, const std::string& origin, const std::map<std::string, Shape>& variables,
                 Library& library, TermBank& bank, Symbols& symbols);

/// Formats a term: conv2d(x, concat(v, w; axis=0)). Omits parameters at their default.
std::string to_string(TermId term, const TermBank& bank, const Symbols& symbols);
/// Formats a rule in the form that parse_rules reads.
std::string to_string(const Rule& rule, const TermBank& bank, const Symbols& symbols);
std::string to_string(const SizeCondition& condition, const Symbols& symbols);
/// m < n, p = q
std::string to_string(const std::vector<SizeCondition>& conditions, const Symbols& symbols);

/// The assumed laws that the rule's operators depend on (Library::assumed_laws).
std::vector<std::string> assumed_laws(const Rule& rule, const TermBank& bank);
/// Whether an operator of the rule applies a function that is not defined everywhere.
bool applies_partial_function(const Rule& rule, const TermBank& bank);
bool applies_partial_function(const OperatorInstance& instance, const Library& library);
/// The variables that only one side of an output has: it is equal on both sides where what stands for these is defined.
std::vector<TermId> dropped_variables(const Rule& rule, const TermBank& bank);

}  // namespace rulemill::algebra
