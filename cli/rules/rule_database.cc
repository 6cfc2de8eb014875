#include "cli/rules/rule_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "algebra/terms/rule_text.h"
#include "cli/exchange_process.h"
#include "prove/certificate/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"

namespace rulemill::cli {

using algebra::ImportedRule;

namespace {

/// True if the bytes are protobuf rather than text.
bool is_binary(std::string_view bytes) {
  return std::ranges::any_of(bytes, [](char c) { return c >= 0 && c < ' ' && c != '\n' && c != '\t' && c != '\r'; });
}

}  // namespace

Terms::Terms(const Options& options) : library(load_library(options)), bank(library) {}

Database::Database(const Options& options)
    : Terms(options), rules(algebra::load_rule_set(rules_file(options), library, bank, symbols)) {}

const char* tier_name(algebra::Tier tier) {
  constexpr const char* names[] = {"none", "core", "derived"};
  return names[static_cast<std::size_t>(tier)];
}

const char* proof_name(algebra::Certificate::Kind kind) {
  constexpr const char* names[] = {"none", "definitions", "derivation"};
  return names[static_cast<std::size_t>(kind)];
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

std::vector<ImportedRule> read_rule_file(const std::filesystem::path& file, const std::string& table, Terms& terms) {
  const bool folder = std::filesystem::is_directory(file);
  const std::filesystem::path path = folder ? file / "rules.rmdb" : file;
  if (path.extension() == ".rmdb") {
    std::vector<ImportedRule> rules;
    for (algebra::RuleRecord& record : algebra::load_rule_set(path, terms.library, terms.bank, terms.symbols).rules) {
      const std::string id = record.rule.id;
      rules.push_back({id, path.string() + ": rule " + id, std::move(record.rule), {}});
    }
    return rules;
  }
  const std::string bytes = runtime::read_file(path);
  const bool is_egg = path.extension() == ".egg", is_pdl = path.extension() == ".pdl" || path.extension() == ".mlir";
  const std::string format = is_egg ? "egg" : is_pdl ? "pdl" : is_binary(bytes) ? "taso" : "";
  std::vector<ImportedRule> rules =
      format.empty()
          ? algebra::parse_imported_rules(bytes, path.string(), terms.library, terms.bank, terms.symbols)
          : read_exchange_file(format, bytes, path.string(), table, terms.library, terms.bank, terms.symbols);
  if (!rules.empty() || format == "taso") return rules;
  const char* expected = is_egg   ? "(rewrite …) or NAME: SOURCE => TARGET"
                         : is_pdl ? "pdl.pattern"
                                  : "'rule NAME(…)' or TASO's protobuf";
  throw runtime::InputError(path.string(), std::string("has no rules; expected ") + expected);
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
