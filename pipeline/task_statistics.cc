#include "pipeline/task_statistics.h"

namespace rulemill::pipeline {

using prove::RankStatistics;
using runtime::Json;

RankStatistics total(const std::vector<RankStatistics>& ranks) {
  RankStatistics all;
  for (const RankStatistics& rank : ranks) {
    all.tasks += rank.tasks;
    all.items += rank.items;
    all.restarts += rank.restarts;
    all.work += rank.work;
    all.idle_seconds += rank.idle_seconds;
  }
  return all;
}

double average_milliseconds(double seconds, std::uint64_t count) {
  return count == 0 ? 0 : seconds * 1e3 / static_cast<double>(count);
}

double queries_per_proof(const prove::TaskStatistics& tasks) {
  return tasks.proofs == 0 ? 0 : static_cast<double>(tasks.queries) / static_cast<double>(tasks.proofs);
}

Json task_statistics_json(const std::vector<RankStatistics>& ranks) {
  Json rows = Json::array();
  for (const RankStatistics& rank : ranks) {
    rows.push_back({{"tasks", rank.tasks},
                    {"rules", rank.items},
                    {"proofs", rank.work.proofs},
                    {"queries", rank.work.queries},
                    {"busy_seconds", rank.work.seconds},
                    {"idle_seconds", rank.idle_seconds},
                    {"workers_restarted", rank.restarts}});
  }
  const prove::TaskStatistics all = total(ranks).work;
  return {
      {"ranks", rows},
      {"derivations", all.derivations},
      {"derivations_found", all.derivations_found},
      {"milliseconds_per_derivation_found", average_milliseconds(all.derivations_found_seconds, all.derivations_found)},
      {"milliseconds_per_derivation", average_milliseconds(all.derivation_seconds, all.derivations)},
      {"proofs", all.proofs},
      {"milliseconds_per_proof", average_milliseconds(all.proof_seconds, all.proofs)},
      {"queries_per_proof", queries_per_proof(all)}};
}

}  // namespace rulemill::pipeline
