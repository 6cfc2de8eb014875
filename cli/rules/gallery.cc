#include "cli/rules/gallery.h"

#include "algebra/rules/rule_layout.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "cli/rules/rule_commands.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"
#include "runtime/text/quantity.h"

namespace rulemill::cli {
namespace {

using runtime::Json;

/// A drawing as numbers: nodes as [kind, x, y, width, height, label, detail, type], edges as [from, to, label].
Json drawing_json(const algebra::Drawing& drawing) {
  Json nodes = Json::array(), edges = Json::array();
  for (const algebra::DrawnNode& node : drawing.nodes) {
    nodes.push_back(
        {static_cast<int>(node.kind), node.x, node.y, node.width, node.height, node.label, node.detail, node.type});
  }
  for (const algebra::DrawnEdge& edge : drawing.edges) edges.push_back({edge.from, edge.to, edge.label});
  return {{"w", drawing.width}, {"h", drawing.height}, {"n", nodes}, {"e", edges}};
}

Json gallery_json(const algebra::RuleRecord& record, Database& database) {
  const algebra::TermBank& bank = database.bank;
  const auto types = algebra::infer_types(record.rule, database.bank, database.symbols);
  const auto* typed = std::get_if<algebra::TypedRule>(&types);
  const algebra::Types known_types = typed == nullptr ? algebra::Types{} : typed->types;
  const algebra::Rule& rule = typed == nullptr ? record.rule : typed->rule;
  Json operators = Json::array();
  std::size_t sizes[2] = {0, 0};
  std::size_t side = 0;
  for (const auto* roots : {&rule.source, &rule.target}) {
    for (const algebra::NodeId node : bank.nodes(*roots)) {
      const std::string& name = bank.library().instance(bank.node(node).instance).operator_name;
      if (std::find(operators.begin(), operators.end(), name) == operators.end()) operators.push_back(name);
    }
    sizes[side] = bank.nodes(*roots).size();
    ++side;
  }
  std::string condition;
  for (const auto& each : record.rule.condition)
    condition += (condition.empty() ? "" : ", ") + algebra::to_string(each, database.symbols);
  return {{"id", record.rule.id},
          {"tier", tier_name(record.rule.tier)},
          {"proof", proof_name(record.certificate.kind)},
          {"queries", record.statistics.queries},
          {"instances", record.statistics.instances},
          {"reversible", record.reversible},
          {"condition", condition},
          {"ops", operators},
          {"sizes", {sizes[0], sizes[1]}},
          {"text", algebra::to_string(record.rule, bank, database.symbols)},
          {"certificate", record.certificate.text},
          {"left", drawing_json(algebra::draw_side(rule, rule.source, bank, database.symbols, known_types))},
          {"right", drawing_json(algebra::draw_side(rule, rule.target, bank, database.symbols, known_types))}};
}

/// JSON that is safe inside a script element.
std::string in_script(const Json& json) {
  std::string text;
  for (const char c : json.dump()) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

void write_gallery(Context& context, const std::string& out) {
  Database database(context.options);
  const std::filesystem::path page_template = shipped_folder("pages") / "rule_gallery.html";
  const std::string page =
      gallery_page(database, rules_file(context.options).filename().string(), runtime::read_file(page_template));
  runtime::write_file(out, page);
  context.report = {{"rules", database.rules.rules.size()}, {"bytes", page.size()}};
  context.print(out + ": " + std::to_string(database.rules.rules.size()) + " rules, " +
                runtime::format_bytes(page.size()) + "\n");
}

}  // namespace

std::string gallery_page(Database& database, const std::string& name, const std::string& page_template) {
  const algebra::Provenance& provenance = database.rules.provenance;
  Json funnel = Json::array(), rules = Json::array();
  for (const auto& [stage, count] : database.rules.funnel) funnel.push_back({stage, count});
  for (const algebra::RuleRecord& record : database.rules.rules) rules.push_back(gallery_json(record, database));
  const Json all = {{"name", name},
                    {"profile", provenance.profile_name},
                    {"max_operators", provenance.max_operators},
                    {"build", provenance.build},
                    {"solver", provenance.solver},
                    {"definitions", provenance.library_digest},
                    {"funnel", funnel},
                    {"rules", rules}};
  const std::string mark = "\"RULES\"";
  const std::size_t at = page_template.find(mark);
  if (at == std::string::npos)
    throw runtime::InputError("pages/rule_gallery.html", "has no mark " + mark + " for the rules");
  return page_template.substr(0, at) + in_script(all) + page_template.substr(at + mark.size());
}

void add_rules_gallery(CLI::App& rules, Options& options, Command& chosen) {
  auto* drawing = rules.add_subcommand("gallery", "Draw all rules of a database on one HTML page");
  auto out = std::make_shared<std::string>();
  drawing->add_option("--out", *out, "page to write (*.html)")->required();
  add_rules_option(*drawing, options, true);
  add_definitions_option(*drawing, options);
  add_common_options(*drawing, options);
  drawing->callback([out, &chosen] {
    chosen = [out](Context& context) { runtime::on_first_rank(context.world, [&] { write_gallery(context, *out); }); };
  });
}

}  // namespace rulemill::cli
