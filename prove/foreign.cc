#include "prove/foreign.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "algebra/terms/any_rank.h"
#include "algebra/terms/rule_text.h"
#include "prove/certificate/certificate.h"
#include "prove/farm/definition_proof.h"
#include "prove/farm/record.h"
#include "prove/farm/workbench.h"

namespace rulemill::prove {

using algebra::Rule;

namespace {

void append(std::string& text, const std::string& part, const char* separator) {
  if (!part.empty()) text += (text.empty() ? "" : separator) + part;
}

ForeignVerdict judge(const algebra::ForeignRule& foreign, Prover& prover, algebra::TermBank& bank,
                     algebra::Symbols& symbols) {
  ForeignVerdict result;
  result.name = foreign.name;
  result.place = foreign.place;
  if (!foreign.rule) {
    result.detail = foreign.problem;
    return result;
  }
  const auto begin = std::chrono::steady_clock::now();
  const Verdict verdict = prover.prove(*foreign.rule);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.kind = standing(verdict);
  result.detail = detail(verdict);
  if (const auto* typed = typed_rule(verdict)) result.rule = algebra::to_string(typed->rule, bank, symbols);
  if (const auto* proved = std::get_if<Proved>(&verdict)) {
    result.queries = proved->queries;
    for (const auto& condition : proved->found) append(result.condition, algebra::to_string(condition, symbols), ", ");
    if (!result.condition.empty()) result.detail = "when " + result.condition;
    for (const std::string& pinned : proved->typed.pinned) append(result.detail, pinned, "; ");
  }
  return result;
}

/// What the rule calls a group and is none.
std::optional<std::string> no_group(const std::string& text, algebra::Library& library) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const Rule rule = algebra::parse_rules(text, "rule", library, bank, symbols).at(0);
  for (const algebra::Atom group : rule.groups) {
    if (!algebra::with_rank(rule, group, 2, library, bank, symbols)) return symbols.name(group);
  }
  return std::nullopt;
}

/// A database keeps a rule as text, with a proof that the checker follows: one that is proved with the types found and
/// not from its text, or by no such steps, is unknown.
void prove_again(ForeignVerdict& verdict, algebra::Library& library, const ProverOptions& options) {
  if (verdict.kind != ForeignVerdict::Kind::Proved) return;
  const Outcome again = prove_rule(verdict.rule, library, options);
  std::string reason;
  if (again.kind != Outcome::Kind::Proved) {
    verdict.detail = "proved for the types found, not from its text: " + again.detail;
  } else if (!certify_by_definitions(verdict.rule, library, options, reason)) {
    verdict.detail = "proved by no steps that the checker can follow: " + reason;
  } else if (const auto group = no_group(verdict.rule, library)) {
    verdict.detail =
        "proved for one dimension " + *group + "; an operator does more than pass " + *group + "... through";
  } else {
    return;
  }
  verdict.kind = ForeignVerdict::Kind::Unknown;
}

/// The proved rules, those of few nodes first, divided into a core and what it implies.
class Selection {
 public:
  Selection(const std::vector<ForeignVerdict>& verdicts, algebra::Library& library, algebra::TermBank& bank,
            algebra::Symbols& symbols, const egraph::Limits& limits)
      : bench_(library, limits) {
    for (const ForeignVerdict& verdict : verdicts) {
      if (verdict.kind != ForeignVerdict::Kind::Proved) continue;
      Rule rule = algebra::parse_rules(verdict.rule, verdict.place, library, bank, symbols).at(0);
      rule.id = verdict.name;
      Outcome outcome;
      outcome.kind = Outcome::Kind::Proved;
      outcome.candidate = verdict.name;
      outcome.rule = algebra::to_string(rule, bank, symbols);
      outcome.queries = verdict.queries;
      entries_.push_back({std::move(outcome), bank.nodes(rule.source).size() + bank.nodes(rule.target).size()});
    }
    std::ranges::stable_sort(entries_, {}, &Entry::nodes);
    for (const Entry& entry : entries_) bench_.add_rule(entry.outcome.rule);
  }

