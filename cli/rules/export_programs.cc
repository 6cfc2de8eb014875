#include "cli/rules/export_programs.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "algebra/exchange/egglog_writer.h"
#include "algebra/exchange/onnxscript_writer.h"
#include "algebra/exchange/pdl/pdl_writer.h"
#include "algebra/terms/typing.h"
#include "cli/rules/rule_gain.h"
#include "cli/shipped_files.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::cli {
namespace {

using algebra::ExportedRules;
using algebra::Rule;
using algebra::RuleRecord;
using algebra::RuleToExport;

/// The greatest rank in an egglog program: images, batches of matrices.
constexpr std::uint32_t max_egglog_rank = 4;

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

/// A rule whose sides cost the same, or of which neither is cheaper at all sizes, could be applied back and forth.
Directions cheaper_direction(const RuleRecord& record, Database& database, NodeCosts& known) {
  const std::vector<RuleCost> costs = costs_at_samples(record, database.bank, database.symbols, known);
  std::size_t target_cheaper = 0, source_cheaper = 0;
  for (const RuleCost& cost : costs) {
    target_cheaper += cost.target < cost.source ? 1 : 0;
    source_cheaper += cost.source < cost.target ? 1 : 0;
  }
  if (costs.empty()) return {{}, "its cost is not known"};
  if (target_cheaper + source_cheaper == 0) return {{}, "both sides cost the same (--all exports it)"};
  if (target_cheaper > 0 && source_cheaper > 0)
    return {{}, "the sizes decide which side is cheaper (--all exports it)"};
  Rule rule = target_cheaper > 0 ? record.rule : reversed(record.rule);
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

/// The rules that a rewriter without costs applies, and those that it does not.
struct ChosenRules {
  std::vector<RuleToExport> rules;
  std::vector<algebra::SkippedRule> skipped;
};

ChosenRules choose_directions(const std::vector<RuleRecord>& records, bool all_directions, Database& database) {
  ChosenRules chosen;
  NodeCosts known;
  for (const RuleRecord& record : records) {
    Directions found =
        all_directions ? all_directions_of(record, database) : cheaper_direction(record, database, known);
    if (found.rules.empty()) chosen.skipped.push_back({record.rule.id, found.reason});
    for (Rule& rule : found.rules) chosen.rules.push_back({std::move(rule), proof_of(record)});
  }
  return chosen;
}

}  // namespace

ExportedRules export_onnxscript(const std::vector<RuleRecord>& records, bool all_directions, const std::string& title,
                                Database& database) {
  ChosenRules chosen = choose_directions(records, all_directions, database);
  const std::string prelude = runtime::read_file(data_folder() / "exports" / "onnxscript.py");
  return algebra::write_onnxscript_rules(chosen.rules, std::move(chosen.skipped), {title, prelude}, database.library,
                                         database.bank, database.symbols);
}

ExportedRules export_pdl(const std::vector<RuleRecord>& records, bool all_directions, const std::string& title,
                         Database& database) {
  ChosenRules chosen = choose_directions(records, all_directions, database);
  const auto table = algebra::StablehloTable::load(data_folder() / "exports" / "stablehlo.toml", database.library);
  const std::string prelude =
      "// data/exports/pdl.py applies this file and has its native functions (docs/export.md).\n\n";
  return algebra::write_pdl_rules(chosen.rules, std::move(chosen.skipped), table, all_directions, {title, prelude},
                                  database.library, database.bank, database.symbols);
}

ExportedRules export_egglog(const std::vector<RuleRecord>& records, bool derived_rules, const std::string& goals_file,
                            const std::string& title, Database& database) {
  std::vector<RuleToExport> chosen;
  std::vector<algebra::SkippedRule> skipped;
  for (const RuleRecord& record : records) {
    if (derived_rules || record.rule.tier != algebra::Tier::Derived) chosen.push_back({record.rule, proof_of(record)});
  }
  std::vector<algebra::TypedRule> goals;
  if (!goals_file.empty()) {
    for (const algebra::ImportedRule& goal :
         read_rule_file(goals_file, {}, database.library, database.bank, database.symbols)) {
      if (!goal.rule) throw runtime::InputError(goal.place, goal.problem);
      auto types = algebra::infer_types(*goal.rule, database.bank, database.symbols);
      if (const auto* error = std::get_if<algebra::TypeError>(&types)) {
        skipped.push_back({"goal " + goal.name, "it is ill-typed: " + error->what});
      } else {
        goals.push_back(std::get<algebra::TypedRule>(std::move(types)));
      }
    }
  }
  const std::string prelude = runtime::read_file(data_folder() / "exports" / "egglog.egg");
  return algebra::write_egglog_rules(chosen, std::move(skipped), goals, max_egglog_rank, {title, prelude},
                                     database.library, database.bank, database.symbols);
}

}  // namespace rulemill::cli
