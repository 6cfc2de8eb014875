#include "prove/core/database_check.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/text/error.h"

namespace rulemill::prove {
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
