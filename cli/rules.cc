// `rulemill rules list|show`: what a rule database holds, readably.
#include "algebra/rules/rule_picture.h"
#include "algebra/rules/rule_set.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "cli/default_rules.h"
#include "cli/rule_commands.h"
#include "cli/rule_database.h"
#include "cli/text_table.h"
#include "runtime/error.h"

namespace rulemill::cli {
namespace {

using algebra::RuleRecord;

bool uses_operator(const RuleRecord& record, const algebra::TermBank& bank, const std::string& name) {
  for (const auto& side : {record.rule.source, record.rule.target}) {
    for (const auto node : bank.nodes(side)) {
      if (bank.library().instance(bank.node(node).instance).operator_name == name) return true;
    }
  }
  return false;
}

struct Filter {
  std::string tier;
  std::string uses;
};

void list(Context& context, const Filter& filter) {
  const Database database(context.options);
  TextTable table({"id", "tier", "proof", "rule"});
  std::uint64_t core = 0;
  std::uint64_t shortcut = 0;
  context.report["rules"] = runtime::Json::array();
  for (const RuleRecord& record : database.rules.rules) {
    if (!filter.tier.empty() && filter.tier != tier_name(record.rule.tier)) continue;
    if (!filter.uses.empty() && !uses_operator(record, database.bank, filter.uses)) continue;
    core += record.rule.tier == algebra::Tier::Core ? 1 : 0;
    shortcut += record.rule.tier == algebra::Tier::Shortcut ? 1 : 0;
    table.add({record.rule.id, tier_name(record.rule.tier), proof_name(record.certificate.kind),
               body_line(algebra::to_string(record.rule, database.bank, database.symbols))});
    context.report["rules"].push_back(rule_json(record, database.bank, database.symbols));
  }
  context.print(table.text() + "\n" + std::to_string(core) + " core, " + std::to_string(shortcut) + " shortcut\n");
}

std::string shapes_text(const std::vector<std::vector<std::int64_t>>& example) {
  std::string text;
  for (const auto& shape : example) {
    text += text.empty() ? "[" : ", [";
    for (std::size_t d = 0; d < shape.size(); ++d) text += (d == 0 ? "" : ", ") + std::to_string(shape[d]);
    text += "]";
  }
  return text;
}

/// Both sides as graphs, and their steps with types.
std::string drawn(const algebra::Rule& rule, Database& database) {
  auto types = algebra::infer_types(rule, database.bank, database.symbols);
  const auto* typed = std::get_if<algebra::TypedRule>(&types);
  if (typed == nullptr) return algebra::picture(rule, database.bank, database.symbols);
  return algebra::picture(typed->rule, database.bank, database.symbols) + "\n" +
         algebra::typed_steps(typed->rule, database.bank, database.symbols, typed->types);
}

void show(Context& context, const std::string& id, bool certificate) {
  Database database(context.options);
  for (const RuleRecord& record : database.rules.rules) {
    if (record.rule.id != id) continue;
    context.print(algebra::to_string(record.rule, database.bank, database.symbols) + "\n");
    context.print(drawn(record.rule, database) + "\n");
    context.print(std::string("tier         ") + tier_name(record.rule.tier) + "\n");
    context.print(std::string("proved by    ") + proof_name(record.certificate.kind) + ", " +
                  std::to_string(record.statistics.queries) + " queries, " +
                  std::to_string(record.statistics.instances) + " instances of other rules\n");
    context.print(std::string("reversible   ") + (record.reversible ? "yes" : "no") + "\n");
    const std::vector<std::string> assumed = algebra::assumed_laws(record.rule, database.bank);
    for (const std::string& law : assumed) context.print("assumes      " + law + "\n");
    if (!record.example.empty()) context.print("found on     " + shapes_text(record.example) + "\n");
    if (certificate) context.print("\n" + record.certificate.text + "\n");
    context.report = rule_json(record, database.bank, database.symbols);
    context.report["example"] = record.example;
    context.report["assumed_laws"] = assumed;
    context.report["certificate"] = record.certificate.text;
    return;
  }
  throw runtime::UsageError(id, "no rule of this id in " + rules_file(context.options).string() +
                                    "; `rulemill rules list` shows what there is");
}

}  // namespace

void add_rules(CLI::App& app, Options& options, Command& chosen) {
  auto* rules = app.add_subcommand("rules", "Rule databases");
  rules->require_subcommand(1);

  auto* listing = rules->add_subcommand("list", "List the rules of a database");
  auto filter = std::make_shared<Filter>();
  listing->add_option("--tier", filter->tier, "only core or only shortcut rules")
      ->check(CLI::IsMember({"core", "shortcut"}));
  listing->add_option("--uses", filter->uses, "only rules in which this operator occurs");
  add_rules_option(*listing, options, true);
  add_definitions_option(*listing, options);
  add_common_options(*listing, options);
  listing->callback([filter, &chosen] { chosen = [filter](Context& context) { list(context, *filter); }; });

  auto* showing = rules->add_subcommand("show", "Show one rule: text, condition, proof");
  auto id = std::make_shared<std::string>();
  auto certificate = std::make_shared<bool>(false);
  showing->add_option("ID", *id, "as `rules list` shows it")->required();
  showing->add_flag("--certificate", *certificate, "print its certificate, too");
  add_rules_option(*showing, options, true);
  add_definitions_option(*showing, options);
  add_common_options(*showing, options);
  showing->callback([=, &chosen] { chosen = [=](Context& context) { show(context, *id, *certificate); }; });

  add_rules_import(*rules, options, chosen);
  add_rules_export(*rules, options, chosen);
  add_rules_diff(*rules, options, chosen);
  add_rules_gallery(*rules, options, chosen);
  add_rules_generalize(*rules, options, chosen);
  add_rules_default(*rules, options, chosen);
}

}  // namespace rulemill::cli
