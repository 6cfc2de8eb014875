// `rulemill rules import`: proves or refutes rules from other sources and makes a database of the proved ones.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/command.h"
#include "cli/rules/rule_database.h"
#include "cli/rules/verdict_report.h"
#include "optimize/equal/model_rule.h"
#include "prove/import_rules.h"
#include "runtime/text/error.h"

namespace rulemill::cli {
namespace {

using prove::ImportPlacement;
using prove::ImportVerdict;

struct ImportOptions {
  std::vector<std::string> files;
  std::string taso_table;
  bool keep_narrowed = false;
};

bool is_model(const std::string& file) { return std::filesystem::path(file).extension() == ".onnx"; }

/// The rules of all files, with unique names. Two models in a row are one rule.
std::vector<algebra::ImportedRule> read_all(const ImportOptions& options, Terms& terms) {
  auto& [library, bank, symbols] = terms;
  std::vector<algebra::ImportedRule> all;
  std::set<std::string> names;
  for (std::size_t i = 0; i < options.files.size(); ++i) {
    const std::string& file = options.files[i];
    const bool is_pair = is_model(file);
    if (is_pair && (i + 1 == options.files.size() || !is_model(options.files[i + 1])))
      throw runtime::InputError(file, "expected a second model after it: two models are one rule");
    for (algebra::ImportedRule& rule :
         is_pair ? std::vector{optimize::read_model_rule(file, options.files[++i], library, bank, symbols)}
                 : read_rule_file(file, options.taso_table, terms)) {
      const std::string given = rule.name;
      for (int again = 2; !names.insert(rule.name).second; ++again) rule.name = given + "_" + std::to_string(again);
      if (rule.rule) rule.rule->id = rule.name;
      all.push_back(std::move(rule));
    }
  }
  return all;
}

void import(Context& context, const ImportOptions& options) {
  Terms terms(context.options);
  auto& [library, bank, symbols] = terms;
  const std::vector<algebra::ImportedRule> rules = read_all(options, terms);
  const prove::ProverOptions prover;
  const std::vector<ImportVerdict> verdicts = prove::prove_imported_rules(rules, library, bank, symbols, prover);
  std::vector<ImportPlacement> places;
  algebra::RuleSet database =
      prove::make_import_database(verdicts, library, bank, symbols, prover, {}, options.keep_narrowed, &places);
  database.provenance.profile_name = "import";
  for (const std::string& file : options.files)
    database.provenance.profile_name += " " + std::filesystem::path(file).filename().string();
  database.provenance.seeds = {prover.seed};
  database.provenance.build = RULEMILL_VERSION;
  database.provenance.solver = prove::Z3Session::version();
  report_verdicts(context, "rules", verdicts, places);
  const std::filesystem::path out = writable_database(context.options.out);
  algebra::save(database, bank, symbols, out);
  context.print(fmt::format("{}: {} core, {} derived; {} subsumed by a core rule and omitted\n", out.string(),
                            std::ranges::count(places, ImportPlacement::Kind::Core, &ImportPlacement::kind),
                            std::ranges::count(places, ImportPlacement::Kind::Derived, &ImportPlacement::kind),
                            std::ranges::count(places, ImportPlacement::Kind::Subsumed, &ImportPlacement::kind)));
  for (const ImportPlacement& place : places) {
    if (place.kind == ImportPlacement::Kind::Dropped)
      context.print("dropped " + place.name + ": its derivation has no checkable proof: " + place.reason + "\n");
  }
  require_proved("rules import", "rules", verdicts, options.keep_narrowed);
}

}  // namespace

void add_rules_import(CLI::App& rules, Options& options, Command& chosen) {
  auto* importing = rules.add_subcommand(
      "import", "Prove or refute rules from other sources, and make a database of the proved ones");
  auto given = std::make_shared<ImportOptions>();
  options.files
      .reads(
          importing->add_option("FILE", given->files,
                                "rules as text, as TASO's protobuf, of egg and egglog (*.egg), or as MLIR patterns in "
                                "PDL (*.pdl, *.mlir); BEFORE.onnx AFTER.onnx: two models as one rule"),
          PathKind::Database)
      ->required();
  options.files
      .writes(importing->add_option("--out", options.out, "database to write (*.rmdb), or a folder for rules.rmdb"),
              PathKind::NewDatabase)
      ->required();
  importing->add_flag("--keep-narrowed", given->keep_narrowed,
                      "write narrowed rules, too: those proved under a condition that their text does not state");
  add_taso_table_option(*importing, options, given->taso_table);
  add_general_options(*importing, options);
  choose_on_first_rank(*importing, chosen, import, given);
}

}  // namespace rulemill::cli
