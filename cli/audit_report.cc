#include "cli/audit_report.h"

#include <fmt/format.h>

#include "cli/crew_tables.h"
#include "runtime/error.h"
#include "runtime/joined.h"
#include "runtime/quantity.h"

namespace rulemill::cli {

using runtime::Json;
using runtime::with_commas;

namespace {

Json pairs(const std::vector<std::pair<std::string, std::string>>& list) {
  Json json = Json::array();
  for (const auto& [rule, what] : list) json.push_back({{"rule", rule}, {"what", what}});
  return json;
}

}  // namespace

void show_cross_check(Context& context, const prove::CrossReport& report,
                      const std::vector<prove::RankFigures>& ranks) {
  std::string text;
  for (const auto& [rule, what] : report.refuted) text += rule + ": derived, and false: " + what + "\n";
  for (const auto& [rule, what] : report.unknown)
    text += rule + ": derived, not proved from the definitions: " + what + "\n";
  text += fmt::format("cross-check: {} of {} derived rules proved from the definitions, {} unknown, {} false; {}\n",
                      with_commas(report.proved), with_commas(report.rules), report.unknown.size(),
                      report.refuted.size(), runtime::in_seconds(report.seconds));
  context.print(text + crew_table(ranks) + crew_averages(ranks) + "\n");
  context.report["cross_check"] = {{"rules", report.rules},
                                   {"proved", report.proved},
                                   {"refuted", pairs(report.refuted)},
                                   {"unknown", pairs(report.unknown)},
                                   {"seconds", report.seconds},
                                   {"crew", crew_report(ranks)}};
  on_first_rank(context.world, [&] {
    if (report.refuted.empty()) return;
    throw runtime::Error("--cross-check", fmt::format("{} derived rules are false", report.refuted.size()));
  });
}

void show_minimality(Context& context, const prove::MinimalityReport& report,
                     const std::vector<prove::RankFigures>& ranks) {
  std::string text = fmt::format(
      "core: {} rules{}; {} do not follow from the others (saturated), {} not within the limits, {} do follow; {}\n",
      with_commas(report.core),
      report.instances > 0 ? fmt::format(" and {} instances of them", with_commas(report.instances)) : "",
      with_commas(report.independent), report.at_limit.size(), report.implied.size(),
      runtime::in_seconds(report.seconds_core));
  if (!report.at_limit.empty()) text += "limit reached: " + runtime::joined(report.at_limit) + "\n";
  if (!report.implied.empty()) text += "follow from the others: " + runtime::joined(report.implied) + "\n";
  text += fmt::format("shortcuts: {} of {} follow from the core; {}\n",
                      with_commas(report.shortcuts - report.not_implied.size()), with_commas(report.shortcuts),
                      runtime::in_seconds(report.seconds_shortcuts));
  if (!report.not_implied.empty()) text += "do not follow: " + runtime::joined(report.not_implied) + "\n";
  context.print(text + crew_table(ranks) + crew_averages(ranks) + "\n");
  context.report["minimality"] = {{"core", report.core},
                                  {"instances", report.instances},
                                  {"independent", report.independent},
                                  {"limit_reached", report.at_limit},
                                  {"implied", report.implied},
                                  {"shortcuts", report.shortcuts},
                                  {"shortcuts_not_implied", report.not_implied},
                                  {"seconds_core", report.seconds_core},
                                  {"seconds_shortcuts", report.seconds_shortcuts},
                                  {"crew", crew_report(ranks)}};
  on_first_rank(context.world, [&] {
    if (report.implied.empty() && report.not_implied.empty()) return;
    throw runtime::Error("--minimal",
                         fmt::format("{} core rules follow from the others, {} shortcuts do not follow from the core",
                                     report.implied.size(), report.not_implied.size()));
  });
}

}  // namespace rulemill::cli
