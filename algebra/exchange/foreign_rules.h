// Rule files that other people or programs wrote: our text form, and TASO's protobuf form (taso_rules.proto).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/exchange/taso_table.h"
#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// A rule of such a file, or what is wrong with it.
struct ForeignRule {
  std::string name;
  std::string place;         // "file:line:column", or "file: rule 3"
  std::optional<Rule> rule;  // neither typed nor proved
  std::string problem;       // if there is none
};

/// Rules of a file in TASO's form. One that leaves its inputs' ranks open is read once for each way to rank them that
/// the table allows, and those get names of their own. Split positions are inferred. What is wrong with one rule is its
/// problem: an operator or a value that the table does not have, a wrong number of inputs, operators that take each
/// other's outputs, an output that does not exist, an input that the target alone uses, ranks that do not fit. Throws
/// InputError for bytes that are not in this form.
std::vector<ForeignRule> parse_taso_rules(std::string_view bytes, const std::string& origin, const TasoTable& table,
                                          Library& library, TermBank& bank, Symbols& symbols);

/// Whether bytes are protobuf and not text.
bool looks_binary(std::string_view bytes);

}  // namespace rulemill::algebra
