#include "cli/rules/verdict_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/text_table.h"
#include "prove/refuter/counterexample.h"
#include "runtime/text/error.h"

namespace rulemill::cli {
namespace {

using prove::ImportPlacement;
using prove::ImportVerdict;

std::string tier_of(const std::vector<ImportPlacement>& places, const std::string& name) {
  const auto found = std::ranges::find(places, name, &ImportPlacement::name);
  if (found == places.end()) return "";
  constexpr const char* words[] = {"core", "derived", "subsumed", "dropped"};
  return words[static_cast<std::size_t>(found->kind)];
}

std::string one_of(const std::string& key) { return key == "rules" ? "rule" : "property"; }

}  // namespace

void report_verdicts(Context& context, const std::string& key, const std::vector<ImportVerdict>& verdicts,
                     const std::vector<ImportPlacement>& places) {
  TextTable table({one_of(key), "verdict", "tier", "condition, counterexample or reason"});
  runtime::Json& entries = context.report[key] = runtime::Json::array();
  std::vector<prove::NamedCounterexample> counterexamples;
  double seconds = 0;
  for (const ImportVerdict& verdict : verdicts) {
    const std::string tier = tier_of(places, verdict.name);
    table.add({verdict.name, prove::name(verdict.status), tier, verdict.detail});
    entries.push_back({{"name", verdict.name},
                       {"place", verdict.place},
                       {"verdict", prove::name(verdict.status)},
                       {"tier", tier},
                       {"rule", verdict.rule},
                       {"condition", verdict.condition},
                       {"detail", verdict.detail},
                       {"queries", verdict.queries}});
    if (verdict.counterexample) {
      entries.back()["counterexample"] = prove::to_json(*verdict.counterexample);
      counterexamples.push_back({verdict.name, *verdict.counterexample});
    }
    seconds += verdict.seconds;
  }
  context.print(table.text(context.uses_colours()) + prove::numpy_text(counterexamples) + "\n");
  std::string counts;
  for (const auto kind : {prove::RuleStatus::Proved, prove::RuleStatus::Narrowed, prove::RuleStatus::Refuted,
                          prove::RuleStatus::Unknown, prove::RuleStatus::IllTyped, prove::RuleStatus::Unreadable}) {
    const auto count = std::ranges::count(verdicts, kind, &ImportVerdict::status);
    context.report["counts"][prove::name(kind)] = count;
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, prove::name(kind));
  }
  context.report["seconds"] = seconds;
  context.print(fmt::format("{} {}: {}; {:.2f} s\n", verdicts.size(), key, counts, seconds));
}

void require_proved(const std::string& where, const std::string& key, const std::vector<ImportVerdict>& verdicts,
                    bool keep_narrowed) {
  const auto is_malformed = [](const ImportVerdict& verdict) {
    return verdict.status == prove::RuleStatus::IllTyped || verdict.status == prove::RuleStatus::Unreadable;
  };
  if (const auto first = std::ranges::find_if(verdicts, is_malformed); first != verdicts.end()) {
    const auto others = std::ranges::count_if(verdicts, is_malformed) - 1;
    throw runtime::InputError(first->place,
                              fmt::format("{} {} is {}: {}{}", one_of(key), first->name, prove::name(first->status),
                                          first->detail, others > 0 ? fmt::format("; and {} more", others) : ""));
  }
  const auto not_proved = std::ranges::count_if(verdicts, [&](const ImportVerdict& verdict) {
    const bool kept = keep_narrowed && verdict.status == prove::RuleStatus::Narrowed;
    return verdict.status != prove::RuleStatus::Proved && !kept;
  });
  if (not_proved > 0)
    throw runtime::Error(where, fmt::format("{} of {} {} are not proved", not_proved, verdicts.size(), key));
}

}  // namespace rulemill::cli
