#include "cli/rules/rule_database.h"

#include <fmt/format.h>

#include <sstream>

#include "algebra/terms/rule_text.h"
#include "cli/exchange_process.h"
#include "cli/shipped_files.h"
#include "prove/certificate/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"

namespace rulemill::cli {

using algebra::ImportedRule;

Database::Database(const Options& options)
    : library(load_library(options)),
      bank(library),
      rules(algebra::load_rule_set(rules_file(options), library, bank, symbols)) {}

const char* tier_name(algebra::Tier tier) {
  switch (tier) {
    case algebra::Tier::Core:
      return "core";
    case algebra::Tier::Derived:
      return "derived";
    default:
      return "none";
  }
}

const char* proof_name(algebra::Certificate::Kind kind) {
  switch (kind) {
    case algebra::Certificate::Kind::Definitions:
      return "definitions";
    case algebra::Certificate::Kind::Derivation:
      return "derivation";
    default:
      return "none";
  }
}

runtime::Json rule_json(const algebra::RuleRecord& record, const algebra::TermBank& bank,
                        const algebra::Symbols& symbols) {
  runtime::Json json = {{"id", record.rule.id},
                        {"tier", tier_name(record.rule.tier)},
                        {"proof", proof_name(record.certificate.kind)},
                        {"reversible", record.reversible},
                        {"text", algebra::to_string(record.rule, bank, symbols)}};
  json["condition"] = runtime::Json::array();
  for (const auto& condition : record.rule.condition)
    json["condition"].push_back(algebra::to_string(condition, symbols));
  return json;
}

std::string body_line(const std::string& text) {
  std::istringstream lines(text);
  std::string joined;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const auto start = line.find_first_not_of(' ');
    if (start != std::string::npos) joined += (joined.empty() ? "" : "  ") + line.substr(start);
  }
  return joined;
}

void add_taso_table_option(CLI::App& app, Options& options, std::string& table) {
  options.files.reads(
      app.add_option("--taso-table", table,
                     "operators and parameters of the numbers in TASO's files; default: data/imports/taso.toml"));
}

algebra::TasoTable load_taso_table(const std::string& given, const algebra::Library& library) {
  return algebra::TasoTable::load(
      given.empty() ? data_folder() / "imports" / "taso.toml" : std::filesystem::path(given), library);
}

std::vector<ImportedRule> read_rule_file(const std::filesystem::path& file, const std::string& table,
                                         algebra::Library& library, algebra::TermBank& bank,
                                         algebra::Symbols& symbols) {
  const bool folder = std::filesystem::is_directory(file);
  const std::filesystem::path path = folder ? file / "rules.rmdb" : file;
  std::vector<ImportedRule> rules;
  if (path.extension() == ".rmdb") {
    for (algebra::RuleRecord& record : algebra::load_rule_set(path, library, bank, symbols).rules) {
      const std::string id = record.rule.id;
      rules.push_back({id, path.string() + ": rule " + id, std::move(record.rule), {}});
    }
    return rules;
  }
  const std::string bytes = runtime::read_file(path);
  std::string expected = "'rule NAME(…)' or TASO's protobuf";
  if (path.extension() == ".egg") {
    rules = read_exchange_text("egg", bytes, path.string(), library, bank, symbols);
    expected = "(rewrite …) or NAME: SOURCE => TARGET";
  } else if (path.extension() == ".pdl" || path.extension() == ".mlir") {
    rules = read_exchange_text("pdl", bytes, path.string(), library, bank, symbols);
    expected = "pdl.pattern";
  } else if (algebra::is_binary(bytes)) {
    return algebra::parse_taso_rules(bytes, path.string(), load_taso_table(table, library), library, bank, symbols);
  } else {
    rules = algebra::parse_imported_rules(bytes, path.string(), library, bank, symbols);
  }
  if (rules.empty()) throw runtime::InputError(path.string(), "has no rules; expected " + expected);
  return rules;
}

void require_valid_certificates(const std::filesystem::path& database, const algebra::RuleSet& rules,
                                const std::set<std::string>& ids, algebra::Library& library, algebra::TermBank& bank,
                                algebra::Symbols& symbols) {
  const prove::CheckReport report =
      prove::check(prove::select_with_premises(rules, ids), library, bank, symbols, prove::CheckOptions());
  if (report.findings.empty()) return;
  const prove::CheckFinding& first = report.findings.front();
  throw runtime::InputError(database.string(),
                            fmt::format("rule {}, on which the result depends, is invalid: {}; nothing was written, "
                                        "see `rulemill check`",
                                        first.rule, first.what));
}

}  // namespace rulemill::cli
