// `rulemill rules export`: a database as text, or in the form of another system as far as that can express it. `rules
// diff`: the rules that two files have in common.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "algebra/exchange/fixed_forms.h"
#include "algebra/exchange/rule_data.h"
#include "algebra/terms/rule_renaming.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "cli/command.h"
#include "cli/exchange_process.h"
#include "cli/number_option.h"
#include "cli/rules/rule_database.h"
#include "cli/rules/rule_gain.h"
#include "cli/text_table.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::cli {
namespace {

using algebra::Rule;
using algebra::RuleRecord;
using runtime::Json;

struct ExportOptions {
  std::string file, format = "text", taso_table, tier;
  std::string goals;  // egglog: a rule file (read_rule_file) whose sides are added; empty: none
  bool canonical = false;
  /// onnxscript, pdl: all directions that can be matched, not only the one that reduces the cost at all sizes
  /// (costs_at_samples). egglog: also the derived rules.
  bool all_rules = false;
};

/// Rules as the program text of another system.
struct ExportedRules {
  std::string text;
  std::vector<std::string> written = {};                          // names of the rules, in the file's order
  std::vector<std::pair<std::string, std::string>> skipped = {};  // rules that the form cannot express, and why
};

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
void send_record(const RuleRecord& record, const ExportOptions& options, Database& database, NodeCosts& known,
                 ExchangeProcess& process) {
  const bool is_egglog = options.format == "egglog";
  if (is_egglog && !options.all_rules && record.rule.tier == algebra::Tier::Derived) return;
  const Directions found = is_egglog           ? Directions{{record.rule}, {}}
                           : options.all_rules ? all_directions_of(record, database)
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
  for (const algebra::ImportedRule& goal : read_rule_file(file, {}, database)) {
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

/// Exports the records, by a helper process (ExchangeProcess). Throws InputError for an unreadable goal.
ExportedRules export_program(const std::vector<RuleRecord>& records, const ExportOptions& options,
                             const std::string& origin, Database& database) {
  ExchangeProcess process({{"format", options.format}, {"title", "Rules of " + origin}, {"all", options.all_rules}},
                          database.library);
  NodeCosts known;
  for (const RuleRecord& record : records) send_record(record, options, database, known, process);
  if (!options.goals.empty()) send_goals(options.goals, database, process);
  process.send({{"end", true}});
  const Json result = process.result();
  ExportedRules exported{result.at("text").get<std::string>(), result.at("written").get<std::vector<std::string>>()};
  for (const Json& each : result.at("skipped"))
    exported.skipped.emplace_back(each.at("rule").get<std::string>(), each.at("reason").get<std::string>());
  return exported;
}

/// The rules, named by a hash of their text and sorted by it: adding a rule adds one paragraph.
std::string canonical_text(std::vector<Rule> rules, const algebra::TermBank& bank, const algebra::Symbols& symbols) {
  std::set<std::pair<std::string, std::string>> texts;  // by statement
  for (Rule& rule : rules) {
    rule.id = "r";
    const std::string statement = algebra::to_string(rule, bank, symbols);
    rule.id = "r_" + runtime::to_hex(runtime::hash64(runtime::bytes_of(statement)));
    texts.emplace(statement.substr(statement.find('\n')) + statement, algebra::to_string(rule, bank, symbols));
  }
  std::string bytes;
  for (const auto& [statement, text] : texts) bytes += text;
  return bytes;
}

ExportedRules export_text(const std::vector<RuleRecord>& records, const ExportOptions& options,
                          const std::string& origin, const Database& database) {
  ExportedRules exported;
  std::vector<Rule> rules;
  for (const RuleRecord& record : records) {
    rules.push_back(record.rule);
    exported.written.push_back(record.rule.id);
  }
  if (options.canonical) {
    exported.text = canonical_text(std::move(rules), database.bank, database.symbols);
    return exported;
  }
  exported.text = "# " + std::to_string(rules.size()) + " rules of " + origin + "\n\n";
  for (const Rule& rule : rules) exported.text += algebra::to_string(rule, database.bank, database.symbols);
  return exported;
}

/// Exports the rules that reading their exported form gives back: TASO's has neither conditions nor shapes.
ExportedRules export_taso(const std::vector<RuleRecord>& records, const ExportOptions& options, Database& database) {
  algebra::TermBank& bank = database.bank;
  algebra::Symbols& symbols = database.symbols;
  ExchangeProcess process({{"format", "taso"}, {"table", options.taso_table}}, database.library);
  for (const RuleRecord& record : records) {
    const auto typed = algebra::require_types(record.rule, bank, symbols, "rule " + record.rule.id);
    process.send({{"form", algebra::rule_data(typed, {}, bank, symbols)}});
  }
  process.send({{"end", true}});
  const Json result = process.result();
  std::string all;
  std::vector<std::string> forms;  // empty if there is none
  for (const Json& each : result.at("rules")) {
    const auto bytes = each.value("bytes", std::vector<unsigned char>());
    all += forms.emplace_back(bytes.begin(), bytes.end());
  }
  std::multimap<std::string, Rule> readings;  // by place
  for (algebra::ImportedRule& read :
       read_exchange_file("taso", all, "forms", options.taso_table, database.library, bank, symbols)) {
    auto typed = read.rule ? algebra::try_typing(*read.rule, bank, symbols) : std::nullopt;
    if (typed) readings.emplace(read.place, std::move(typed->rule));
  }
  ExportedRules exported;
  for (std::size_t i = 0, form = 0; i < records.size(); ++i) {
    const Rule& rule = records[i].rule;
    const auto [begin, end] = readings.equal_range(forms[i].empty() ? "" : "forms: rule " + std::to_string(++form));
    const auto is_same = [&](const auto& reading) {
      return algebra::is_renaming_of(reading.second, rule, bank, symbols);
    };
    if (std::any_of(begin, end, is_same)) {
      exported.text += forms[i];
      exported.written.push_back(rule.id);
    } else {
      exported.skipped.emplace_back(
          rule.id, result["rules"][i].value("reason", "its condition or its shapes cannot be expressed"));
    }
  }
  return exported;
}

ExportedRules export_as(const ExportOptions& options, const std::string& origin, Database& database) {
  std::vector<RuleRecord> records;
  for (const RuleRecord& record : database.rules.rules) {
    if (options.tier.empty() || options.tier == tier_name(record.rule.tier)) records.push_back(record);
  }
  if (options.format == "text") return export_text(records, options, origin, database);
  std::vector<std::string> widening;
  std::erase_if(records, [&](const RuleRecord& each) {
    if (each.rule.widens) widening.push_back(each.rule.id);
    return each.rule.widens;
  });
  ExportedRules exported = options.format == "taso" ? export_taso(records, options, database)
                                                    : export_program(records, options, origin, database);
  for (const std::string& rule : widening) exported.skipped.emplace_back(rule, "it only widens");
  return exported;
}

void export_rules(Context& context, const ExportOptions& options) {
  if (options.format != "text" && options.canonical)
    throw runtime::UsageError("--canonical", "applies to --format text only");
  if (options.all_rules && (options.format == "text" || options.format == "taso"))
    throw runtime::UsageError("--all", "applies to --format onnxscript, pdl and egglog only");
  if (!options.goals.empty() && options.format != "egglog")
    throw runtime::UsageError("--goals", "applies to --format egglog only");
  Database database(context.options);
  const ExportedRules exported = export_as(options, rules_file(context.options).filename().string(), database);
  std::map<std::string, std::size_t> reasons;
  for (const auto& [rule, reason] : exported.skipped) {
    ++reasons[reason];
    context.report["skipped"].push_back({{"rule", rule}, {"reason", reason}});
  }
  if (options.format != "text") context.report["rules"] = exported.written;
  runtime::write_file(options.file, exported.text);
  context.print(fmt::format("{}: {} rules\n", options.file, exported.written.size()));
  TextTable table({"skipped", "reason"});
  for (const auto& [reason, count] : reasons) table.add({std::to_string(count), reason});
  if (!table.empty()) context.print(table.text());
  context.report["written"] = exported.written.size();
}

/// A typed rule, its text and its key up to renaming.
struct KeyedRule {
  std::string name, line, key;
  Rule rule;
};

/// The well-typed rules of a file; counts the others.
std::vector<KeyedRule> typed_rules(const std::string& file, const std::string& table, std::size_t& untyped,
                                   Terms& terms) {
  std::vector<KeyedRule> result;
  for (const algebra::ImportedRule& foreign : read_rule_file(file, table, terms)) {
    auto typed = foreign.rule ? algebra::try_typing(*foreign.rule, terms.bank, terms.symbols) : std::nullopt;
    if (!typed) {
      ++untyped;
      continue;
    }
    result.push_back({foreign.name, body_line(algebra::to_string(typed->rule, terms.bank, terms.symbols)),
                      algebra::renaming_key(typed->rule, terms.bank), std::move(typed->rule)});
  }
  return result;
}

struct DiffOptions {
  std::string a, b, table;
};

void diff(Context& context, const DiffOptions& options) {
  Terms terms(context.options);
  std::size_t ill_typed_a = 0, ill_typed_b = 0;
  const std::vector<KeyedRule> a = typed_rules(options.a, options.table, ill_typed_a, terms);
  const std::vector<KeyedRule> b = typed_rules(options.b, options.table, ill_typed_b, terms);
  std::multimap<std::string, std::size_t> by_key;
  for (std::size_t i = 0; i < b.size(); ++i) by_key.emplace(b[i].key, i);
  std::vector<bool> matched(b.size(), false);
  std::string text;
  std::size_t both = 0, only_a = 0, only_b = 0;
  for (const char* list : {"both", "only_a", "only_b"}) context.report[list] = runtime::Json::array();
  for (const KeyedRule& rule : a) {
    std::string same;
    const auto [begin, end] = by_key.equal_range(rule.key);
    for (auto at = begin; at != end; ++at) {
      if (!algebra::is_renaming_of(rule.rule, b[at->second].rule, terms.bank, terms.symbols)) continue;
      matched[at->second] = true;
      if (same.empty()) same = b[at->second].name;
    }
    if (same.empty()) {
      ++only_a;
      text += fmt::format("- {}: {}\n", rule.name, rule.line);
      context.report["only_a"].push_back(rule.name);
    } else {
      ++both;
      context.report["both"].push_back({rule.name, same});
    }
  }
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (matched[i]) continue;
    ++only_b;
    text += fmt::format("+ {}: {}\n", b[i].name, b[i].line);
    context.report["only_b"].push_back(b[i].name);
  }
  context.report["ill_typed"] = {ill_typed_a, ill_typed_b};
  text += fmt::format("{} in both, {} only in {}, {} only in {}", both, only_a, options.a, only_b, options.b);
  if (ill_typed_a + ill_typed_b > 0)
    text += fmt::format("; {} and {} ill-typed or unreadable rules skipped", ill_typed_a, ill_typed_b);
  context.print(text + "\n");
}

}  // namespace

void add_rules_export(CLI::App& rules, Options& options, Command& chosen) {
  auto* exporting = rules.add_subcommand("export", "Write a database as text, or in the form of another program");
  auto given = std::make_shared<ExportOptions>();
  add_rules_operand(*exporting, options);
  options.files.writes(exporting->add_option("FILE", given->file, "file to write; - means standard output"))
      ->required();
  exporting
      ->add_option(
          "--format", given->format,
          "output format: text, taso (protobuf), onnxscript (a module of rewrite rules), pdl (MLIR patterns on "
          "StableHLO) or egglog (a program)")
      ->check(one_of("format", {"text", "taso", "onnxscript", "pdl", "egglog"}));
  exporting->add_option("--tier", given->tier, "only rules of this tier: core or derived")
      ->check(one_of("tier", {"core", "derived"}));
  exporting->add_flag("--canonical", given->canonical,
                      "sort the rules and name each by a hash of its text, so that files can be compared with diff");
  exporting->add_flag("--all", given->all_rules,
                      "onnxscript, pdl: also directions that do not reduce the cost; egglog: also derived rules");
  options.files.reads(exporting->add_option("--goals", given->goals,
                                            "egglog: rules whose sides the program ends with, to test whether they are "
                                            "equal"),
                      PathKind::Database);
  add_taso_table_option(*exporting, options, given->taso_table);
  add_general_options(*exporting, options);
  choose_on_first_rank(*exporting, chosen, export_rules, given);
}

void add_rules_diff(CLI::App& rules, Options& options, Command& chosen) {
  auto* comparing = rules.add_subcommand("diff", "Compare the rules of two files up to renaming and orientation");
  auto given = std::make_shared<DiffOptions>();
  options.files
      .reads(comparing->add_option("A", given->a, "rule database, text file, *.egg, *.pdl, or TASO's protobuf"),
             PathKind::Database)
      ->required();
  options.files.reads(comparing->add_option("B", given->b, "another one"), PathKind::Database)->required();
  add_taso_table_option(*comparing, options, given->table);
  add_general_options(*comparing, options);
  choose_on_first_rank(*comparing, chosen, diff, given);
}

}  // namespace rulemill::cli
