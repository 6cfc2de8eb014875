// `rulemill rules export`: a database as text, or in TASO's form as far as that can say it. `rules diff`: which rules
// two files share.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "algebra/exchange/taso_writer.h"
#include "algebra/terms/rule_renaming.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "cli/rule_commands.h"
#include "cli/rule_database.h"
#include "cli/text_table.h"
#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/hash.h"

namespace rulemill::cli {
namespace {

using algebra::Rule;

struct ExportOptions {
  std::string file, format = "text", table, tier;
  bool stable = false;
};

/// Named after what they say and sorted by it, so that a rule more or less is a paragraph more or less.
std::string stable_text(std::vector<Rule> rules, const algebra::TermBank& bank, const algebra::Symbols& symbols) {
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

void export_rules(Context& context, const ExportOptions& options) {
  Database database(context.options);
  std::vector<Rule> rules;
  for (const algebra::RuleRecord& record : database.rules.rules) {
    if (options.tier.empty() || options.tier == tier_name(record.rule.tier)) rules.push_back(record.rule);
  }
  std::string bytes;
  std::size_t written = rules.size();
  std::map<std::string, std::size_t> reasons;
  if (options.stable) {
    bytes = stable_text(std::move(rules), database.bank, database.symbols);
  } else if (options.format == "text") {
    bytes =
        "# " + std::to_string(rules.size()) + " rules of " + rules_file(context.options).filename().string() + "\n\n";
    for (const Rule& rule : rules) bytes += algebra::to_string(rule, database.bank, database.symbols);
  } else {
    const algebra::TasoTable table = load_taso_table(options.table, database.library);
    const algebra::TasoFile file =
        algebra::write_taso_rules(rules, table, database.library, database.bank, database.symbols);
    bytes = file.bytes;
    written = file.written.size();
    for (const auto& left_out : file.left_out) {
      ++reasons[left_out.reason];
      context.report["left_out"].push_back({{"rule", left_out.rule}, {"reason", left_out.reason}});
    }
    context.report["rules"] = file.written;
  }
  runtime::write_file(options.file, bytes);
  context.print(fmt::format("{}: {} rules\n", options.file, written));
  TextTable table({"left out", "because"});
  for (const auto& [reason, count] : reasons) table.add({std::to_string(count), reason});
  if (!table.empty()) context.print(table.text());
  context.report["written"] = written;
}

/// A rule with its types, and the text that stands for it.
struct Typed {
  std::string name, line, key;
  Rule rule;
};

/// The rules of a file that type; the others are counted.
std::vector<Typed> typed_rules(const std::string& file, const std::string& table, std::size_t& untyped,
                               algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols) {
  std::vector<Typed> result;
  for (const algebra::ForeignRule& foreign : read_rule_file(file, table, library, bank, symbols)) {
    if (!foreign.rule) {
      ++untyped;
      continue;
    }
    auto types = algebra::infer_types(*foreign.rule, bank, symbols);
    auto* typed = std::get_if<algebra::TypedRule>(&types);
    if (typed == nullptr) {
      ++untyped;
      continue;
    }
    result.push_back({foreign.name, body_line(algebra::to_string(typed->rule, bank, symbols)),
                      algebra::renaming_key(typed->rule, bank), std::move(typed->rule)});
  }
  return result;
}

struct DiffOptions {
  std::string a, b, table;
};

void diff(Context& context, const DiffOptions& options) {
  algebra::Library library = load_library(context.options);
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  std::size_t untyped_a = 0, untyped_b = 0;
  const std::vector<Typed> a = typed_rules(options.a, options.table, untyped_a, library, bank, symbols);
  const std::vector<Typed> b = typed_rules(options.b, options.table, untyped_b, library, bank, symbols);
  std::multimap<std::string, std::size_t> by_key;
  for (std::size_t i = 0; i < b.size(); ++i) by_key.emplace(b[i].key, i);
  std::vector<bool> met(b.size(), false);
  std::string text;
  std::size_t both = 0, only_a = 0, only_b = 0;
  for (const char* list : {"both", "only_a", "only_b"}) context.report[list] = runtime::Json::array();
  for (const Typed& mine : a) {
    std::string same;
    const auto [begin, end] = by_key.equal_range(mine.key);
    for (auto at = begin; at != end; ++at) {
      if (!algebra::same_rule(mine.rule, b[at->second].rule, bank, symbols)) continue;
      met[at->second] = true;
      if (same.empty()) same = b[at->second].name;
    }
    if (same.empty()) {
      ++only_a;
      text += fmt::format("- {}: {}\n", mine.name, mine.line);
      context.report["only_a"].push_back(mine.name);
    } else {
      ++both;
      context.report["both"].push_back({mine.name, same});
    }
  }
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (met[i]) continue;
    ++only_b;
    text += fmt::format("+ {}: {}\n", b[i].name, b[i].line);
    context.report["only_b"].push_back(b[i].name);
  }
  context.report["untyped"] = {untyped_a, untyped_b};
  text += fmt::format("{} in both, {} only in {}, {} only in {}", both, only_a, options.a, only_b, options.b);
  if (untyped_a + untyped_b > 0) text += fmt::format("; {} and {} that do not type are left out", untyped_a, untyped_b);
  context.print(text + "\n");
}

}  // namespace

void add_rules_export(CLI::App& rules, Options& options, Command& chosen) {
  auto* exporting =
      rules.add_subcommand("export", "Write a database as text, or in TASO's form as far as that can say it");
  auto given = std::make_shared<ExportOptions>();
  exporting->add_option("FILE", given->file, "file to write")->required();
  exporting->add_option("--format", given->format, "text or taso")
      ->check(CLI::IsMember({"text", "taso"}))
      ->capture_default_str();
  exporting->add_option("--tier", given->tier, "only core or only shortcut rules")
      ->check(CLI::IsMember({"core", "shortcut"}));
  exporting->add_flag("--stable", given->stable,
                      "as text, sorted, each rule named after what it says: a change shows as a difference");
  add_table_option(*exporting, given->table);
  add_rules_option(*exporting, options, true);
  add_definitions_option(*exporting, options);
  add_common_options(*exporting, options);
  exporting->callback([given, &chosen] {
    chosen = [given](Context& context) { on_first_rank(context.world, [&] { export_rules(context, *given); }); };
  });
}

void add_rules_diff(CLI::App& rules, Options& options, Command& chosen) {
  auto* comparing = rules.add_subcommand("diff", "Which rules two files share, names and orientation aside");
  auto given = std::make_shared<DiffOptions>();
  comparing->add_option("A", given->a, "rule database, text, or TASO's form")->required();
  comparing->add_option("B", given->b, "the same")->required();
  add_table_option(*comparing, given->table);
  add_definitions_option(*comparing, options);
  add_common_options(*comparing, options);
  comparing->callback([given, &chosen] {
    chosen = [given](Context& context) { on_first_rank(context.world, [&] { diff(context, *given); }); };
  });
}

}  // namespace rulemill::cli
