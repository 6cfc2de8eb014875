// `rulemill rules import`: rules that others wrote, proved or refuted; those that hold become a rule database.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/rule_commands.h"
#include "cli/rule_database.h"
#include "cli/text_table.h"
#include "prove/foreign.h"
#include "runtime/atomic_file.h"
#include "runtime/error.h"

namespace rulemill::cli {
namespace {

using prove::ForeignPlace;
using prove::ForeignVerdict;

struct ImportOptions {
  std::vector<std::string> files;
  std::string table;
};

/// All files' rules, each with a name of its own.
std::vector<algebra::ForeignRule> read_all(const ImportOptions& options, algebra::Library& library,
                                           algebra::TermBank& bank, algebra::Symbols& symbols) {
  std::vector<algebra::ForeignRule> all;
  std::set<std::string> names;
  for (const std::string& file : options.files) {
    for (algebra::ForeignRule& rule : read_rule_file(file, options.table, library, bank, symbols)) {
      const std::string given = rule.name;
      for (int again = 2; !names.insert(rule.name).second; ++again) rule.name = given + "_" + std::to_string(again);
      if (rule.rule) rule.rule->id = rule.name;
      all.push_back(std::move(rule));
    }
  }
  return all;
}

std::string place_word(const std::vector<ForeignPlace>& places, const std::string& name) {
  const auto found = std::ranges::find(places, name, &ForeignPlace::name);
  if (found == places.end()) return "";
  constexpr const char* words[] = {"core", "shortcut", "instance"};
  return words[static_cast<std::size_t>(found->kind)];
}

void report(Context& context, const std::vector<ForeignVerdict>& verdicts, const std::vector<ForeignPlace>& places) {
  TextTable table({"rule", "verdict", "tier", "condition, counterexample or reason"});
  double seconds = 0;
  context.report["rules"] = runtime::Json::array();
  for (const ForeignVerdict& verdict : verdicts) {
    const std::string tier = place_word(places, verdict.name);
    table.add({verdict.name, prove::name(verdict.kind), tier, verdict.detail});
    context.report["rules"].push_back({{"name", verdict.name},
                                       {"place", verdict.place},
                                       {"verdict", prove::name(verdict.kind)},
                                       {"tier", tier},
                                       {"rule", verdict.rule},
                                       {"condition", verdict.condition},
                                       {"detail", verdict.detail},
                                       {"queries", verdict.queries}});
    seconds += verdict.seconds;
  }
  context.print(table.text() + "\n");
  std::string counts;
  for (const auto kind : {ForeignVerdict::Kind::Proved, ForeignVerdict::Kind::Refuted, ForeignVerdict::Kind::Unknown,
                          ForeignVerdict::Kind::IllTyped, ForeignVerdict::Kind::Unreadable}) {
    const auto count = std::ranges::count(verdicts, kind, &ForeignVerdict::kind);
    context.report["counts"][prove::name(kind)] = count;
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, prove::name(kind));
  }
  const auto conditional =
      std::ranges::count_if(verdicts, [](const auto& verdict) { return !verdict.condition.empty(); });
  context.report["counts"]["under a condition found"] = conditional;
  context.report["seconds"] = seconds;
  context.print(fmt::format("{} rules: {}; {} of them under a condition found; {:.2f} s\n", verdicts.size(), counts,
                            conditional, seconds));
}

/// What of the files is wrong is told at the end, and what is right is not lost by it.
void complain(const std::vector<ForeignVerdict>& verdicts) {
  const auto wrong = [](const ForeignVerdict& verdict) {
    return verdict.kind == ForeignVerdict::Kind::IllTyped || verdict.kind == ForeignVerdict::Kind::Unreadable;
  };
  const auto first = std::ranges::find_if(verdicts, wrong);
  if (first == verdicts.end()) return;
  const auto others = std::ranges::count_if(verdicts, wrong) - 1;
  throw runtime::InputError(first->place,
                            fmt::format("rule {} is {}: {}{}", first->name, prove::name(first->kind), first->detail,
                                        others > 0 ? fmt::format("; and {} more", others) : ""));
}

void import(Context& context, const ImportOptions& options) {
  algebra::Library library = load_library(context.options);
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const std::vector<algebra::ForeignRule> rules = read_all(options, library, bank, symbols);
  const prove::ProverOptions prover;
  const std::vector<ForeignVerdict> verdicts = prove::judge_foreign(rules, library, bank, symbols, prover);
  std::vector<ForeignPlace> places;
  algebra::RuleSet database = prove::foreign_database(verdicts, library, bank, symbols, prover, {}, &places);
  database.provenance.profile_name = "import";
  for (const std::string& file : options.files)
    database.provenance.profile_name += " " + std::filesystem::path(file).filename().string();
  database.provenance.seeds = {prover.seed};
  database.provenance.build = RULEMILL_VERSION;
  database.provenance.solver = prove::Solver::version();
  report(context, verdicts, places);
  std::filesystem::path out = context.options.out;
  if (out.extension() != ".rmdb") out /= "rules.rmdb";
  runtime::require_writable_folder(std::filesystem::absolute(out).parent_path());
  algebra::save(database, bank, symbols, out);
  context.print(fmt::format("{}: {} core, {} shortcut; {} are instances of one core rule and left out\n", out.string(),
                            std::ranges::count(places, ForeignPlace::Kind::Core, &ForeignPlace::kind),
                            std::ranges::count(places, ForeignPlace::Kind::Shortcut, &ForeignPlace::kind),
                            std::ranges::count(places, ForeignPlace::Kind::Instance, &ForeignPlace::kind)));
  complain(verdicts);
}

}  // namespace

void add_rules_import(CLI::App& rules, Options& options, Command& chosen) {
  auto* importing =
      rules.add_subcommand("import", "Prove or refute rules of others, and make a database of those that hold");
  auto given = std::make_shared<ImportOptions>();
  importing->add_option("FILE", given->files, "rules in text form, or in TASO's protobuf form")->required();
  importing->add_option("--out", options.out, "database to write (*.rmdb), or the folder for rules.rmdb")->required();
  add_table_option(*importing, given->table);
  add_definitions_option(*importing, options);
  add_common_options(*importing, options);
  importing->callback([given, &chosen] {
    chosen = [given](Context& context) { on_first_rank(context.world, [&] { import(context, *given); }); };
  });
}

}  // namespace rulemill::cli
