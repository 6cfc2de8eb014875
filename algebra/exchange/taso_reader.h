// Rules imported from other sources: the parser of TASO's protobuf form (taso_rules.proto).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "algebra/exchange/taso_table.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// Parses rules in TASO's form. A rule without ranks of its inputs is read once for each assignment of ranks that the
/// table allows, and each result gets its own name. Infers split positions. Errors within a rule become its problem: an
/// operator or value that the table lacks, a wrong number of inputs, a cycle, an output that does not exist, an input
/// that only the target uses, ranks that do not match. Throws InputError for bytes that are not in this form.
std::vector<ImportedRule> parse_taso_rules(std::string_view bytes, const std::string& origin, const TasoTable& table,
                                           Library& library, TermBank& bank, Symbols& symbols);

/// True if the bytes are protobuf rather than text.
bool is_binary(std::string_view bytes);

}  // namespace rulemill::algebra
