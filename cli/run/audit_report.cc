#include "cli/run/audit_report.h"

#include <fmt/format.h>

#include "cli/run/task_tables.h"
#include "pipeline/task_statistics.h"
#include "runtime/text/error.h"
#include "runtime/text/join_text.h"
#include "runtime/text/quantity.h"

namespace rulemill::cli {

using runtime::format_count;
using runtime::Json;

namespace {

Json pairs(const std::vector<std::pair<std::string, std::string>>& list) {
  Json json = Json::array();
  for (const auto& [rule, reason] : list) json.push_back({{"rule", rule}, {"reason", reason}});
  return json;
}

}  // namespace

void report_cross_check(Context& context, const prove::CrossCheckReport& report,
                        const std::vector<prove::RankStatistics>& ranks) {
  std::string text;
  for (const auto& [rule, reason] : report.refuted) text += rule + ": derived, but false: " + reason + "\n";
  for (const auto& [rule, reason] : report.unknown)
    text += rule + ": derived, but not proved from the definitions: " + reason + "\n";
  text += fmt::format("cross-check: {} of {} derived rules proved from the definitions, {} unknown, {} false; {}\n",
                      format_count(report.proved), format_count(report.rules), report.unknown.size(),
                      report.refuted.size(), runtime::format_seconds(report.seconds));
  context.print(text + task_table(ranks) + task_averages(ranks) + "\n");
  context.report["cross_check"] = {{"rules", report.rules},
                                   {"proved", report.proved},
                                   {"refuted", pairs(report.refuted)},
                                   {"unknown", pairs(report.unknown)},
                                   {"seconds", report.seconds},
                                   {"task_statistics", pipeline::task_statistics_json(ranks)}};
  runtime::on_first_rank(context.world, [&] {
    if (report.refuted.empty()) return;
    throw runtime::Error("--cross-check", fmt::format("{} derived rules are false", report.refuted.size()));
  });
}

void report_minimality(Context& context, const prove::MinimalityReport& report,
                       const std::vector<prove::RankStatistics>& ranks) {
  std::string text = fmt::format(
      "core: {} rules{}; {} not implied by the others (saturated), {} undecided (limit reached), {} implied; {}\n",
      format_count(report.core),
      report.specializations > 0 ? fmt::format(" and {} specializations", format_count(report.specializations)) : "",
      format_count(report.independent), report.at_limit.size(), report.implied.size(),
      runtime::format_seconds(report.seconds_core));
  if (!report.at_limit.empty()) text += "limit reached: " + runtime::join_text(report.at_limit) + "\n";
  if (!report.implied.empty()) text += "implied by the others: " + runtime::join_text(report.implied) + "\n";
  text += fmt::format("derived rules: {} of {} implied by the core; {}\n",
                      format_count(report.derived - report.not_implied.size()), format_count(report.derived),
                      runtime::format_seconds(report.seconds_derived));
  if (!report.not_implied.empty()) text += "not implied: " + runtime::join_text(report.not_implied) + "\n";
  context.print(text + task_table(ranks) + task_averages(ranks) + "\n");
  context.report["minimality"] = {{"core", report.core},
                                  {"specializations", report.specializations},
                                  {"independent", report.independent},
                                  {"limit_reached", report.at_limit},
                                  {"implied", report.implied},
                                  {"derived_rules", report.derived},
                                  {"derived_rules_not_implied", report.not_implied},
                                  {"seconds_core", report.seconds_core},
                                  {"seconds_derived_rules", report.seconds_derived},
                                  {"task_statistics", pipeline::task_statistics_json(ranks)}};
  runtime::on_first_rank(context.world, [&] {
    if (report.implied.empty() && report.not_implied.empty()) return;
    throw runtime::Error(
        "--core-minimality",
        fmt::format("{} core rules are implied by the others, {} derived rules are not implied by the core",
                    report.implied.size(), report.not_implied.size()));
  });
}

}  // namespace rulemill::cli
