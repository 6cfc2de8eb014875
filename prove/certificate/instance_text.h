// A use of a rule in a derivation, as text: "rule: x := term, …; m := size, …", a term for each of the rule's variables
// and a value for each of its sizes, over the variables and sizes of the goal.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algebra/terms/typing.h"

namespace rulemill::prove {

struct Instance {
  std::string rule;
  std::vector<std::pair<std::string, algebra::TermId>> terms;  // by variable
  std::map<std::string, algebra::Poly> sizes;                  // by name
};

/// The one line of it, without its end.
std::string to_string(const Instance& instance, const algebra::TermBank& bank, const algebra::Symbols& symbols);

/// The name of the rule that the line is an instance of. Throws InputError if there is none.
std::string rule_of(const std::string& line);

/// The lines of a text, without their ends; empty ones are left out.
std::vector<std::string> lines_of(std::string_view text);

/// The line with another name for the rule that it is an instance of; as it is if there is none.
std::string with_rule_renamed(const std::string& line, const std::map<std::string, std::string>& names);
/// Likewise all lines of a text, each with its end.
std::string with_rules_renamed(std::string_view lines, const std::map<std::string, std::string>& names);

/// Reads instances over the variables of one goal.
class InstanceReader {
 public:
  /// `goal`: its text as it is derived. The others outlive this.
  InstanceReader(const std::string& goal, algebra::Library& library, algebra::TermBank& bank,
                 algebra::Symbols& symbols);

  /// Throws InputError.
  Instance read(const std::string& line);

 private:
  std::string head_;  // of the goal's text: its variables
  algebra::Library& library_;
  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
};

/// A rule in text form, typed. Throws InputError, "statement", if it is none.
algebra::TypedRule read_statement(const std::string& text, algebra::Library& library, algebra::TermBank& bank,
                                  algebra::Symbols& symbols);

}  // namespace rulemill::prove
