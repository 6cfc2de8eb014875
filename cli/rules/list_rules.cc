// `rulemill rules list|show`: the rules of a database, or the rejected candidates of a run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "algebra/library/library.h"
#include "algebra/rules/rule_picture.h"
#include "algebra/rules/rule_set.h"
#include "algebra/rules/specialization.h"
#include "algebra/terms/rule_renaming.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "cli/command.h"
#include "cli/number_option.h"
#include "cli/rules/default_rules.h"
#include "cli/rules/rule_database.h"
#include "cli/rules/rule_gain.h"
#include "cli/text_table.h"
#include "prove/prove_candidates.h"
#include "prove/prune.h"
#include "prove/tasks/definition_proof.h"
#include "runtime/text/error.h"
#include "runtime/text/join_text.h"
#include "runtime/text/unknown_name.h"

namespace rulemill::cli {
namespace {

using prove::CandidateResult;

/// Returns the outcomes of the run's candidates; proved ones without a checkable proof are unknown.
std::vector<CandidateResult> read_candidates(const std::filesystem::path& folder) {
  std::map<std::string, CandidateResult> dropped;
  for (CandidateResult& result : prove::read_dropped(folder)) dropped.emplace(result.candidate, std::move(result));
  std::vector<CandidateResult> results = prove::read_results(folder);
  for (CandidateResult& result : results) {
    if (const auto without_proof = dropped.find(result.candidate); without_proof != dropped.end())
      result = without_proof->second;
  }
  return results;
}

/// Finds the counterexample of a refuted candidate again: outcomes have one line of it. Nullopt if the definitions are
/// not those of the run.
std::optional<prove::Counterexample> counterexample_of(const CandidateResult& result, algebra::Library& library) {
  if (result.status != prove::RuleStatus::Refuted || result.rule.empty()) return std::nullopt;
  try {
    return prove::find_counterexample(result.rule, library, {});
  } catch (const runtime::InputError&) {
    return std::nullopt;
  }
}

runtime::Json to_json(const CandidateResult& result, const std::optional<prove::Counterexample>& counterexample) {
  runtime::Json json = {{"id", result.candidate},
                        {"verdict", prove::name(result.status)},
                        {"reason", counterexample ? prove::to_string(*counterexample) : result.detail},
                        {"text", result.rule}};
  if (counterexample) json["counterexample"] = prove::to_json(*counterexample);
  return json;
}

/// Lists the candidates of the run in the folder RULES that have one of the verdicts, with the reason.
void list_candidates(Context& context, const std::vector<std::string>& verdicts) {
  const std::filesystem::path folder = context.options.rules;
  if (!std::filesystem::is_directory(folder))
    throw runtime::UsageError("--candidates",
                              "expected RULES to be the output folder of a run, found '" + folder.string() + "'");
  algebra::Library library = load_library(context.options);
  TextTable table({"id", "verdict", "reason", "rule"});
  context.report["candidates"] = runtime::Json::array();
  std::map<std::string, std::uint64_t> counts;
  std::vector<prove::NamedCounterexample> counterexamples;
  for (const CandidateResult& result : read_candidates(folder)) {
    const std::string verdict = prove::name(result.status);
    if (std::ranges::find(verdicts, verdict) == verdicts.end()) continue;
    ++counts[verdict];
    const auto counterexample = counterexample_of(result, library);
    if (counterexample) counterexamples.push_back({result.candidate, *counterexample});
    context.report["candidates"].push_back(to_json(result, counterexample));
    table.add({result.candidate, verdict, context.report["candidates"].back()["reason"], body_line(result.rule)});
  }
  const auto total = [&](const std::string& verdict) { return fmt::format("{} {}", counts[verdict], verdict); };
  context.print(
      fmt::format("{}{}\n{}\n", table.text(), prove::numpy_text(counterexamples), runtime::join_text(verdicts, total)));
}

/// Shows a candidate of the run in the folder RULES. Returns false if there is no such run or candidate.
bool show_candidate(Context& context, const std::string& id, algebra::Library& library) {
  const std::filesystem::path folder = context.options.rules;
  if (!std::filesystem::exists(folder / prove::outcomes_file)) return false;
  const std::vector<CandidateResult> results = read_candidates(folder);
  const auto found = std::ranges::find(results, id, &CandidateResult::candidate);
  if (found == results.end()) return false;
  const auto counterexample = counterexample_of(*found, library);
  context.report = to_json(*found, counterexample);
  const std::string reason = context.report["reason"];
  context.print(found->rule + "\nverdict      " + prove::name(found->status) + "\n");
  if (!reason.empty()) context.print("reason       " + reason + "\n");
  if (counterexample) context.print("\n" + prove::numpy_text(*counterexample));
  return true;
}

/// Maps the id of each rule that equals a specialization of a general rule to the id of the most general such rule.
std::map<std::string, std::string> special_cases(Database& database) {
  const std::vector<algebra::RuleRecord>& rules = database.rules.rules;
  std::multimap<std::string, const algebra::Rule*> by_key;
  for (const algebra::RuleRecord& record : rules)
    by_key.emplace(algebra::renaming_key(record.rule, database.bank), &record.rule);
  std::map<std::string, std::string> general_of;
  const auto most_general = [&](std::string id) {
    for (auto found = general_of.find(id); found != general_of.end(); found = general_of.find(id)) id = found->second;
    return id;
  };
  const auto specializations =
      algebra::specializations_within(rules, database.library, database.bank, database.symbols);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    for (const algebra::RuleRecord& special : specializations[i]) {
      const auto [begin, end] = by_key.equal_range(algebra::renaming_key(special.rule, database.bank));
      for (auto known = begin; known != end; ++known) {
        const algebra::Rule& rule = *known->second;
        const bool is_own_general = most_general(rules[i].rule.id) == rule.id;
        if (!is_own_general && algebra::is_renaming_of(rule, special.rule, database.bank, database.symbols))
          general_of.try_emplace(rule.id, rules[i].rule.id);
      }
    }
  }
  for (auto& [id, general] : general_of) general = most_general(general);
  return general_of;
}

using algebra::RuleRecord;

bool uses_operator(const RuleRecord& record, const algebra::TermBank& bank, const std::vector<std::string>& names) {
  return std::ranges::any_of(algebra::nodes_of(record.rule, bank), [&](algebra::NodeId node) {
    const std::string& name = bank.library().instance(bank.node(node).instance).operator_name;
    return std::ranges::find(names, name) != names.end();
  });
}

/// True if no variable has a dimension that can exceed 1.
bool is_degenerate(const algebra::Rule& rule, const algebra::TermBank& bank) {
  return std::ranges::all_of(bank.variables(algebra::outputs_of(rule)), [&](algebra::TermId variable) {
    const auto place = std::ranges::find(rule.variables, variable) - rule.variables.begin();
    const algebra::Shape& shape = rule.shapes.at(static_cast<std::size_t>(place));
    return !shape.empty() && std::ranges::all_of(shape, [](const algebra::Poly& dim) { return dim.constant() == 1; });
  });
}

struct Filter {
  std::string tier, sort = "use";
  std::vector<std::string> uses;
  bool all = false, no_gain = false;
  std::vector<std::string> candidates;
};

/// The rule's variables with their shapes: the text in the parentheses of its first line.
std::string types_line(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));  // the tier may follow the parentheses
  const std::size_t open = line.find('('), close = line.rfind(')');
  return open == std::string::npos || close == std::string::npos ? "" : line.substr(open + 1, close - open - 1);
}

