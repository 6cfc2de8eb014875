// A loaded rule database, its rules as text and JSON, their check, and the rule files of other programs.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "algebra/terms/rule_text.h"
#include "cli/command.h"

namespace rulemill::cli {

/// The definitions of --definitions, and terms of their operators.
struct Terms {
  algebra::Library library;
  algebra::TermBank bank;
  algebra::Symbols symbols;

  explicit Terms(const Options& options);
};

struct Database : Terms {
  algebra::RuleSet rules;

  /// Loads the database of --rules.
  explicit Database(const Options& options);
};

const char* tier_name(algebra::Tier tier);
const char* proof_name(algebra::Certificate::Kind kind);
runtime::Json rule_json(const algebra::RuleRecord& record, const algebra::TermBank& bank,
                        const algebra::Symbols& symbols);
/// Returns the rule's text without its first line, as one line.
std::string body_line(const std::string& text);

/// --taso-table
void add_taso_table_option(CLI::App& app, Options& options, std::string& table);

/// Reads the rules of a file: a rule database (*.rmdb, or a folder with rules.rmdb), TASO's protobuf, a text of egg or
/// egglog (*.egg), MLIR patterns in PDL (*.pdl, *.mlir), or text.
/// Throws InputError for other files.
std::vector<algebra::ImportedRule> read_rule_file(const std::filesystem::path& file, const std::string& table,
                                                  Terms& terms);

/// Checks the certificates of these rules of a loaded database, and of the rules that their derivations use. A label
/// such as "core" proves nothing: the statement of a rule may have been altered. Throws InputError that names the first
/// invalid rule.
void require_valid_certificates(const std::filesystem::path& database, const algebra::RuleSet& rules,
                                const std::set<std::string>& ids, algebra::Library& library, algebra::TermBank& bank,
                                algebra::Symbols& symbols);

}  // namespace rulemill::cli
