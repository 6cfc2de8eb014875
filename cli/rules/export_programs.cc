#include "cli/rules/export_programs.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "algebra/exchange/fixed_forms.h"
#include "algebra/exchange/rule_data.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "cli/exchange_process.h"
#include "cli/rules/rule_gain.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::cli {
namespace {

using algebra::ExportedRules;
using algebra::Rule;
using algebra::RuleRecord;
using runtime::Json;

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

/// Whether each node of a rule can be one ONNX node.
bool has_onnx_nodes(const Rule& rule, const algebra::TermBank& bank) {
  return std::ranges::all_of(algebra::nodes_of(rule, bank), [&](algebra::NodeId id) {
    const auto& mappings = bank.library().instance(bank.node(id).instance).onnx;
    return std::ranges::any_of(mappings, algebra::is_to_one_node);
  });
}

/// The forms of a rule at fixed ranks, with numbers for symbolic parameters where the format needs them.
std::vector<Rule> forms_of(const Rule& rule, const std::string& format, Database& database) {
  const std::uint32_t max_rank = format == "egglog" ? max_egglog_rank : algebra::max_exported_rank;
  std::vector<Rule> result;
  for (Rule& form : algebra::fixed_ranks(rule, max_rank, database.library, database.bank, database.symbols)) {
    if (format == "egglog" || (format == "onnxscript" && has_onnx_nodes(form, database.bank))) {
      result.push_back(std::move(form));
    } else {
      std::ranges::move(algebra::fixed_parameters(form, database.library, database.bank, database.symbols),
                        std::back_inserter(result));
    }
  }
  return result;
}

/// Sends the rules of a record that a program has, each with its forms.
void send_record(const RuleRecord& record, const ProgramOptions& options, Database& database, NodeCosts& known,
                 ExchangeProcess& process) {
  const bool is_egglog = options.format == "egglog";
  if (is_egglog && !options.all && record.rule.tier == algebra::Tier::Derived) return;
  const Directions found = is_egglog     ? Directions{{record.rule}, {}}
                           : options.all ? all_directions_of(record, database)
                                         : cheaper_direction(record, database, known);
  if (found.rules.empty()) process.send({{"skipped", record.rule.id}, {"reason", found.reason}});
  const algebra::RuleDataParts parts{.onnx = options.format == "onnxscript", .general = is_egglog};
  for (const Rule& rule : found.rules) {
    process.send({{"rule", rule.id},
                  {"text", algebra::to_string(rule, database.bank, database.symbols)},
                  {"proof", proof_of(record)}});
    for (const Rule& form : forms_of(rule, options.format, database)) {
      if (const auto typed = algebra::try_typing(form, database.bank, database.symbols))
        process.send({{"form", algebra::rule_data(*typed, parts, database.bank, database.symbols)}});
    }
  }
}

void send_goals(const std::string& file, Database& database, ExchangeProcess& process) {
  for (const algebra::ImportedRule& goal :
       read_rule_file(file, {}, database.library, database.bank, database.symbols)) {
    if (!goal.rule) throw runtime::InputError(goal.place, goal.problem);
    const auto types = algebra::infer_types(*goal.rule, database.bank, database.symbols);
    if (const auto* error = std::get_if<algebra::TypeError>(&types)) {
      process.send({{"skipped", "goal " + goal.name}, {"reason", "it is ill-typed: " + error->what}});
    } else {
      const auto& typed = std::get<algebra::TypedRule>(types);
      process.send({{"goal", algebra::rule_data(typed, {.general = true}, database.bank, database.symbols)}});
    }
  }
}

}  // namespace

ExportedRules export_program(const std::vector<RuleRecord>& records, const ProgramOptions& options,
                             Database& database) {
  ExchangeProcess process({{"format", options.format}, {"title", options.title}, {"all", options.all}},
                          database.library);
  NodeCosts known;
  for (const RuleRecord& record : records) send_record(record, options, database, known, process);
  if (!options.goals.empty()) send_goals(options.goals, database, process);
  process.send({{"end", true}});
  const Json result = process.result();
  ExportedRules exported{
      result.at("text").get<std::string>(), result.at("written").get<std::vector<std::string>>(), {}};
  for (const Json& each : result.at("skipped"))
    exported.skipped.push_back({each.at("rule").get<std::string>(), each.at("reason").get<std::string>()});
  return exported;
}

}  // namespace rulemill::cli
