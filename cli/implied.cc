// `rulemill implied --by RULES FILE`: which rules of a file follow from those of another.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "algebra/rules/general_rules.h"
#include "algebra/terms/rule_renaming.h"
#include "algebra/terms/typing.h"
#include "cli/rule_database.h"
#include "cli/text_table.h"
#include "egraph/derive.h"
#include "prove/prover.h"
#include "runtime/error.h"

namespace rulemill::cli {
namespace {

struct ImpliedOptions {
  std::string by, file, table;
  bool all = false;
};

/// The rules to derive from: of a database its core, which implies the rest, or all; of other files all; those in
/// general form also at the ranks and parameters that the goals have. They are taken as true; `check` and `rules
/// import` are what proves them.
class Known {
 public:
  Known(const ImpliedOptions& options, const std::vector<algebra::ForeignRule>& goals, algebra::Library& library,
        algebra::TermBank& bank, algebra::Symbols& symbols)
      : bank_(bank), symbols_(symbols), deriver_(bank, symbols) {
    const std::vector<algebra::ForeignRule> rules = read_rule_file(options.by, options.table, library, bank, symbols);
    const auto is_core = [](const algebra::ForeignRule& rule) {
      return rule.rule && rule.rule->tier == algebra::Tier::Core;
    };
    const bool core_alone = !options.all && std::ranges::any_of(rules, is_core);
    std::vector<algebra::RuleRecord> general;
    for (const algebra::ForeignRule& rule : rules) {
      if (!rule.rule) throw runtime::InputError(rule.place, rule.problem);
      if (core_alone && !is_core(rule)) continue;
      auto types = algebra::infer_types(*rule.rule, bank, symbols);
      const auto* typed = std::get_if<algebra::TypedRule>(&types);
      if (typed == nullptr)
        throw runtime::InputError(rule.place, "is ill-typed: " + std::get<algebra::TypeError>(types).what);
      add(*typed);
      if (!algebra::is_general(typed->rule, bank)) continue;
      algebra::RuleRecord& record = general.emplace_back();
      record.rule = typed->rule;
      record.reversible = true;
    }
    for (const algebra::RuleRecord& record : at_instances(general, occurrences(goals), library, bank, symbols)) {
      auto types = algebra::infer_types(record.rule, bank, symbols);
      if (const auto* typed = std::get_if<algebra::TypedRule>(&types)) add(*typed);
    }
  }

  struct Answer {
    const char* word;
    std::string detail;
  };
  Answer ask(const algebra::ForeignRule& goal) {
    if (!goal.rule) return {"unreadable", goal.problem};
    auto types = algebra::infer_types(*goal.rule, bank_, symbols_);
    if (const auto* error = std::get_if<algebra::TypeError>(&types)) return {"ill-typed", error->what};
    const auto& typed = std::get<algebra::TypedRule>(types);
    if (const Rule* same = same_as(typed.rule)) return {"implied", "is " + same->id};
    const egraph::Derivation derivation = deriver_.derive_harder(typed);
    if (const auto* derived = std::get_if<egraph::Derived>(&derivation)) {
      const prove::Prover::Outcome domains = prove::Prover(bank_, symbols_).same_domain(typed);
      if (!domains.proved) return {"not implied", "its values follow, but " + domains.reason};
      const std::size_t count = derived->instances.size();
      return {"implied", fmt::format("{} instance{}", count, count == 1 ? "" : "s")};
    }
    if (std::holds_alternative<egraph::Saturated>(derivation)) return {"not implied", "saturated"};
    return {"limit reached", egraph::to_string(std::get<egraph::LimitReached>(derivation).which)};
  }

  std::size_t size() const { return by_key_.size(); }

 private:
  using Rule = algebra::Rule;

  void add(const algebra::TypedRule& rule) {
    deriver_.add(rule);
    by_key_.emplace(algebra::renaming_key(rule.rule, bank_), rule.rule);
  }

  algebra::Occurrences occurrences(const std::vector<algebra::ForeignRule>& goals) const {
    algebra::Occurrences found;
    for (const algebra::ForeignRule& goal : goals) {
      if (!goal.rule) continue;
      for (const auto* side : {&goal.rule->source, &goal.rule->target}) {
        for (const algebra::NodeId node : bank_.nodes(*side)) found.instances.insert(bank_.node(node).instance);
      }
    }
    return found;
  }

  /// The known rule that it is, names aside.
  const Rule* same_as(const Rule& rule) {
    const auto [begin, end] = by_key_.equal_range(algebra::renaming_key(rule, bank_));
    const auto found = std::find_if(
        begin, end, [&](const auto& known) { return algebra::same_rule(known.second, rule, bank_, symbols_); });
    return found == end ? nullptr : &found->second;
  }

  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  egraph::Deriver deriver_;
  std::multimap<std::string, Rule> by_key_;
};

void implied(Context& context, const ImpliedOptions& options) {
  algebra::Library library = load_library(context.options);
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const std::vector<algebra::ForeignRule> goals = read_rule_file(options.file, options.table, library, bank, symbols);
  Known known(options, goals, library, bank, symbols);
  TextTable table({"rule", "answer", "because"});
  std::map<std::string, std::size_t> counts;
  const auto begin = std::chrono::steady_clock::now();
  for (const algebra::ForeignRule& goal : goals) {
    const Known::Answer answer = known.ask(goal);
    ++counts[answer.word];
    table.add({goal.name, answer.word, answer.detail});
    context.report["rules"].push_back({{"name", goal.name}, {"answer", answer.word}, {"detail", answer.detail}});
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::string summary;
  for (const auto& [word, count] : counts) summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", count, word);
  context.print(table.text() + fmt::format("\n{} rules: {}; {} to derive from; {:.2f} s\n", goals.size(), summary,
                                           known.size(), seconds));
  context.report["counts"] = counts;
  context.report["known"] = known.size();
  context.report["seconds"] = seconds;
  if (const std::size_t missing = goals.size() - counts["implied"]; missing > 0) {
    throw runtime::Error(
        options.file, fmt::format("{} of {} rules are not shown to follow from {}", missing, goals.size(), options.by));
  }
}

}  // namespace

void add_implied(CLI::App& app, Options& options, Command& chosen) {
  auto* asking = app.add_subcommand("implied", "Which rules of a file follow from others; exit code 1 if not all do");
  auto given = std::make_shared<ImpliedOptions>();
  asking->add_option("--by", given->by, "rules to derive from: a database (its core), text, or TASO's form")
      ->required();
  asking->add_option("FILE", given->file, "rules to derive: a database, text, or TASO's form")->required();
  asking->add_flag("--all", given->all, "derive from a database's shortcuts, too");
  add_table_option(*asking, given->table);
  add_definitions_option(*asking, options);
  add_common_options(*asking, options);
  asking->callback([given, &chosen] {
    chosen = [given](Context& context) { on_first_rank(context.world, [&] { implied(context, *given); }); };
  });
}

}  // namespace rulemill::cli
