#include "prove/core/audit.h"

#include "algebra/terms/rule_text.h"
#include "prove/core/general_core.h"
#include "runtime/process/stopwatch.h"

namespace rulemill::prove {
namespace {

/// The answer to an item of a failed task.
std::string failure(const std::string& reason) { return reason; }

}  // namespace

CrossCheckReport cross_check(const std::vector<std::string>& rules, TaskScheduler& scheduler) {
  CrossCheckReport report;
  const runtime::ScopedStopwatch watch(report.seconds);
  report.rules = rules.size();
  const auto failed = [](const std::string& reason) {
    CandidateResult result;
    result.detail = reason;
    return pack(result);
  };
  for (std::size_t i = 0; const std::string& text : scheduler.answer_items(TaskKind::ProveRule, rules, failed)) {
    const CandidateResult result = unpack_result(text);
    const std::string name = rules[i].substr(0, rules[i].find('('));
    ++i;
    if (result.status == RuleStatus::Proved)
      ++report.proved;
    else if (result.status == RuleStatus::Refuted)
      report.refuted.emplace_back(name, result.detail);
    else
      report.unknown.emplace_back(name, result.detail);
  }
  return report;
}

MinimalityReport check_minimality(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                                  algebra::Symbols& symbols, TaskScheduler& scheduler) {
  MinimalityReport report;
  std::vector<std::string> core_names, names_without_derivation, updates, numbers, without_derivation, names;
  for (std::size_t i = 0; i < rules.rules.size(); ++i) names.push_back("c" + std::to_string(i + 1));
  const SpecializationTexts specialized = specialization_texts(rules, names, library, bank, symbols);
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    const algebra::RuleRecord& record = rules.rules[i];
    const std::string text = algebra::to_string(record.rule, bank, symbols);
    if (record.rule.tier == algebra::Tier::Core) {
      const std::vector<std::string>& specializations = specialized.texts[i];
      const KnownRule known{static_cast<std::uint32_t>(updates.size()),
                            static_cast<std::uint32_t>(specializations.size())};
      numbers.push_back(to_text(known));
      core_names.push_back(record.rule.id);
      updates.push_back(add_rule_update(text));
      for (const std::string& specialization : specializations) updates.push_back(add_rule_update(specialization));
      report.specializations += specializations.size();
      continue;
    }
    ++report.derived;
    if (record.certificate.kind == algebra::Certificate::Kind::Derivation) continue;
    names_without_derivation.push_back(record.rule.id);
    without_derivation.push_back(text);
  }
  scheduler.update_rules(updates);
  {
    const runtime::ScopedStopwatch watch(report.seconds_core);
    report.core = core_names.size();
    const std::vector<std::string> answers = scheduler.answer_items(TaskKind::IsImpliedExtended, numbers, failure);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i] == implied_yes)
        report.implied.push_back(core_names[i]);
      else if (answers[i] == implied_no)
        ++report.independent;
      else
        report.at_limit.push_back(core_names[i]);
    }
  }
  const runtime::ScopedStopwatch watch(report.seconds_derived);
  const std::vector<std::string> answers = scheduler.answer_items(TaskKind::IsRuleImplied, without_derivation, failure);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] != implied_yes) report.not_implied.push_back(names_without_derivation[i]);
  }
  return report;
}

}  // namespace rulemill::prove
