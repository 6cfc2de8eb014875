// `rulemill rules import`: proves or refutes rules from other sources and makes a database of the proved ones.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/rules/rule_commands.h"
#include "cli/rules/rule_database.h"
#include "cli/text_table.h"
#include "optimize/equal/model_rule.h"
#include "prove/import_rules.h"
#include "prove/refuter/counterexample.h"
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
std::vector<algebra::ImportedRule> read_all(const ImportOptions& options, algebra::Library& library,
                                            algebra::TermBank& bank, algebra::Symbols& symbols) {
  std::vector<algebra::ImportedRule> all;
  std::set<std::string> names;
  for (std::size_t i = 0; i < options.files.size(); ++i) {
    const std::string& file = options.files[i];
    const bool is_pair = is_model(file);
    if (is_pair && (i + 1 == options.files.size() || !is_model(options.files[i + 1])))
      throw runtime::InputError(file, "expected a second model after it: two models are one rule");
    for (algebra::ImportedRule& rule :
         is_pair ? std::vector{optimize::read_model_rule(file, options.files[++i], library, bank, symbols)}
                 : read_rule_file(file, options.taso_table, library, bank, symbols)) {
      const std::string given = rule.name;
      for (int again = 2; !names.insert(rule.name).second; ++again) rule.name = given + "_" + std::to_string(again);
      if (rule.rule) rule.rule->id = rule.name;
      all.push_back(std::move(rule));
    }
  }
  return all;
}

std::string tier_of(const std::vector<ImportPlacement>& places, const std::string& name) {
  const auto found = std::ranges::find(places, name, &ImportPlacement::name);
  if (found == places.end()) return "";
  constexpr const char* words[] = {"core", "derived", "subsumed", "dropped"};
  return words[static_cast<std::size_t>(found->kind)];
}

void report(Context& context, const std::vector<ImportVerdict>& verdicts, const std::vector<ImportPlacement>& places) {
  TextTable table({"rule", "verdict", "tier", "condition, counterexample or reason"});
  std::vector<prove::NamedCounterexample> counterexamples;
  double seconds = 0;
  context.report["rules"] = runtime::Json::array();
  for (const ImportVerdict& verdict : verdicts) {
    const std::string tier = tier_of(places, verdict.name);
    table.add({verdict.name, prove::name(verdict.status), tier, verdict.detail});
    context.report["rules"].push_back({{"name", verdict.name},
                                       {"place", verdict.place},
                                       {"verdict", prove::name(verdict.status)},
                                       {"tier", tier},
                                       {"rule", verdict.rule},
                                       {"condition", verdict.condition},
                                       {"detail", verdict.detail},
                                       {"queries", verdict.queries}});
    if (verdict.counterexample) {
      context.report["rules"].back()["counterexample"] = prove::to_json(*verdict.counterexample);
      counterexamples.push_back({verdict.name, *verdict.counterexample});
    }
    seconds += verdict.seconds;
  }
  context.print(table.text(context.uses_colours()) + prove::numpy_text(counterexamples) + "\n");
  std::string counts;
  for (const auto kind : {prove::RuleStatus::Proved, prove::RuleStatus::Narrowed, prove::RuleStatus::Refuted,
                          prove::RuleStatus::Unknown, prove::RuleStatus::IllTyped, prove::RuleStatus::Unreadable}) {
    const auto count = std::ranges::count(verdicts, kind, &ImportVerdict::status);
    context.report["counts"][prove::name(kind)] = count;
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, prove::name(kind));
  }
  const auto conditional = std::ranges::count_if(verdicts, [](const auto& verdict) {
    return verdict.status == prove::RuleStatus::Proved && !verdict.condition.empty();
  });
  context.report["counts"]["conditional"] = conditional;
  context.report["seconds"] = seconds;
  context.print(fmt::format("{} rules: {}; {} of the proved ones hold under a condition that was found; {:.2f} s\n",
                            verdicts.size(), counts, conditional, seconds));
}

/// Throws InputError if a rule is unreadable or ill-typed, and Error if one is neither proved nor kept. Called last, so
/// that the other rules are written.
void throw_if_not_proved(const std::vector<ImportVerdict>& verdicts, bool keep_narrowed) {
  const auto is_malformed = [](const ImportVerdict& verdict) {
    return verdict.status == prove::RuleStatus::IllTyped || verdict.status == prove::RuleStatus::Unreadable;
  };
  if (const auto first = std::ranges::find_if(verdicts, is_malformed); first != verdicts.end()) {
    const auto others = std::ranges::count_if(verdicts, is_malformed) - 1;
    throw runtime::InputError(first->place,
                              fmt::format("rule {} is {}: {}{}", first->name, prove::name(first->status), first->detail,
                                          others > 0 ? fmt::format("; and {} more", others) : ""));
  }
  const auto not_proved = std::ranges::count_if(verdicts, [&](const ImportVerdict& verdict) {
    const bool kept = keep_narrowed && verdict.status == prove::RuleStatus::Narrowed;
    return verdict.status != prove::RuleStatus::Proved && !kept;
  });
  if (not_proved > 0)
    throw runtime::Error("rules import", fmt::format("{} of {} rules are not proved", not_proved, verdicts.size()));
}

void import(Context& context, const ImportOptions& options) {
  algebra::Library library = load_library(context.options);
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const std::vector<algebra::ImportedRule> rules = read_all(options, library, bank, symbols);
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
  database.provenance.solver = prove::Solver::version();
  report(context, verdicts, places);
  const std::filesystem::path out = database_file(context.options.out);
  require_writable(out);
  algebra::save(database, bank, symbols, out);
  context.print(fmt::format("{}: {} core, {} derived; {} subsumed by a core rule and omitted\n", out.string(),
                            std::ranges::count(places, ImportPlacement::Kind::Core, &ImportPlacement::kind),
                            std::ranges::count(places, ImportPlacement::Kind::Derived, &ImportPlacement::kind),
                            std::ranges::count(places, ImportPlacement::Kind::Subsumed, &ImportPlacement::kind)));
  for (const ImportPlacement& place : places) {
    if (place.kind == ImportPlacement::Kind::Dropped)
      context.print("dropped " + place.name + ": its derivation has no checkable proof: " + place.reason + "\n");
  }
  throw_if_not_proved(verdicts, options.keep_narrowed);
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
                      "write narrowed rules, too: those that hold only where a size that they leave open is a number");
  add_taso_table_option(*importing, options, given->taso_table);
  add_definitions_option(*importing, options);
  add_common_options(*importing, options);
  importing->callback([given, &chosen] {
    chosen = [given](Context& context) { runtime::on_first_rank(context.world, [&] { import(context, *given); }); };
  });
}

}  // namespace rulemill::cli