void require_operators(const std::vector<std::string>& names, const algebra::Library& library) {
  const auto known = library.operator_names();
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end())
      throw runtime::UsageError("--uses", algebra::unknown_operator(name, known));
  }
}

constexpr const char* gain_legend =
    "gain: the share of multiply-adds and written elements that the cheaper side saves, at the example's or small "
    "sizes; <=: the cheaper side is the left one";

struct Row {
  const RuleRecord* record;
  std::optional<RuleCost> cost;
};

/// Removes special cases of other rows; returns their number by the id of the general rule.
std::map<std::string, std::uint64_t> fold_special_cases(std::vector<Row>& rows, Database& database) {
  std::map<std::string, std::uint64_t> folded;
  const std::map<std::string, std::string> general_of = special_cases(database);
  std::set<std::string> listed;
  for (const Row& row : rows) listed.insert(row.record->rule.id);
  std::erase_if(rows, [&](const Row& row) {
    const auto general = general_of.find(row.record->rule.id);
    if (general == general_of.end() || !listed.contains(general->second)) return false;
    ++folded[general->second];
    return true;
  });
  return folded;
}

void list(Context& context, const Filter& filter) {
  if (!filter.candidates.empty()) return list_candidates(context, filter.candidates);
  Database database(context.options);
  require_operators(filter.uses, database.library);
  std::vector<Row> rows;
  std::uint64_t core = 0, derived = 0, hidden = 0;
  for (const RuleRecord& record : database.rules.rules) {
    if (!filter.tier.empty() && filter.tier != tier_name(record.rule.tier)) continue;
    if (!filter.uses.empty() && !uses_operator(record, database.bank, filter.uses)) continue;
    if (!filter.all && is_degenerate(record.rule, database.bank)) {
      ++hidden;
      continue;
    }
    core += record.rule.tier == algebra::Tier::Core ? 1 : 0;
    derived += record.rule.tier == algebra::Tier::Derived ? 1 : 0;
    rows.push_back({&record, filter.no_gain ? std::nullopt : cost_at_example(record, database.bank, database.symbols)});
  }
  std::map<std::string, std::uint64_t> folded;
  if (!filter.all) folded = fold_special_cases(rows, database);
  std::uint64_t total_folded = 0;
  for (const auto& [general, count] : folded) total_folded += count;
  const auto gain_of = [](const Row& row) { return row.cost ? row.cost->gain() : -1; };
  if (filter.sort == "gain") {
    std::ranges::stable_sort(rows, std::greater<>(), gain_of);
  } else if (filter.sort == "use" && !filter.no_gain) {
    std::ranges::stable_sort(rows, std::greater<>(), [&](const Row& row) {
      return std::tuple(row.record->rule.tier == algebra::Tier::Core, gain_of(row) > 0,
                        generality(*row.record, database.bank), gain_of(row));
    });
  }
  TextTable table({"id", "tier", "proof", "gain", "variables", "rule"});
  context.report["rules"] = runtime::Json::array();
  for (const Row& row : rows) {
    const std::string text = algebra::to_string(row.record->rule, database.bank, database.symbols);
    std::string gain = row.cost ? std::to_string(std::lround(100 * row.cost->gain())) + "%" : "";
    if (row.cost && row.cost->source < row.cost->target) gain += " <=";
    table.add({row.record->rule.id, tier_name(row.record->rule.tier), proof_name(row.record->certificate.kind), gain,
               types_line(text), body_line(text)});
    const auto cases = folded.find(row.record->rule.id);
    const std::uint64_t special = cases == folded.end() ? 0 : cases->second;
    if (special > 0)
      table.add({"", "", "", "", "", fmt::format("+{} special case{}", special, special == 1 ? "" : "s")});
    runtime::Json json = rule_json(*row.record, database.bank, database.symbols);
    json["special_cases"] = special;
    if (row.cost) json["cost"] = {{"source", row.cost->source}, {"target", row.cost->target}};
    context.report["rules"].push_back(std::move(json));
  }
  context.report["hidden"] = hidden;
  context.report["folded"] = total_folded;
  std::string totals = std::to_string(core) + " core, " + std::to_string(derived) + " derived";
  if (hidden > 0)
    totals += "; " + std::to_string(hidden) + " without a dimension that can exceed 1 are hidden, see --all";
  if (total_folded > 0)
    totals += fmt::format("; {} special case{} not listed, see --all", total_folded, total_folded == 1 ? "" : "s");
  if (!filter.no_gain && !rows.empty()) totals += std::string("\n") + gain_legend;
  context.print(table.text() + "\n" + totals + "\n");
}

