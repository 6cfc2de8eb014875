#include "prove/import_rules.h"

#include <algorithm>

#include "algebra/terms/dimension_packs.h"
#include "algebra/terms/rule_text.h"
#include "prove/certificate/certificate.h"
#include "prove/tasks/candidate_result.h"
#include "prove/tasks/derivation_context.h"
#include "runtime/process/interrupt.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/printable.h"

namespace rulemill::prove {

using algebra::Rule;

namespace {

ImportVerdict prove_imported_rule(const algebra::ImportedRule& imported, Prover& prover, algebra::TermBank& bank,
                                  algebra::Symbols& symbols) {
  ImportVerdict result;
  result.name = imported.name;
  result.place = imported.place;
  if (!imported.rule) {
    result.detail = imported.problem;
    return result;
  }
  const runtime::Stopwatch watch;
  const Verdict verdict = prover.prove(*imported.rule);
  result.seconds = watch.seconds();
  result.status = status(verdict);
  result.detail = detail(verdict);
  if (const auto* refuted = std::get_if<Refuted>(&verdict)) result.counterexample = refuted->counterexample;
  if (const auto* typed = typed_rule(verdict)) result.rule = algebra::to_string(typed->rule, bank, symbols);
  if (const auto* proved = std::get_if<Proved>(&verdict)) {
    result.queries = proved->queries;
    result.condition = algebra::to_string(proved->narrowing, symbols);
  }
  return result;
}

/// Returns the name of a dimension pack that an operator does more with than pass through, so that its rank is fixed.
std::optional<std::string> find_invalid_pack(const std::string& text, algebra::Library& library) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const Rule rule = algebra::parse_rule(text, "rule", library, bank, symbols);
  for (const algebra::Atom pack : rule.packs) {
    if (!algebra::expand_pack(rule, pack, 2, library, bank, symbols)) return symbols.name(pack);
  }
  return std::nullopt;
}

/// Certifies a rule from its text, because that is what a database stores. It becomes unknown if only the rule with
/// inferred types is proved.
void certify_text(ImportVerdict& verdict, algebra::Library& library, const ProverOptions& options) {
  if (verdict.status != RuleStatus::Proved && verdict.status != RuleStatus::Narrowed) return;
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  const std::string statement =
      statement_of(algebra::parse_rule(verdict.rule, "rule", library, bank, symbols), bank, symbols);
  std::string reason;
  if (const auto certificate = certify_by_definitions(statement, library, options, reason)) {
    verdict.certificate = to_string(*certificate);
    const auto pack = find_invalid_pack(verdict.rule, library);
    if (!pack) return;
    verdict.detail = "proved for one dimension " + *pack + "; an operator does more than pass " + *pack + "... through";
  } else {
    constexpr std::size_t max_length = 160;
    verdict.detail = "proved for the types found, not from its text: " + runtime::make_printable(reason, max_length);
  }
  verdict.status = RuleStatus::Unknown;
}

/// The proved rules, those with few nodes first, divided into a core and the rules that it implies.
class ImportedCore {
 public:
  ImportedCore(const std::vector<ImportVerdict>& verdicts, algebra::Library& library, algebra::TermBank& bank,
               algebra::Symbols& symbols, const egraph::Limits& limits, bool keep_narrowed)
      : context_(library, limits) {
    for (const ImportVerdict& verdict : verdicts) {
      const bool is_kept =
          verdict.status == RuleStatus::Proved || (keep_narrowed && verdict.status == RuleStatus::Narrowed);
      if (!is_kept) continue;
      Rule rule = algebra::parse_rule(verdict.rule, verdict.place, library, bank, symbols);
      rule.id = verdict.name;
      CandidateResult result;
      result.status = RuleStatus::Proved;
      result.candidate = verdict.name;
      result.rule = algebra::to_string(rule, bank, symbols);
      result.certificate = verdict.certificate;
      result.queries = verdict.queries;
      rules_.push_back({std::move(result), bank.nodes(rule.source).size() + bank.nodes(rule.target).size()});
    }
    std::ranges::stable_sort(rules_, {}, &SizedRule::nodes);
    for (const SizedRule& rule : rules_) context_.add_rule(rule.result.rule);
  }

  /// Eliminates implied rules from the core, largest first; then derives them from the rest.
  void prune() {
    for (std::size_t i = rules_.size(); i-- > 0;) {
      const auto number = static_cast<std::uint32_t>(i);
      context_.enable(number, false);
      if (context_.is_implied(rules_[i].result.rule, LimitPolicy::Extended) == Implication::Yes) {
        rules_[i].result.status = RuleStatus::Derived;
      } else {
        context_.enable(number, true);
      }
    }
    for (SizedRule& rule : rules_) {
      if (rule.result.status != RuleStatus::Derived) continue;
      const CandidateResult explained = context_.explain(rule.result.rule, LimitPolicy::Extended);
      rule.result.status = explained.status == RuleStatus::Derived ? explained.status : RuleStatus::Proved;
      rule.result.instance_count = explained.instance_count;
      if (explained.status == RuleStatus::Derived) rule.result.certificate = explained.certificate;
    }
  }

