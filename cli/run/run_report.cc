#include "cli/run/run_report.h"

#include "cli/run/audit_report.h"
#include "cli/run/task_tables.h"
#include "cli/text_table.h"
#include "runtime/text/error.h"
#include "runtime/text/quantity.h"

namespace rulemill::cli {

using runtime::format_count;
using runtime::Json;

std::string cut_proofs_text(const std::map<std::string, std::uint64_t>& cut_proofs) {
  std::string text;
  for (const auto& [stage, count] : cut_proofs) {
    if (count > 0) text += (text.empty() ? "" : ", ") + format_count(count) + " of " + stage;
  }
  if (text.empty()) return text;
  return "limits of time or memory cut proofs: " + text +
         "; run again with a larger --proof-timeout or --proof-memory to repeat them";
}

void RunReport::begin(const pipeline::RunDescription& run) {
  context_.report["profile"] = run.profile;
  context_.report["max_ops"] = run.max_ops;
  context_.report["ranks"] = run.ranks;
}

void RunReport::inputs_changed(const std::string& changes) {
  context_.print("changed since the last run: " + changes +
                 "\nterms, candidates and proofs that do not depend on this are reused\n\n");
}

void RunReport::stage_ended(const pipeline::StageTime& stage) {
  context_.report["stages"].push_back(
      {{"name", stage.name}, {"seconds", stage.seconds}, {"already_done", stage.already_done}});
  context_.print(stage.name + ": " + (stage.already_done ? "already done" : runtime::format_seconds(stage.seconds)) +
                 "\n");
}

void RunReport::fingerprinted(const fingerprint::Summary& summary) {
  TextTable table({"operators", "nodes", "orbits", "terms", "new classes", "all classes", "graphs"});
  std::uint64_t classes = 0;
  for (std::size_t level = 0; level < summary.levels.size(); ++level) {
    const fingerprint::LevelStatistics& statistics = summary.levels[level];
    const bool last = level + 1 == summary.levels.size();
    classes += statistics.new_classes;
    const std::uint64_t graphs = level < summary.graphs.size() ? summary.graphs[level] : 0;
    const bool known = !last || statistics.new_classes > 0;  // the join finds those of the last level
    table.add({std::to_string(level), format_count(statistics.nodes), format_count(statistics.orbits),
               format_count(statistics.terms), known ? format_count(statistics.new_classes) : "",
               known ? format_count(classes) : "", graphs > 0 ? format_count(graphs) : ""});
    context_.report["levels"].push_back({{"operators", level},
                                         {"nodes", statistics.nodes},
                                         {"orbits", statistics.orbits},
                                         {"rows", statistics.rows},
                                         {"terms", statistics.terms},
                                         {"multiply_adds", statistics.products},
                                         {"graphs", graphs}});
  }
  std::string text = table.text();
  text += format_count(summary.terms) + " terms as " + format_count(summary.rows) + " rows in " +
          format_count(summary.shards) + " shards, " + runtime::format_bytes(summary.shard_bytes) + "; " +
          summary.backend + "\n";
  if (summary.rows_reused > 0) {
    text += format_count(summary.rows_reused) + " of " + format_count(summary.levels.back().orbits) +
            " orbits of the last level reused from the previous run\n";
  }
  context_.print(text + "\n");
  context_.report["rows_reused"] = summary.rows_reused;
  context_.report["terms"] = summary.terms;
  context_.report["rows"] = summary.rows;
  context_.report["shards"] = summary.shards;
  context_.report["shard_bytes"] = summary.shard_bytes;
  context_.report["backend"] = summary.backend;
  for (const auto& [step, seconds] : summary.steps) context_.report["fingerprint_steps"][step] = seconds;
  for (const auto& [name, count] : summary.gpu) context_.report["gpu"][name] = count;
}

void RunReport::joined(const dedup::Summary& summary) {
  Json by_level = Json::array();
  for (const std::uint64_t of_level : summary.new_classes) by_level.push_back(of_level);
  context_.report["new_classes"] = by_level;
  for (const auto& [step, seconds] : summary.steps) context_.report["join_steps"][step] = seconds;
  context_.report["expected_false_candidates"] = summary.expected_false_candidates;
}

void RunReport::proved(const prove::ProveSummary& summary) {
  print_task_statistics(context_, prove::prove_stage, summary.ranks);
  context_.report["queries"] = summary.queries;
}

void RunReport::cross_checked(const prove::CrossCheckReport& report, const std::vector<prove::RankStatistics>& ranks) {
  report_cross_check(context_, report, ranks);
}

void RunReport::pruned(const prove::PruneSummary& summary) {
  print_task_statistics(context_, prove::prune_stage, summary.ranks);
  context_.report["dropped"] = Json::array();
  for (const prove::CandidateResult& rule : summary.dropped) {
    context_.print("dropped " + rule.candidate + ": " + rule.detail + "\n");
    context_.report["dropped"].push_back({{"id", rule.candidate}, {"reason", rule.detail}, {"text", rule.rule}});
  }
}

void RunReport::generalized(const prove::GeneralizeSummary& summary) {
  print_task_statistics(context_, prove::generalize_stage, summary.ranks);
}

void RunReport::ended(const pipeline::RunSummary& summary) {
  TextTable stages({"stage", "time"});
  for (const pipeline::StageTime& stage : summary.stages)
    stages.add({stage.name, stage.already_done ? "already done" : runtime::format_seconds(stage.seconds)});
  stages.add({"all", runtime::format_seconds(summary.seconds)});
  context_.print("\n" + stages.text());
  context_.report["seconds"] = summary.seconds;

  const std::uint64_t all_ranks = summary.peak_memory_bytes_of_all_ranks;
  context_.print("\npeak memory per rank " + runtime::format_bytes(summary.peak_memory_bytes) +
                 (context_.world.size() > 1 ? ", of all ranks " + runtime::format_bytes(all_ranks) : "") + "\n");
  context_.report["peak_memory_bytes"] = summary.peak_memory_bytes;
  context_.report["peak_memory_bytes_of_all_ranks"] = all_ranks;

  TextTable funnel({"funnel", "count"});
  Json counts = Json::object();
  for (const auto& [step, count] : summary.funnel) {
    funnel.add({step, format_count(count)});
    counts[step] = count;
  }
  context_.print("\n" + funnel.text());
  context_.report["funnel"] = counts;
  std::map<std::string, std::uint64_t> cut_proofs;
  for (const pipeline::StageTime& stage : summary.stages) cut_proofs[stage.name] = stage.cut_proofs;
  context_.report["cut_proofs"] = cut_proofs;
  const std::string cut = cut_proofs_text(cut_proofs);
  if (!cut.empty()) context_.print("\n" + cut + "\n");
  runtime::on_first_rank(context_.world, [&] {
    if (strict_ && !cut.empty()) throw runtime::Error("--strict", cut);
  });
}

pipeline::Observer& RunReport::begin_profile(const std::filesystem::path&) {
  profile_context_.reset(new Context{context_.world, context_.options, context_.progress});
  profile_context_->silent = true;
  profile_report_ = std::make_unique<RunReport>(*profile_context_);
  return *profile_report_;
}

void RunReport::profile_ended(const std::filesystem::path& profile,
                              const pipeline::FunnelRows::value_type& candidates) {
  context_.report["profiles"][profile.stem().string()] = profile_context_->report;
  context_.print(profile.filename().string() + ": " + format_count(candidates.second) + " " + candidates.first + "\n");
}

}  // namespace rulemill::cli
