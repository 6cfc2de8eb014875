// The rules that a statement of another system can mean. Its variables may have no ranks there; then each assignment of
// ranks that fits is a reading, and readings that are specializations of one general form are replaced by it.
#pragma once

#include <string>
#include <vector>

#include "algebra/terms/rule_text.h"
#include "runtime/text/error.h"
#include "runtime/text/json.h"

namespace rulemill::algebra {

/// Returns the message of an error without its place.
std::string without_place(const runtime::Error& error);

/// Returns the rules of statements: [{"name", "place", "problem"}, or {"name", "place", "readings": texts of rules,
/// lowest ranks first}]. Several rules of one statement are called NAME_1, NAME_2, …; a reading that cannot be parsed
/// is its problem. Further members state how the readings become rules:
///   "states_shapes", "inferred_sizes"   general forms replace readings, at most 8 rules remain, split positions are
///                                       inferred; if shapes are stated, only sizes of variables without a shape are.
///                                       If no reading is well-typed, the first one is the rule: the prover states why
///   "sizes"                             each reading is a rule, without the conditions that its types imply; these
///                                       sizes are in the order in which the text has them
///   "infers_positions"                  the same, and split positions are inferred
std::vector<ImportedRule> read_statements(const runtime::Json& statements, Library& library, TermBank& bank,
                                          Symbols& symbols);

}  // namespace rulemill::algebra
