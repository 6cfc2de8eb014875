#include "cli/run/task_tables.h"

#include <fmt/format.h>

#include "cli/text_table.h"
#include "pipeline/task_statistics.h"
#include "runtime/text/quantity.h"

namespace rulemill::cli {

using pipeline::average_milliseconds;
using prove::RankStatistics;
using runtime::format_count;

std::string task_table(const std::vector<RankStatistics>& ranks) {
  if (pipeline::total(ranks).tasks == 0) return {};
  TextTable table({"rank", "tasks", "rules", "proofs", "queries", "busy", "idle", "restarts"});
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankStatistics& statistics = ranks[rank];
    table.add({std::to_string(rank), format_count(statistics.tasks), format_count(statistics.items),
               format_count(statistics.work.proofs), format_count(statistics.work.queries),
               runtime::format_seconds(statistics.work.seconds), runtime::format_seconds(statistics.idle_seconds),
               format_count(statistics.restarts)});
  }
  return table.text();
}

std::string task_averages(const std::vector<RankStatistics>& ranks) {
  const prove::TaskStatistics all = pipeline::total(ranks).work;
  std::string text;
  if (all.derivations > 0) {
    const std::uint64_t failed = all.derivations - all.derivations_found;
    text += fmt::format(
        "{} derivations found, {:.3f} ms each; {} not found, {:.3f} ms each\n", format_count(all.derivations_found),
        average_milliseconds(all.derivations_found_seconds, all.derivations_found), format_count(failed),
        average_milliseconds(all.derivation_seconds - all.derivations_found_seconds, failed));
  }
  if (all.proofs > 0) {
    text += fmt::format("{} proofs from the definitions, {:.2f} ms and {:.1f} queries each\n", format_count(all.proofs),
                        average_milliseconds(all.proof_seconds, all.proofs), pipeline::queries_per_proof(all));
  }
  return text;
}

void print_task_statistics(Context& context, const char* stage, const std::vector<RankStatistics>& ranks) {
  const std::string table = task_table(ranks);
  if (table.empty()) return;
  context.print(table + task_averages(ranks) + "\n");
  context.report["task_statistics"][stage] = pipeline::task_statistics_json(ranks);
}

}  // namespace rulemill::cli