/// Draws both sides as graphs, followed by their nodes with types.
std::string draw(const algebra::Rule& rule, Database& database) {
  const auto typed = algebra::try_typing(rule, database.bank, database.symbols);
  if (!typed) return algebra::picture(rule, database.bank, database.symbols);
  return algebra::picture(typed->rule, database.bank, database.symbols) + "\n" +
         algebra::format_typed_steps(typed->rule, database.bank, database.symbols, typed->types);
}

void show(Context& context, const std::string& id, bool certificate) {
  Database database(context.options);
  for (const RuleRecord& record : database.rules.rules) {
    if (record.rule.id != id) continue;
    context.print(algebra::to_string(record.rule, database.bank, database.symbols) + "\n");
    context.print(draw(record.rule, database) + "\n");
    context.print(std::string("tier         ") + tier_name(record.rule.tier) + "\n");
    context.print(std::string("proved by    ") + proof_name(record.certificate.kind) + ", " +
                  std::to_string(record.statistics.queries) + " queries, " +
                  std::to_string(record.statistics.instances) + " rule instances\n");
    context.print(std::string("reversible   ") + (record.reversible ? "yes" : "no") + "\n");
    const std::vector<std::string> assumed = algebra::assumed_laws(record.rule, database.bank);
    for (const std::string& law : assumed) context.print("assumes      " + law + "\n");
    if (!record.example.empty()) context.print(fmt::format("example      {}\n", fmt::join(record.example, ", ")));
    if (certificate) context.print("\n" + record.certificate.text + "\n");
    context.report = rule_json(record, database.bank, database.symbols);
    context.report["drawing"] = draw(record.rule, database);
    context.report["example"] = record.example;
    context.report["assumed_laws"] = assumed;
    context.report["certificate"] = record.certificate.text;
    return;
  }
  if (show_candidate(context, id, database.library)) return;
  std::vector<std::string> ids;
  for (const RuleRecord& record : database.rules.rules) ids.push_back(record.rule.id);
  throw runtime::UsageError(rules_file(context.options).string(),
                            runtime::unknown_name("rule", id, ids, "`rulemill rules list`"));
}

}  // namespace

