// The rules that a statement of another system can mean. Its variables may have no ranks there; then each assignment of
// ranks that fits is a reading, and readings that are specializations of one general form are replaced by it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "algebra/terms/rule_text.h"
#include "algebra/terms/term.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {

/// Returns the message of an error without its place.
std::string without_place(const runtime::Error& error);

/// Appends the rules that `read` returns, called NAME, or NAME_1, NAME_2, … if there are several. If it throws
/// InputError, appends one without a rule, with the error as its problem.
void append_readings(const std::string& name, const std::string& place, const std::function<std::vector<Rule>()>& read,
                     std::vector<ImportedRule>& rules);

/// A statement: its readings in the text form of rules, lowest ranks first. If it states shapes, they are not replaced
/// by general forms, and split positions are not inferred; but sizes of variables without a stated shape are.
struct Statement {
  std::string place;
  std::vector<std::string> readings;
  bool states_shapes = false;
  std::vector<std::string> inferred_sizes = {};
};

/// Returns the rule of a text without the conditions that its types imply. Throws InputError with `place`.
Rule parse_reading(const std::string& text, const std::string& place, Library& library, TermBank& bank,
                   Symbols& symbols);

/// Returns at most 8 rules. If no reading is well-typed, the first one, so that the prover states the type error.
/// Throws InputError with the statement's place for a reading that cannot be parsed.
std::vector<Rule> rules_of(const Statement& statement, Library& library, TermBank& bank, Symbols& symbols);

/// In imported rules, a split without a position is at the end of the first argument of the nearest concatenation
/// below: for each size parameter that cuts an axis and that no other size determines, adds its equality with the
/// nearest boundary on that axis, if any, to the condition. Returns the rule unchanged if it does not type, or only
/// under a narrowing.
Rule infer_split_positions(const Rule& rule, TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
