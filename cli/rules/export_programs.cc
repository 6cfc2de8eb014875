#include "cli/rules/export_programs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "algebra/exchange/onnxscript_writer.h"
#include "cli/rules/rule_gain.h"
#include "cli/shipped_files.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/hash.h"

namespace rulemill::cli {
namespace {

using algebra::ExportedRules;
using algebra::Rule;
using algebra::RuleRecord;
using algebra::RuleToExport;

std::string proof_of(const RuleRecord& record) {
  return std::string("certificate: ") + proof_name(record.certificate.kind) + ", digest " +
         runtime::to_hex(runtime::hash128(runtime::bytes_of(record.certificate.text)));
}

/// Whether the pattern has all variables of the rule.
bool binds_variables(const Rule& rule, const algebra::TermBank& bank) {
  return bank.variables(rule.source).size() == rule.variables.size();
}

Rule reversed(Rule rule) {
  std::swap(rule.source, rule.target);
  rule.id += "_reversed";
  return rule;
}

/// The directions of a rule to export; the reason if there is none.
struct Directions {
  std::vector<Rule> rules;
  std::string reason;
};

Directions cheaper_direction(const RuleRecord& record, Database& database) {
  const auto cost = cost_at_example(record, database.bank, database.symbols);
  if (!cost) return {{}, "its cost is not known"};
  if (cost->source == cost->target) return {{}, "both sides cost the same (--all exports it)"};
  Rule rule = cost->target < cost->source ? record.rule : reversed(record.rule);
  if (!binds_variables(rule, database.bank)) return {{}, "its costlier side lacks a variable"};
  return {{std::move(rule)}, {}};
}

Directions all_directions_of(const RuleRecord& record, Database& database) {
  Directions result;
  for (Rule rule : {record.rule, reversed(record.rule)}) {
    if (binds_variables(rule, database.bank)) result.rules.push_back(std::move(rule));
  }
  result.reason = "neither side has all variables";
  return result;
}

}  // namespace

ExportedRules export_onnxscript(const std::vector<RuleRecord>& records, bool all_directions, const std::string& title,
                                Database& database) {
  std::vector<RuleToExport> chosen;
  std::vector<algebra::SkippedRule> skipped;
  for (const RuleRecord& record : records) {
    Directions found = all_directions ? all_directions_of(record, database) : cheaper_direction(record, database);
    if (found.rules.empty()) skipped.push_back({record.rule.id, found.reason});
    for (Rule& rule : found.rules) chosen.push_back({std::move(rule), proof_of(record)});
  }
  const std::string prelude = runtime::read_file(data_folder() / "exports" / "onnxscript.py");
  return algebra::write_onnxscript_rules(chosen, std::move(skipped), {title, prelude}, database.library, database.bank,
                                         database.symbols);
}

}  // namespace rulemill::cli
