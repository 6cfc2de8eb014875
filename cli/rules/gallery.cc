// `rulemill rules gallery`: an HTML page with the funnel and each rule drawn as two graphs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algebra/rules/rule_drawing.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/symbolic_parameters.h"
#include "algebra/terms/typing.h"
#include "cli/command.h"
#include "cli/rules/rule_database.h"
#include "cli/rules/rule_gain.h"
#include "cli/shipped_files.h"
#include "runtime/text/join_text.h"
#include "runtime/text/quantity.h"

namespace rulemill::cli {
namespace {

using runtime::Json;

/// The percentage that the cheaper side saves, negative if that is the source; null if it is unknown.
Json gain_json(const algebra::RuleRecord& record, Database& database) {
  const auto cost = cost_at_example(record, database.bank, database.symbols);
  if (!cost) return nullptr;
  return std::lround((cost->source < cost->target ? -100 : 100) * cost->gain());
}

Json gallery_json(const algebra::RuleRecord& record, Database& database) {
  const algebra::TermBank& bank = database.bank;
  const auto typed = algebra::try_typing(record.rule, database.bank, database.symbols);
  const algebra::Types known_types = typed ? typed->types : algebra::Types{};
  const algebra::Rule& rule = typed ? typed->rule : record.rule;
  Json operators = Json::array();
  for (const algebra::NodeId node : algebra::nodes_of(rule, bank)) {
    const std::string& name = bank.library().instance(bank.node(node).instance).operator_name;
    if (std::find(operators.begin(), operators.end(), name) == operators.end()) operators.push_back(name);
  }
  const auto text_of = [&](const auto& each) { return algebra::to_string(each, database.symbols); };
  return {{"id", record.rule.id},
          {"tier", tier_name(record.rule.tier)},
          {"proof", proof_name(record.certificate.kind)},
          {"queries", record.statistics.queries},
          {"instances", record.statistics.instances},
          {"reversible", record.reversible},
          {"condition", runtime::join_text(record.rule.condition, text_of)},
          {"conditions", record.rule.condition.size()},
          {"any_rank", !record.rule.packs.empty()},
          {"parameters", algebra::symbolic_parameter_names(record.rule, bank)},
          {"generality", generality(record, bank)},
          {"gain", gain_json(record, database)},
          {"ops", operators},
          {"sizes", {bank.nodes(rule.source).size(), bank.nodes(rule.target).size()}},
          {"text", algebra::to_string(record.rule, bank, database.symbols)},
          {"certificate", record.certificate.text},
          {"left", algebra::draw_side(rule, rule.source, bank, database.symbols, known_types)},
          {"right", algebra::draw_side(rule, rule.target, bank, database.symbols, known_types)}};
}

void write_gallery(Context& context, const std::string& out) {
  Database database(context.options);
  const algebra::Provenance& provenance = database.rules.provenance;
  Json funnel = Json::array(), rules = Json::array();
  for (const auto& [stage, count] : database.rules.funnel) funnel.push_back({stage, count});
  for (const algebra::RuleRecord& record : database.rules.rules) rules.push_back(gallery_json(record, database));
  const Json data = {{"name", rules_file(context.options).filename().string()},
                     {"profile", provenance.profile_name},
                     {"max_operators", provenance.max_operators},
                     {"build", provenance.build},
                     {"solver", provenance.solver},
                     {"funnel", std::move(funnel)},
                     {"rules", std::move(rules)}};
  const std::size_t bytes = write_page(out, "gallery", data);
  context.report = {{"rules", database.rules.rules.size()}, {"bytes", bytes}};
  context.print(fmt::format("{}: {} rules, {}\n", out, database.rules.rules.size(), runtime::format_bytes(bytes)));
}

}  // namespace

void add_rules_gallery(CLI::App& rules, Options& options, Command& chosen) {
  auto* drawing = rules.add_subcommand("gallery", "Draw all rules of a database on one HTML page");
  auto out = std::make_shared<std::string>();
  add_rules_operand(*drawing, options);
  options.files.writes(drawing->add_option("--out", *out, "page to write (*.html)"))->required();
  add_general_options(*drawing, options);
  choose_on_first_rank(*drawing, chosen, write_gallery, out);
}

}  // namespace rulemill::cli
