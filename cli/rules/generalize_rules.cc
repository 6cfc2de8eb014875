// `rulemill rules generalize`: proves the core of a database in general form, for any rank and any parameter value.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "algebra/terms/rule_text.h"
#include "cli/command.h"
#include "cli/rules/rule_database.h"
#include "cli/run/proof_options.h"
#include "cli/text_table.h"
#include "prove/core/generalize_rule_set.h"
#include "runtime/text/join_text.h"

namespace rulemill::cli {
namespace {

/// " (stride 12, kernel 9)", by decreasing count; empty without counts.
std::string by_name(const std::map<std::string, std::uint64_t>& counts) {
  std::vector<std::pair<std::string, std::uint64_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &std::pair<std::string, std::uint64_t>::second);
  std::string text;
  for (const auto& [name, count] : sorted) text += fmt::format("{}{} {}", text.empty() ? " (" : ", ", name, count);
  return text.empty() ? "" : text + ")";
}

void report(Context& context, const prove::GeneralizationReport& report, bool enum_values,
            const algebra::RuleSet& rules, const algebra::TermBank& bank, const algebra::Symbols& symbols) {
  TextTable table({"id", "replaces", "rule"});
  context.report["rules"] = runtime::Json::array();
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    const std::string text = body_line(algebra::to_string(rules.rules[i].rule, bank, symbols));
    table.add({rules.rules[i].rule.id, runtime::join_text(report.replaced[i].second), text});
    context.report["rules"].push_back(
        {{"id", rules.rules[i].rule.id}, {"replaces", report.replaced[i].second}, {"rule", text}});
  }
  context.report["rules_considered"] = report.rules_considered;
  context.report["any_rank"] = report.any_rank;
  context.report["any_parameter"] = report.any_parameter;
  context.report["by_parameter"] = report.by_parameter;
  context.report["any_enum_value"] = report.any_enum_value;
  context.report["by_enum_parameter"] = report.by_enum_parameter;
  context.report["general"] = report.general;
  context.report["core"] = report.core;
  context.report["derived"] = report.derived;
  context.report["seconds"] = report.seconds;
  context.print(table.text() +
                fmt::format("\n{} rules: {} hold for any rank of a dimension pack, {} for any value of an integer "
                            "parameter{}{}; {} general rules; {} core rules and {} derived rules written; {:.1f} s\n",
                            report.rules_considered, report.any_rank, report.any_parameter,
                            by_name(report.by_parameter),
                            enum_values ? fmt::format(", {} for every value of an enum parameter{}",
                                                      report.any_enum_value, by_name(report.by_enum_parameter))
                                        : "",
                            report.general, report.core, report.derived, report.seconds));
}

struct GeneralizeOptions {
  ProofOptions proofs;
  bool keep_originals = false, include_derived = false, enum_values = false;
};

void generalize(Context& context, const GeneralizeOptions& options) {
  algebra::Library library = load_library(context.options);
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  algebra::RuleSet rules;
  const std::filesystem::path out = database_file(context.options.out);
  runtime::on_first_rank(context.world, [&] {
    rules = algebra::load_rule_set(rules_file(context.options), library, bank, symbols);
    writable_database(context.options.out);
  });
  prove::WorkerProcessOptions workers = worker_options(context.options, options.proofs);
  if (!rules.provenance.seeds.empty()) workers.worker.prover.seed = rules.provenance.seeds[0];
  prove::TaskScheduler scheduler(context.world, library, workers, "generalize");
  scheduler.run_collective([&] {
    prove::GeneralizationReport result;
    algebra::RuleSet general = prove::generalize_rule_set(rules, {options.include_derived, options.enum_values},
                                                          library, bank, symbols, scheduler, result);
    algebra::RuleSet database =
        options.keep_originals ? prove::append_general_rules(rules, general, bank, symbols) : general;
    prove::find_core_of_general_rules(database, library, bank, symbols, scheduler, result);
    prove::append_counts(result, database.funnel);
    algebra::save(database, bank, symbols, out);
    report(context, result, options.enum_values, general, bank, symbols);
  });
}

}  // namespace

void add_rules_generalize(CLI::App& rules, Options& options, Command& chosen) {
  auto* command = rules.add_subcommand(
      "generalize", "Prove the core of a database in general form: for any rank, stride, kernel and padding");
  auto given = std::make_shared<GeneralizeOptions>();
  add_rules_operand(*command, options);
  options.files
      .writes(command->add_option("--out", options.out, "database to write (*.rmdb), or a folder for rules.rmdb"),
              PathKind::NewDatabase)
      ->required();
  command->add_flag("--include-derived", given->include_derived, "generalize the derived rules, too");
  command->add_flag("--enum-values", given->enum_values,
                    "also try the other values of enum parameters, such as pad=valid: one rule per proved value");
  command->add_flag("--keep-originals", given->keep_originals, "keep the original rules and append the general ones");
  add_proof_options(*command, given->proofs);
  add_general_options(*command, options);
  choose(*command, chosen, generalize, given);
}

}  // namespace rulemill::cli