  /// Takes out of the core, largest first, what the rest implies; then explains that by what is left.
  void prune() {
    for (std::size_t i = entries_.size(); i-- > 0;) {
      const auto number = static_cast<std::uint32_t>(i);
      bench_.enable(number, false);
      if (bench_.implied(entries_[i].outcome.rule, Workbench::Try::Harder) == Implied::Yes) {
        entries_[i].outcome.kind = Outcome::Kind::Derived;
      } else {
        bench_.enable(number, true);
      }
    }
    for (Entry& entry : entries_) {
      if (entry.outcome.kind != Outcome::Kind::Derived) continue;
      const Outcome explained = bench_.explain(entry.outcome.rule, Workbench::Try::Harder);
      entry.outcome.kind = explained.kind == Outcome::Kind::Derived ? explained.kind : Outcome::Kind::Proved;
      entry.outcome.instances = explained.instances;
      entry.outcome.certificate = explained.certificate;
    }
  }

  std::vector<algebra::RuleRecord> records(algebra::Library& library, algebra::TermBank& bank,
                                           algebra::Symbols& symbols) const {
    std::vector<algebra::RuleRecord> result;
    for (const auto kind : {ForeignPlace::Kind::Core, ForeignPlace::Kind::Shortcut}) {
      for (const Entry& entry : entries_) {
        if (place(entry) == kind)
          result.push_back(record_of(entry.outcome, entry.outcome.candidate, library, bank, symbols));
      }
    }
    return result;
  }

  std::vector<ForeignPlace> places() const {
    std::vector<ForeignPlace> result;
    for (const Entry& entry : entries_) result.push_back({entry.outcome.candidate, place(entry)});
    return result;
  }

 private:
  struct Entry {
    Outcome outcome;  // proved: core
    std::size_t nodes = 0;
  };

  static ForeignPlace::Kind place(const Entry& entry) {
    if (entry.outcome.kind == Outcome::Kind::Proved) return ForeignPlace::Kind::Core;
    return entry.outcome.instances < 2 ? ForeignPlace::Kind::Instance : ForeignPlace::Kind::Shortcut;
  }

  Workbench bench_;
  std::vector<Entry> entries_;
};

}  // namespace

std::vector<ForeignVerdict> judge_foreign(const std::vector<algebra::ForeignRule>& rules, algebra::Library& library,
                                          algebra::TermBank& bank, algebra::Symbols& symbols,
                                          const ProverOptions& options) {
  Prover prover(bank, symbols, options);
  std::vector<ForeignVerdict> verdicts;
  for (const algebra::ForeignRule& rule : rules) {
    verdicts.push_back(judge(rule, prover, bank, symbols));
    prove_again(verdicts.back(), library, options);
  }
  return verdicts;
}

algebra::RuleSet foreign_database(const std::vector<ForeignVerdict>& verdicts, algebra::Library& library,
                                  algebra::TermBank& bank, algebra::Symbols& symbols, const ProverOptions& options,
                                  const egraph::Limits& limits, std::vector<ForeignPlace>* places) {
  Selection selection(verdicts, library, bank, symbols, limits);
  selection.prune();
  algebra::RuleSet rules;
  rules.rules = selection.records(library, bank, symbols);
  certify(rules, library, bank, symbols, options);
  const auto count = [&](ForeignVerdict::Kind kind) {
    return static_cast<std::uint64_t>(std::ranges::count(verdicts, kind, &ForeignVerdict::kind));
  };
  rules.funnel.emplace_back("rules read", verdicts.size());
  for (const auto kind : {ForeignVerdict::Kind::Unreadable, ForeignVerdict::Kind::IllTyped,
                          ForeignVerdict::Kind::Refuted, ForeignVerdict::Kind::Unknown, ForeignVerdict::Kind::Proved}) {
    rules.funnel.emplace_back(name(kind), count(kind));
  }
  const auto tier = [&](algebra::Tier which) {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        rules.rules, [&](const algebra::RuleRecord& record) { return record.rule.tier == which; }));
  };
  rules.funnel.emplace_back("core", tier(algebra::Tier::Core));
  rules.funnel.emplace_back("shortcut", tier(algebra::Tier::Shortcut));
  if (places != nullptr) *places = selection.places();
  return rules;
}

}  // namespace rulemill::prove
