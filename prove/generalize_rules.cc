#include "prove/generalize_rules.h"

#include <algorithm>
#include <utility>

#include "prove/prune.h"
#include "runtime/files/file_integrity.h"
#include "runtime/files/journal.h"
#include "runtime/files/stage.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::prove {
namespace {

constexpr int generalize_stage_version = 2;
constexpr const char* generalize_journal_file = "generalize.journal";
// Statistics that tell whether the result is that of the same rules and options.
constexpr const char* pruned_key = "pruned_checksum";
constexpr const char* tier_key = "generalized_tier";

constexpr runtime::CountNames<GeneralizationReport> generalize_counts = {
    {"rules_considered", &GeneralizationReport::rules_considered},
    {"any_rank", &GeneralizationReport::any_rank},
    {"any_parameter", &GeneralizationReport::any_parameter},
    {"general", &GeneralizationReport::general},
    {"dropped", &GeneralizationReport::dropped},
    {"core", &GeneralizationReport::core},
    {"derived", &GeneralizationReport::derived}};

/// Returns the chunks of the database of the prune stage with the general forms.
std::vector<std::string> with_general_forms(std::string pruned, const std::filesystem::path& file, GeneralizedTier tier,
                                            algebra::Library& library, TaskScheduler& scheduler,
                                            GeneralizationReport& report) {
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  algebra::RuleSet rules = algebra::parse_rule_set(std::exchange(pruned, {}), file.string(), library, bank, symbols);
  const GeneralizationOptions options{.include_derived = tier == GeneralizedTier::All};
  algebra::RuleSet general = generalize_rule_set(rules, options, library, bank, symbols, scheduler, report);
  algebra::RuleSet database = append_general_rules(std::move(rules), std::move(general), bank, symbols);
  find_core_of_general_rules(database, library, bank, symbols, scheduler, report);
  append_counts(report, database.funnel);
  algebra::RuleSetWriter writer(library);
  std::vector<std::string> records;
  for (algebra::RuleRecord& record : database.rules) {
    records.push_back(writer.serialize(record, bank, symbols));
    record = {};
  }
  return writer.finish(database.provenance, std::move(records), database.funnel);
}

}  // namespace

GeneralizeSummary generalize_rules(const std::filesystem::path& out, const std::string& inputs_digest,
                                   algebra::Library& library, GeneralizedTier tier,
                                   const runtime::Communicator& communicator, const ProofStageOptions& options) {
  const runtime::Stopwatch watch;
  GeneralizeSummary summary;
  TaskScheduler scheduler(communicator, library, options.worker_process, generalize_stage);
  scheduler.run_collective([&] {
    const auto self = runtime::Communicator::self();
    runtime::Stage stage(out, generalize_stage, self);
    const runtime::Manifest& manifest = *stage.manifest();
    if (manifest.statistics(prune_stage).empty())
      throw runtime::InputError(out.string(), "the prune stage is not finished in this folder");
    const std::string pruned = manifest.find(pruned_file)->checksum;
    const std::string digest = inputs_digest + "-" + manifest.inputs_digest(prune_stage) + "-generalize" +
                               std::to_string(generalize_stage_version);
    const runtime::Attributes made_from = {{pruned_key, pruned}, {tier_key, static_cast<std::uint64_t>(tier)}};
    const auto is_current = [&](const runtime::Attributes& statistics) {
      return is_final(statistics) && std::ranges::includes(statistics, made_from);
    };
    if (const auto statistics = stage.begin(digest, runtime::Stage::OldFiles::Discard, is_current)) {
      runtime::read_counts(summary.report, generalize_counts, *statistics, generalize_stage);
      summary.already_done = true;
      std::filesystem::remove(out / generalize_journal_file);  // left behind if the run that finished was killed
      return;
    }
    runtime::Journal journal = runtime::Journal::open_in_folder(out, generalize_journal_file, digest);
    scheduler.use_journal(journal);
    AnswerCache cache(out, library, options.worker_process.worker.prover.seed);
    scheduler.use_cache(cache);
    scheduler.show_progress(options.progress);
    std::vector<std::string> database = {runtime::read_verified(manifest, pruned_file)};
    if (tier != GeneralizedTier::None) {
      // Measured: 6.3 bytes per byte of the database at four operators.
      constexpr std::uint64_t bytes_per_byte = 7;
      require_memory(options.memory, "adding the general forms of these rules", bytes_per_byte * database[0].size());
      database =
          with_general_forms(std::move(database[0]), out / pruned_file, tier, library, scheduler, summary.report);
    }
    stage.write(rules_file, runtime::views_of(database));
    runtime::Attributes statistics = runtime::to_attributes(summary.report, generalize_counts);
    statistics.insert(made_from.begin(), made_from.end());
    statistics.insert_or_assign(failed_tasks_key, scheduler.failures());
    stage.finish(statistics);
    std::filesystem::remove(out / generalize_journal_file);
  });
  summary.ranks = scheduler.rank_statistics();
  summary.seconds = watch.seconds();
  return summary;
}

}  // namespace rulemill::prove
