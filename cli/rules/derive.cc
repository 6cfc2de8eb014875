// `rulemill derive --from RULES FILE`: derives the rules of a file from those of another.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "algebra/rules/specialization.h"
#include "algebra/terms/rule_renaming.h"
#include "algebra/terms/typing.h"
#include "cli/rules/rule_database.h"
#include "cli/text_table.h"
#include "egraph/derive.h"
#include "prove/prover/prover.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::cli {
namespace {

struct DeriveOptions {
  std::string from, file, taso_table;
  bool use_derived = false;
};

/// The rules to derive from: the core of a database, or all its rules; all rules of other files. General rules are also
/// specialized to the ranks and parameters of the goals. The rules are assumed to be true.
class Premises {
 public:
  Premises(const DeriveOptions& options, const std::vector<algebra::ImportedRule>& goals, Terms& terms)
      : bank_(terms.bank), symbols_(terms.symbols), deriver_(bank_, symbols_) {
    const std::vector<algebra::ImportedRule> rules = read_rule_file(options.from, options.taso_table, terms);
    const auto is_core = [](const algebra::ImportedRule& rule) {
      return rule.rule && rule.rule->tier == algebra::Tier::Core;
    };
    const bool core_only = !options.use_derived && std::ranges::any_of(rules, is_core);
    std::vector<algebra::RuleRecord> general;
    for (const algebra::ImportedRule& rule : rules) {
      if (!rule.rule) throw runtime::InputError(rule.place, rule.problem);
      if (core_only && !is_core(rule)) continue;
      const algebra::TypedRule typed = algebra::require_types(*rule.rule, bank_, symbols_, rule.place);
      add(typed);
      if (!algebra::is_general(typed.rule, bank_)) continue;
      algebra::RuleRecord& record = general.emplace_back();
      record.rule = typed.rule;
      record.reversible = true;
    }
    for (const algebra::RuleRecord& record :
         specialize(general, used_operators(goals), terms.library, bank_, symbols_)) {
      if (const auto typed = algebra::try_typing(record.rule, bank_, symbols_)) add(*typed);
    }
  }

  struct Result {
    const char* verdict;
    std::string detail;
    bool malformed = false;
  };
  Result derive(const algebra::ImportedRule& goal) {
    if (!goal.rule) return {"unreadable", goal.problem, true};
    auto types = algebra::infer_types(*goal.rule, bank_, symbols_);
    if (const auto* error = std::get_if<algebra::TypeError>(&types)) return {"ill-typed", error->what, true};
    const auto& typed = std::get<algebra::TypedRule>(types);
    prove::Prover prover(bank_, symbols_);
    const std::vector<algebra::SizeCondition> narrowing = prover.narrowing(typed, {});
    const Rule* same = find_equal(typed.rule);
    if (same != nullptr && narrowing.empty()) return {"derived", "equals " + same->id};
    const egraph::Derivation derivation = deriver_.derive_with_extended_limits(typed);
    if (const auto* derived = std::get_if<egraph::Derived>(&derivation)) {
      const prove::ProofResult domains = prover.prove_same_domain(typed);
      if (!domains.proved) return {"not derived", "the values are equal, but " + domains.reason};
      if (!narrowing.empty()) return {"narrowed", "when " + algebra::to_string(narrowing, symbols_)};
      const std::size_t count = derived->instances.size();
      return {"derived", fmt::format("{} rule instance{}", count, count == 1 ? "" : "s")};
    }
    if (std::holds_alternative<egraph::Saturated>(derivation)) return {"not derived", "saturated"};
    return {"limit reached", egraph::to_string(std::get<egraph::LimitReached>(derivation).kind)};
  }

  std::size_t size() const { return by_key_.size(); }

 private:
  using Rule = algebra::Rule;

  void add(const algebra::TypedRule& rule) {
    deriver_.add(rule);
    by_key_.emplace(algebra::renaming_key(rule.rule, bank_), rule.rule);
  }

  algebra::UsedOperators used_operators(const std::vector<algebra::ImportedRule>& goals) const {
    algebra::UsedOperators found;
    for (const algebra::ImportedRule& goal : goals) {
      if (!goal.rule) continue;
      for (const algebra::NodeId node : algebra::nodes_of(*goal.rule, bank_))
        found.instances.insert(bank_.node(node).instance);
    }
    return found;
  }

  /// Returns the premise that equals the rule up to renaming, or null.
  const Rule* find_equal(const Rule& rule) {
    const auto [begin, end] = by_key_.equal_range(algebra::renaming_key(rule, bank_));
    const auto found = std::find_if(
        begin, end, [&](const auto& known) { return algebra::is_renaming_of(known.second, rule, bank_, symbols_); });
    return found == end ? nullptr : &found->second;
  }

  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  egraph::Deriver deriver_;
  std::multimap<std::string, Rule> by_key_;
};

void derive_rules(Context& context, const DeriveOptions& options) {
  Terms terms(context.options);
  const std::vector<algebra::ImportedRule> goals = read_rule_file(options.file, options.taso_table, terms);
  Premises premises(options, goals, terms);
  TextTable table({"rule", "result", "detail"});
  std::map<std::string, std::size_t> counts;
  std::optional<runtime::InputError> malformed;  // of the first such rule
  const runtime::Stopwatch watch;
  for (const algebra::ImportedRule& goal : goals) {
    const Premises::Result result = premises.derive(goal);
    ++counts[result.verdict];
    if (result.malformed && !malformed)
      malformed.emplace(goal.place, fmt::format("rule {} is {}: {}", goal.name, result.verdict, result.detail));
    table.add({goal.name, result.verdict, result.detail});
    context.report["rules"].push_back({{"name", goal.name}, {"result", result.verdict}, {"detail", result.detail}});
  }
  const double seconds = watch.seconds();
  std::string summary;
  for (const auto& [verdict, count] : counts)
    summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", count, verdict);
  context.print(table.text(context.uses_colours()) + fmt::format("\n{} rules: {}; derived from {} rules; {:.2f} s\n",
                                                                 goals.size(), summary, premises.size(), seconds));
  context.report["counts"] = counts;
  context.report["premises"] = premises.size();
  context.report["seconds"] = seconds;
  if (malformed) throw runtime::InputError(*malformed);
  if (const std::size_t missing = goals.size() - counts["derived"]; missing > 0) {
    throw runtime::Error(
        options.file, fmt::format("{} of {} rules could not be derived from {}", missing, goals.size(), options.from));
  }
}

}  // namespace

void add_derive(CLI::App& app, Options& options, Command& chosen) {
  auto* deriving =
      app.add_subcommand("derive", "Derive the rules of a file from others; exit code 1 if one cannot be derived");
  auto given = std::make_shared<DeriveOptions>();
  options.files
      .reads(deriving->add_option(
                 "--from", given->from,
                 "rules to derive from: a database (its core), a text file, *.egg, *.pdl, or TASO's protobuf"),
             PathKind::Database)
      ->required();
  options.files
      .reads(deriving->add_option("FILE", given->file,
                                  "rules to derive: a database, a text file, *.egg, *.pdl, or TASO's protobuf"),
             PathKind::Database)
      ->required();
  deriving->add_flag("--use-derived", given->use_derived,
                     "derive from the derived rules of a database, too; default: its core only");
  add_taso_table_option(*deriving, options, given->taso_table);
  add_general_options(*deriving, options);
  choose_on_first_rank(*deriving, chosen, derive_rules, given);
}

}  // namespace rulemill::cli
