#include "prove/core/audit.h"

#include <map>
#include <optional>

#include "algebra/terms/rule_text.h"
#include "prove/core/general_core.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

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

namespace {

using algebra::Certificate;
using algebra::RuleSetFile;

/// Reads the rules that are proved from the definitions, when derivations name them.
FindRule find_definition_rule(const RuleSetFile& rules, algebra::Library& library, algebra::TermBank& bank,
                              algebra::Symbols& symbols) {
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules.certificate_kind(i) == Certificate::Kind::Definitions) by_name.emplace(rules.id(i), i);
  }
  return [&, by_name = std::move(by_name)](const std::string& name) -> std::optional<algebra::Rule> {
    const auto found = by_name.find(name);
    if (found == by_name.end()) return std::nullopt;
    try {
      return algebra::parse_stored_rule(rules.read(found->second).rule, library, bank, symbols).rule;
    } catch (const runtime::InputError&) {
      return std::nullopt;  // reported where the record itself is checked
    }
  };
}

/// Consecutive rules that are checked at a time.
struct Slice {
  std::vector<WorkItem> items;
  std::vector<std::size_t> certificate_bytes;
};

Slice next_slice(const RuleSetFile& rules, std::size_t first, PremiseRules& premises,
                 const RecordCheckOptions& options) {
  constexpr std::size_t max_rules = 2048, max_bytes = std::size_t{16} << 20;
  Slice slice;
  std::size_t bytes = 0;
  for (std::size_t i = first; i < rules.size() && slice.items.size() < max_rules && bytes < max_bytes; ++i) {
    RuleSetFile::Record record = rules.read(i);
    std::string request =
        pack(RecordCheckRequest{std::move(record.rule), find_premises(record.certificate, premises), options});
    bytes += request.size();
    const auto cost = static_cast<double>(request.size());
    slice.items.push_back({TaskKind::Check, std::move(request), cost});
    slice.certificate_bytes.push_back(record.certificate.text.size());
  }
  return slice;
}

/// Checks the rules of a slice. The rules of a failed task are checked again, each in a task of its own, so that only
/// the rule that exceeds a limit has a finding.
std::vector<TaskScheduler::ItemAnswer> check_slice(const Slice& slice, TaskScheduler& scheduler) {
  std::vector<TaskScheduler::ItemAnswer> answers = scheduler.answer_items(slice.items);
  std::vector<WorkItem> again;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].failure.empty()) continue;
    again.push_back(slice.items[i]);
    again.back().kind = TaskKind::CheckAlone;
    numbers.push_back(i);
  }
  std::vector<TaskScheduler::ItemAnswer> alone = scheduler.answer_items(again);
  for (std::size_t i = 0; i < alone.size(); ++i) answers[numbers[i]] = std::move(alone[i]);
  return answers;
}

RecordCheck result_of(const TaskScheduler::ItemAnswer& answer) {
  if (answer.failure.empty()) return unpack_record_check(answer.text);
  RecordCheck failed;
  failed.findings.push_back("not checked: " + answer.failure);
  return failed;
}

}  // namespace

DatabaseCheck check_database(const RuleSetFile& rules, algebra::Library& library, TaskScheduler& scheduler,
                             const CheckOptions& options, runtime::ProgressMode progress) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  PremiseRules premises(find_definition_rule(rules, library, bank, symbols), library, bank, symbols,
                        PremiseRules::Texts::Verified);
  CheckCollector collector(options);
  for (std::size_t i = 0; i < rules.size(); ++i) collector.add_name(rules.id(i));
  runtime::Progress shown(progress, "check, rules", rules.size());
  for (std::size_t next = 0; next < rules.size();) {
    const Slice slice = next_slice(rules, next, premises, {options.seed, !options.cvc5.empty()});
    const std::vector<TaskScheduler::ItemAnswer> answers = check_slice(slice, scheduler);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      RecordCheck result = result_of(answers[i]);
      if (!result.malformed.empty()) return MalformedRecord{std::move(result.malformed)};
      collector.add(rules.id(next + i), slice.certificate_bytes[i], std::move(result));
    }
    next += slice.items.size();
    shown.advance(slice.items.size());
  }
  return collector.finish();
}

}  // namespace rulemill::prove