void add_rules(CLI::App& app, Options& options, Command& chosen) {
  auto* rules = app.add_subcommand("rules", "Rule databases");
  rules->require_subcommand(1);

  auto* listing = rules->add_subcommand("list", "List the rules of a database");
  add_rules_operand(*listing, options);
  auto filter = std::make_shared<Filter>();
  listing->add_option("--tier", filter->tier, "only rules of this tier: core or derived")
      ->check(one_of("tier", {"core", "derived"}));
  listing->add_option("--uses", filter->uses, "only rules with one of these operators (comma-separated)")
      ->delimiter(',')
      ->allow_extra_args(false);
  listing
      ->add_option(
          "--sort", filter->sort,
          "order: id; gain (fraction of the cost that the cheaper side saves, on the example or at small sizes); "
          "use (core rules first, of these the ones that save something, then the most general, then by gain)")
      ->check(one_of("order", {"id", "gain", "use"}));
  listing
      ->add_flag("--no-gain", filter->no_gain,
                 "do not compute the gain, which takes most of the time of a large database")
      ->excludes("--sort");
  listing->add_flag("--all", filter->all,
                    "include rules without a dimension that can exceed 1, and special cases of listed rules");
  listing
      ->add_option(
          "--candidates", filter->candidates,
          "list the rejected candidates of a run with the reason instead of rules: refuted, unknown, ill-typed")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(one_of("verdict", {"refuted", "unknown", "ill-typed"}));
  add_general_options(*listing, options);
  choose(*listing, chosen, list, filter);

  auto* showing = rules->add_subcommand(
      "show", "Show one rule: text, condition, proof; or a candidate of a run: verdict, counterexample");
  add_rules_operand(*showing, options);
  auto id = std::make_shared<std::string>();
  auto certificate = std::make_shared<bool>(false);
  showing
      ->add_option("ID", *id, "id of the rule, as in `rules list`, or of a candidate, as in `rules list --candidates`")
      ->required();
  showing->add_flag("--certificate", *certificate, "print the certificate, too");
  add_general_options(*showing, options);
  showing->callback([=, &chosen] { chosen = [=](Context& context) { show(context, *id, *certificate); }; });

  add_rules_import(*rules, options, chosen);
  add_rules_export(*rules, options, chosen);
  add_rules_diff(*rules, options, chosen);
  add_rules_gallery(*rules, options, chosen);
  add_rules_generalize(*rules, options, chosen);
  add_rules_default(*rules, options, chosen);
}

}  // namespace rulemill::cli
