// `rulemill rules generalize`: the core of a database in general form, proved anew: at any rank, for any parameter.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "algebra/terms/rule_text.h"
#include "cli/crew_tables.h"
#include "cli/proof_options.h"
#include "cli/rule_commands.h"
#include "cli/rule_database.h"
#include "cli/text_table.h"
#include "prove/farm/generalization.h"
#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/joined.h"

namespace rulemill::cli {
namespace {

/// As in " (stride 12, kernel 9)", the most frequent first.
std::string by_name(const std::map<std::string, std::uint64_t>& counts) {
  std::vector<std::pair<std::string, std::uint64_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &std::pair<std::string, std::uint64_t>::second);
  std::string text;
  for (const auto& [name, count] : sorted) text += fmt::format("{}{} {}", text.empty() ? " (" : ", ", name, count);
  return text.empty() ? "" : text + ")";
}

void report(Context& context, const prove::GeneralizationReport& report, bool words, const algebra::RuleSet& rules,
            const algebra::TermBank& bank, const algebra::Symbols& symbols) {
  TextTable table({"id", "stands for", "rule"});
  context.report["rules"] = runtime::Json::array();
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    const std::string text = body_line(algebra::to_string(rules.rules[i].rule, bank, symbols));
    table.add({rules.rules[i].rule.id, runtime::joined(report.covers[i].second), text});
    context.report["rules"].push_back(
        {{"id", rules.rules[i].rule.id}, {"stands_for", report.covers[i].second}, {"rule", text}});
  }
  context.report["asked"] = report.asked;
  context.report["any_rank"] = report.any_rank;
  context.report["any_parameter"] = report.any_parameter;
  context.report["by_parameter"] = report.by_parameter;
  context.report["any_word"] = report.any_word;
  context.report["by_word"] = report.by_word;
  context.report["general"] = report.general;
  context.report["core"] = report.core;
  context.report["shortcuts"] = report.shortcuts;
  context.report["seconds"] = report.seconds;
  context.print(
      table.text() +
      fmt::format("\n{} rules: {} hold at any rank of a group of dimensions, {} for any "
                  "value of a parameter{}{}; {} rules say them all; {} core rules and {} shortcuts "
                  "written; {:.1f} s\n",
                  report.asked, report.any_rank, report.any_parameter, by_name(report.by_parameter),
                  words ? fmt::format(", {} for every word of one{}", report.any_word, by_name(report.by_word)) : "",
                  report.general, report.core, report.shortcuts, report.seconds));
}

struct GeneralizeOptions {
  ProofOptions proofs;
  bool keep = false, all = false, words = false;
};

void generalize(Context& context, const GeneralizeOptions& options) {
  algebra::Library library = load_library(context.options);
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  algebra::RuleSet rules;
  std::filesystem::path out = context.options.out;
  if (out.extension() != ".rmdb") out /= "rules.rmdb";
  on_first_rank(context.world, [&] {
    rules = algebra::load_rule_set(rules_file(context.options), library, bank, symbols);
    runtime::require_writable_folder(std::filesystem::absolute(out).parent_path());
  });
  prove::WorkerProcessOptions helper = worker_options(context.options, options.proofs);
  if (!rules.provenance.seeds.empty()) helper.worker.prover.seed = rules.provenance.seeds[0];
  prove::Crew crew(context.world, library, helper, "generalize");
  crew.work([&] {
    prove::GeneralizationReport result;
    algebra::RuleSet general =
        prove::generalized(rules, {options.all, options.words}, library, bank, symbols, crew, result);
    algebra::RuleSet made = options.keep ? prove::with_general(rules, general, bank) : general;
    prove::find_core(made, library, bank, symbols, crew, result);
    algebra::save(made, bank, symbols, out);
    report(context, result, options.words, general, bank, symbols);
  });
}

}  // namespace

void add_rules_generalize(CLI::App& rules, Options& options, Command& chosen) {
  auto* command = rules.add_subcommand(
      "generalize", "Prove a database's core in general form: at any rank, for any stride, kernel or padding");
  auto given = std::make_shared<GeneralizeOptions>();
  command->add_option("RULES", options.rules, "rule database, or the folder that has one")->required();
  command->add_option("--out", options.out, "database to write (*.rmdb), or the folder for rules.rmdb")->required();
  command->add_flag("--all", given->all, "shortcuts, too");
  command->add_flag("--words", given->words,
                    "other words of parameters, too, such as pad=valid: a rule for each that is proved");
  command->add_flag("--keep", given->keep, "the database's own rules stay, the general ones come after them");
  add_proof_options(*command, given->proofs);
  add_definitions_option(*command, options);
  add_common_options(*command, options);
  command->callback([given, &chosen] { chosen = [given](Context& context) { generalize(context, *given); }; });
}

}  // namespace rulemill::cli
