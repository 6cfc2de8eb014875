#include "prove/foreign.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>

#include "algebra/terms/any_rank.h"
#include "algebra/terms/rule_text.h"
#include "prove/certificate/certificate.h"
#include "prove/farm/definition_proof.h"
#include "runtime/error.h"

namespace rulemill::prove {

using algebra::Rule;
using algebra::TermId;
using algebra::TypedRule;

const char* name(ForeignVerdict::Kind kind) {
  constexpr const char* names[] = {"proved", "refuted", "unknown", "ill-typed", "unreadable"};
  return names[static_cast<std::size_t>(kind)];
}

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
  if (const auto* proved = std::get_if<Proved>(&verdict)) {
    result.kind = ForeignVerdict::Kind::Proved;
    result.rule = algebra::to_string(proved->typed.rule, bank, symbols);
    result.queries = proved->queries;
    for (const auto& condition : proved->found) append(result.condition, algebra::to_string(condition, symbols), ", ");
    if (!result.condition.empty()) result.detail = "when " + result.condition;
    for (const std::string& pinned : proved->typed.pinned) append(result.detail, pinned, "; ");
  } else if (const auto* refuted = std::get_if<Refuted>(&verdict)) {
    result.kind = ForeignVerdict::Kind::Refuted;
    result.rule = algebra::to_string(refuted->typed.rule, bank, symbols);
    result.detail = to_string(refuted->counterexample);
  } else if (const auto* unknown = std::get_if<Unknown>(&verdict)) {
    result.kind = ForeignVerdict::Kind::Unknown;
    result.detail = unknown->reason;
  } else {
    result.kind = ForeignVerdict::Kind::IllTyped;
    result.detail = std::get<IllTyped>(verdict).what;
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

/// The proved rules as the database will state them, in the order in which they enter the core.
class Selection {
 public:
  Selection(const std::vector<ForeignVerdict>& verdicts, algebra::Library& library, algebra::TermBank& bank,
            algebra::Symbols& symbols, const egraph::Limits& limits)
      : bank_(bank), symbols_(symbols), deriver_(bank, symbols, limits) {
    for (const ForeignVerdict& verdict : verdicts) {
      if (verdict.kind != ForeignVerdict::Kind::Proved) continue;
      Rule rule = algebra::parse_rules(verdict.rule, verdict.place, library, bank, symbols).at(0);
      rule.id = verdict.name;
      auto types = algebra::infer_types(rule, bank, symbols);
      if (const auto* error = std::get_if<algebra::TypeError>(&types)) {
        throw runtime::Error(verdict.place, "rule " + rule.id + " is proved and does not type again: " + error->what);
      }
      entries_.push_back({std::move(rule), std::move(std::get<TypedRule>(types)), verdict.queries, {}, {}});
    }
    std::ranges::stable_sort(entries_, {}, [&](const Entry& entry) { return nodes(entry.rule); });
    for (const Entry& entry : entries_) deriver_.add(entry.typed);
  }

  /// Takes out of the core, largest first, what the rest implies; then derives that from what is left.
  void prune() {
    for (std::size_t i = entries_.size(); i-- > 0;) {
      const auto number = static_cast<std::uint32_t>(i);
      deriver_.enable(number, false);
      if (std::holds_alternative<egraph::Derived>(deriver_.derive(entries_[i].typed, false))) {
        entries_[i].kind = ForeignPlace::Kind::Shortcut;
      } else {
        deriver_.enable(number, true);
      }
    }
    for (Entry& entry : entries_) {
      if (entry.kind != ForeignPlace::Kind::Shortcut) continue;
      const egraph::Derivation derivation = deriver_.derive(entry.typed, true);
      const auto* derived = std::get_if<egraph::Derived>(&derivation);
      if (derived == nullptr) {
        entry.kind = ForeignPlace::Kind::Core;
        continue;
      }
      entry.instances = derived->instances.size();
      if (entry.instances < 2) entry.kind = ForeignPlace::Kind::Instance;
      for (const egraph::RuleInstance& instance : derived->instances) entry.uses += line(instance);
    }
  }

  std::vector<algebra::RuleRecord> records() const {
    std::vector<algebra::RuleRecord> result;
    for (const auto kind : {ForeignPlace::Kind::Core, ForeignPlace::Kind::Shortcut}) {
      for (const Entry& entry : entries_) {
        if (entry.kind == kind) result.push_back(record(entry));
      }
    }
    return result;
  }

  std::vector<ForeignPlace> places() const {
    std::vector<ForeignPlace> result;
    for (const Entry& entry : entries_) result.push_back({entry.rule.id, entry.kind});
    return result;
  }

 private:
  struct Entry {
    Rule rule;
    TypedRule typed;
    std::uint64_t queries = 0;
    std::string uses;  // of a derived one: a line an instance
    std::uint64_t instances = 0;
    ForeignPlace::Kind kind = ForeignPlace::Kind::Core;
  };

  std::size_t nodes(const Rule& rule) const {
    return bank_.nodes(rule.source).size() + bank_.nodes(rule.target).size();
  }

  /// "rule: x := term, …; m := size, …"
  std::string line(const egraph::RuleInstance& instance) const {
    const Rule& rule = entries_[instance.rule].rule;
    std::string text = rule.id + ":";
    const char* separator = " ";
    for (std::size_t v = 0; v < rule.variables.size(); ++v, separator = ", ") {
      text += separator + bank_.term(rule.variables[v]).name +
              " := " + algebra::to_string(instance.variables[v], bank_, symbols_);
    }
    separator = "; ";
    for (const auto& [size, value] : instance.sizes) {
      text += separator + symbols_.name(size) + " := " + symbols_.to_string(value);
      separator = ", ";
    }
    return text + "\n";
  }

  /// Whether the rule can be applied from the one side to the other.
  bool usable(const std::vector<TermId>& from, const std::vector<TermId>& to) const {
    const std::vector<TermId> known = bank_.variables(from);
    const auto is_known = [&](TermId variable) { return std::ranges::find(known, variable) != known.end(); };
    const auto is_node = [&](TermId term) { return !bank_.term(term).is_variable; };
    return std::ranges::all_of(bank_.variables(to), is_known) && std::ranges::all_of(from, is_node);
  }

  algebra::RuleRecord record(const Entry& entry) const {
    const bool core = entry.kind == ForeignPlace::Kind::Core;
    algebra::RuleRecord result;
    result.rule = entry.rule;
    const bool forward = usable(entry.rule.source, entry.rule.target),
               backward = usable(entry.rule.target, entry.rule.source);
    if (!forward && backward) std::swap(result.rule.source, result.rule.target);
    result.reversible = forward && backward;
    result.rule.tier = core ? algebra::Tier::Core : algebra::Tier::Shortcut;
    result.certificate.kind = core ? algebra::Certificate::Kind::Definitions : algebra::Certificate::Kind::Derivation;
    result.certificate.text = entry.uses;
    result.statistics = {entry.queries, core ? 0 : entry.instances};
    return result;
  }

  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  egraph::Deriver deriver_;
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
  rules.rules = selection.records();
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
