#include "cli/crew_tables.h"

#include <fmt/format.h>

#include "cli/text_table.h"
#include "runtime/quantity.h"

namespace rulemill::cli {

using prove::Effort;
using prove::RankFigures;
using runtime::Json;
using runtime::with_commas;

namespace {

RankFigures sum(const std::vector<RankFigures>& ranks) {
  RankFigures all;
  for (const RankFigures& rank : ranks) {
    all.tasks += rank.tasks;
    all.items += rank.items;
    all.restarts += rank.restarts;
    all.effort += rank.effort;
    all.idle += rank.idle;
  }
  return all;
}

double milliseconds_each(double seconds, std::uint64_t count) {
  return count == 0 ? 0 : seconds * 1e3 / static_cast<double>(count);
}

double queries_a_proof(const Effort& effort) {
  return effort.proofs == 0 ? 0 : static_cast<double>(effort.queries) / static_cast<double>(effort.proofs);
}

}  // namespace

std::string crew_table(const std::vector<RankFigures>& ranks) {
  if (sum(ranks).tasks == 0) return {};
  TextTable table({"rank", "tasks", "rules", "proofs", "queries", "busy", "idle", "helpers lost"});
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankFigures& figures = ranks[rank];
    table.add({std::to_string(rank), with_commas(figures.tasks), with_commas(figures.items),
               with_commas(figures.effort.proofs), with_commas(figures.effort.queries),
               runtime::in_seconds(figures.effort.seconds), runtime::in_seconds(figures.idle),
               with_commas(figures.restarts)});
  }
  return table.text();
}

std::string crew_averages(const std::vector<RankFigures>& ranks) {
  const Effort all = sum(ranks).effort;
  std::string text;
  if (all.derivations > 0) {
    text +=
        fmt::format("{} derivations found, {:.3f} ms each; {} not found, {:.3f} ms each\n", with_commas(all.derived),
                    milliseconds_each(all.derived_seconds, all.derived), with_commas(all.derivations - all.derived),
                    milliseconds_each(all.derivation_seconds - all.derived_seconds, all.derivations - all.derived));
  }
  if (all.proofs > 0) {
    text += fmt::format("{} proofs from the definitions, {:.2f} ms and {:.1f} queries each\n", with_commas(all.proofs),
                        milliseconds_each(all.proof_seconds, all.proofs), queries_a_proof(all));
  }
  return text;
}

Json crew_report(const std::vector<RankFigures>& ranks) {
  Json rows = Json::array();
  for (const RankFigures& figures : ranks) {
    rows.push_back({{"tasks", figures.tasks},
                    {"rules", figures.items},
                    {"proofs", figures.effort.proofs},
                    {"queries", figures.effort.queries},
                    {"busy_seconds", figures.effort.seconds},
                    {"idle_seconds", figures.idle},
                    {"helpers_lost", figures.restarts}});
  }
  const Effort all = sum(ranks).effort;
  return {{"ranks", rows},
          {"derivations", all.derivations},
          {"derivations_found", all.derived},
          {"milliseconds_per_derivation_found", milliseconds_each(all.derived_seconds, all.derived)},
          {"milliseconds_per_derivation", milliseconds_each(all.derivation_seconds, all.derivations)},
          {"proofs", all.proofs},
          {"milliseconds_per_proof", milliseconds_each(all.proof_seconds, all.proofs)},
          {"queries_per_proof", queries_a_proof(all)}};
}

}  // namespace rulemill::cli
