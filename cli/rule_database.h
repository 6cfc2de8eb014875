// A rule database with what its rules live in, and how its rules are told about in words and in JSON; rule files of
// other programs.
#pragma once

#include <string>
#include <vector>

#include "algebra/exchange/foreign_rules.h"
#include "algebra/rules/rule_set.h"
#include "cli/command.h"

namespace rulemill::cli {

struct Database {
  algebra::Library library;
  algebra::TermBank bank;
  algebra::Symbols symbols;
  algebra::RuleSet rules;

  /// The one that --rules names.
  explicit Database(const Options& options);
};

const char* tier_name(algebra::Tier tier);
const char* proof_name(algebra::Certificate::Kind kind);
runtime::Json rule_json(const algebra::RuleRecord& record, const algebra::TermBank& bank,
                        const algebra::Symbols& symbols);
/// The rule's text without its first line, in one line.
std::string body_line(const std::string& text);

/// --table, or data/imports/taso.toml.
void add_table_option(CLI::App& app, std::string& table);
algebra::TasoTable load_taso_table(const std::string& given, const algebra::Library& library);

/// The rules of a file in any form: a rule database (*.rmdb, or a folder with one), TASO's protobuf, or text.
/// Throws InputError if it is none of them.
std::vector<algebra::ForeignRule> read_rule_file(const std::filesystem::path& file, const std::string& table,
                                                 algebra::Library& library, algebra::TermBank& bank,
                                                 algebra::Symbols& symbols);

}  // namespace rulemill::cli
