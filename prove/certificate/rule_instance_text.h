// Rule instances of a derivation as text: "rule: x := term, …; m := size, …", a term for each of the rule's variables
// and a value for each of its sizes, over the variables and sizes of the goal.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algebra/terms/typing.h"

namespace rulemill::prove {

struct RuleInstance {
  std::string rule;
  std::vector<std::pair<std::string, algebra::TermId>> terms;  // by variable
  std::map<std::string, algebra::Poly> sizes;                  // by name
};

/// Returns the line of a rule instance, without a newline.
std::string to_string(const RuleInstance& rule_instance, const algebra::TermBank& bank,
                      const algebra::Symbols& symbols);

/// Returns the name of the rule in the line of a rule instance. Throws InputError if there is none.
std::string rule_name_in(std::string_view line);
/// The same of each line of a text.
std::vector<std::string> rule_names_in(std::string_view lines);

/// Returns the lines of a text without newlines; empty lines are dropped.
std::vector<std::string> lines_of(std::string_view text);

/// Returns the new name of a rule.
using NewRuleName = std::function<std::string(const std::string& name)>;
/// Returns the text with the rule of each line renamed. Every line of the result ends with a newline.
std::string with_rules_renamed(std::string_view lines, const NewRuleName& new_name);
/// The same with new names by old ones; other rules keep their names.
std::string with_rules_renamed(std::string_view lines, const std::map<std::string, std::string>& names);

/// A reader of rule instances over the variables of one goal.
class RuleInstanceReader {
 public:
  /// `goal` is typed, and refined as for a derivation. The other arguments must outlive the reader.
  RuleInstanceReader(const algebra::Rule& goal, algebra::Library& library, algebra::TermBank& bank,
                     algebra::Symbols& symbols);

  /// Throws InputError.
  RuleInstance read(const std::string& line);

 private:
  std::map<std::string, algebra::Shape> variables_;
  algebra::Library& library_;
  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
};

/// Types a rule in text form. Throws InputError with the origin "statement" if the text is not one typed rule.
algebra::TypedRule read_statement(const std::string& text, algebra::Library& library, algebra::TermBank& bank,
                                  algebra::Symbols& symbols);

}  // namespace rulemill::prove