  std::vector<algebra::RuleRecord> records(algebra::Library& library, algebra::TermBank& bank,
                                           algebra::Symbols& symbols) const {
    std::vector<algebra::RuleRecord> result;
    for (const auto kind : {ImportPlacement::Kind::Core, ImportPlacement::Kind::Derived}) {
      for (const SizedRule& rule : rules_) {
        if (placement_of(rule) == kind)
          result.push_back(record_of(rule.result, rule.result.candidate, library, bank, symbols));
      }
    }
    return result;
  }

  std::vector<ImportPlacement> placements() const {
    std::vector<ImportPlacement> result;
    for (const SizedRule& rule : rules_) result.push_back({rule.result.candidate, placement_of(rule)});
    return result;
  }

 private:
  struct SizedRule {
    CandidateResult result;  // proved: core
    std::size_t nodes = 0;
  };

  static ImportPlacement::Kind placement_of(const SizedRule& rule) {
    if (rule.result.status == RuleStatus::Proved) return ImportPlacement::Kind::Core;
    return rule.result.instance_count < 2 ? ImportPlacement::Kind::Subsumed : ImportPlacement::Kind::Derived;
  }

  DerivationContext context_;
  std::vector<SizedRule> rules_;
};

}  // namespace

std::vector<ImportVerdict> prove_imported_rules(const std::vector<algebra::ImportedRule>& rules,
                                                algebra::Library& library, algebra::TermBank& bank,
                                                algebra::Symbols& symbols, const ProverOptions& options) {
  Prover prover(bank, symbols, options);
  std::vector<ImportVerdict> verdicts;
  for (const algebra::ImportedRule& rule : rules) {
    ImportVerdict& verdict = verdicts.emplace_back();
    try {
      verdict = prove_imported_rule(rule, prover, bank, symbols);
      certify_text(verdict, library, options);
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const std::exception& error) {  // a limit of the program, such as a number beyond 64 bits
      verdict.status = RuleStatus::Unknown;
      verdict.detail = error.what();
    }
  }
  return verdicts;
}

algebra::RuleSet make_import_database(const std::vector<ImportVerdict>& verdicts, algebra::Library& library,
                                      algebra::TermBank& bank, algebra::Symbols& symbols, const ProverOptions& options,
                                      const egraph::Limits& limits, bool keep_narrowed,
                                      std::vector<ImportPlacement>* placements) {
  ImportedCore core(verdicts, library, bank, symbols, limits, keep_narrowed);
  core.prune();
  algebra::RuleSet rules;
  rules.rules = core.records(library, bank, symbols);
  for (algebra::RuleRecord& record : rules.rules) {  // a rule that was turned around has another statement
    algebra::Certificate& certificate = record.certificate;
    if (certificate.kind != algebra::Certificate::Kind::Definitions || certificate.text.empty()) continue;
    const std::string statement = parse_certificate(certificate.text, record.rule.id).statement;
    if (!is_statement_of(statement, record.rule, library, bank, symbols)) certificate.text.clear();
  }
  const std::vector<UncertifiedRule> dropped = certify(rules, library, bank, symbols, options);
  const auto count = [&](RuleStatus status) {
    return static_cast<std::uint64_t>(std::ranges::count(verdicts, status, &ImportVerdict::status));
  };
  rules.funnel.emplace_back("rules read", verdicts.size());
  for (const auto status : {RuleStatus::Unreadable, RuleStatus::IllTyped, RuleStatus::Refuted, RuleStatus::Unknown,
                            RuleStatus::Narrowed, RuleStatus::Proved}) {
    rules.funnel.emplace_back(name(status), count(status));
  }
  const auto count_tier = [&](algebra::Tier tier) {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        rules.rules, [&](const algebra::RuleRecord& record) { return record.rule.tier == tier; }));
  };
  rules.funnel.emplace_back("core", count_tier(algebra::Tier::Core));
  rules.funnel.emplace_back("derived rules", count_tier(algebra::Tier::Derived));
  if (placements == nullptr) return rules;
  *placements = core.placements();
  for (const UncertifiedRule& rule : dropped) {
    ImportPlacement& placement = *std::ranges::find(*placements, rule.id, &ImportPlacement::name);
    placement.kind = ImportPlacement::Kind::Dropped;
    placement.reason = rule.reason;
  }
  return rules;
}

}  // namespace rulemill::prove
