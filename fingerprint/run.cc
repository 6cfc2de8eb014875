#include "fingerprint/run.h"

#include "enumerate/levels/enumerator.h"
#include "enumerate/profile/profile_components.h"
#include "fingerprint/previous_table.h"
#include "fingerprint/shard_writer.h"
#include "runtime/files/stage.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/hash.h"

namespace rulemill::fingerprint {

std::string inputs_digest(const enumerate::Profile& profile, const algebra::Library& library, std::uint32_t max_ops,
                          bool all_terms, bool no_symmetry) {
  runtime::Hasher hasher;
  hasher.add_text(profile.digest);
  hasher.add_text(enumerate::digest_of(enumerate::definition_components(profile, library)));
  hasher.add_number(profile.seed);
  hasher.add_number(max_ops);
  hasher.add_number((all_terms ? 1 : 0) + (no_symmetry ? 2 : 0));
  hasher.add_number(shard_schema.version);
  return runtime::to_hex(hasher.digest128());
}

namespace {

std::vector<std::pair<std::string, std::uint64_t>> gpu_count_list(const execute::GpuCounters& counts) {
  if (counts.resident_bytes == 0) return {};
  return {{"resident bytes", counts.resident_bytes},
          {"uploaded bytes", counts.uploaded_bytes},
          {"downloaded bytes", counts.downloaded_bytes},
          {"arena bytes", counts.arena_bytes},
          {"batches", counts.batches},
          {"tiles", counts.tiles},
          {"nodes", counts.nodes},
          {"transient terms", counts.transient},
          {"transient renamings", counts.transient_items},
          {"node words", counts.words},
          {"renaming words", counts.renaming_words},
          {"minima", counts.minima},
          {"renamings", counts.items},
          {"arguments", counts.arguments},
          {"operands", counts.operands},
          {"staged operands", counts.staged},
          {"gpu microseconds", counts.microseconds}};
}

/// One run of the stage. Every step is collective.
class FingerprintRun {
 public:
  FingerprintRun(const enumerate::Profile& profile, algebra::Library& library, const std::filesystem::path& out,
                 const runtime::Communicator& communicator, const RunOptions& options)
      : profile_(profile),
        library_(library),
        communicator_(communicator),
        options_(options),
        max_ops_(options.max_ops != 0 ? options.max_ops : profile.max_ops),
        digest_(inputs_digest(profile, library, max_ops_, options.all_terms, options.no_symmetry)),
        stage_(out, fingerprint_stage, communicator) {}

  Summary run() {
    if (const auto statistics = stage_.begin(digest_, runtime::Stage::OldFiles::Keep)) {
      remove_previous_table();  // left behind if the run that finished the stage was killed
      return summary_of(*statistics);
    }
    if (communicator_.is_root()) std::filesystem::create_directories(stage_.folder() / "shards");
    LevelRunner runner(
        profile_, library_,
        {options_.threads, options_.all_terms, options_.no_symmetry, execute::available_instruction_sets().back(),
         options_.device, static_cast<std::size_t>(communicator_.node().rank()), options_.memory},
        communicator_);
    runner.prepare(max_ops_);
    summarize_levels(runner);
    const auto previous =
        PreviousTable::open(stage_.folder() / previous_folder, profile_, library_, runner, communicator_);
    runner.reuse_rows_from(previous.get());
    const ShardBuilder builder(profile_, runner);
    if (communicator_.is_root()) stage_.write(dictionary_file, builder.dictionary().to_json());
    watch_.lap();
    // The previous table is read shard by shard, and a GPU needs large batches.
    const double writing = write_shards(runner, builder, previous == nullptr && !runner.has_gpu());
    const double evaluating = watch_.lap();
    summary_.backend = runner.backend();  // known only now: a GPU may have failed
    Summary result = finish(runner.enumerator());
    const LevelRunner::Times& times = runner.times();
    result.steps = {{"expanded levels", times.expanded_levels.total},
                    {"expanded levels, distributed", times.expanded_levels.distributed},
                    {"canonical level", times.canonical_level.total},
                    {"canonical level, distributed", times.canonical_level.distributed},
                    {"count", times.counting.total},
                    {"count, distributed", times.counting.distributed},
                    {"evaluate and write", evaluating},
                    {"write", writing}};
    result.gpu = gpu_count_list(runner.gpu_counters());
    result.seconds = watch_.seconds();
    if (previous) result.rows_reused = communicator_.sum(previous->rows_reused());
    remove_previous_table();
    return result;
  }

 private:
  void remove_previous_table() const {
    if (communicator_.is_root()) std::filesystem::remove_all(stage_.folder() / previous_folder);
  }

  void summarize_levels(const LevelRunner& runner) {
    summary_.max_ops = max_ops_;
    summary_.levels = runner.statistics();
    summary_.value_bytes = runner.value_bytes();
    summary_.rows = runner.enumerator().terms().terms() + summary_.levels.back().rows;
    rows_per_shard_ = rows_per_shard(summary_.rows);
    summary_.shards = (summary_.rows + rows_per_shard_ - 1) / rows_per_shard_;
  }

  /// Writes the missing shards. Returns the seconds that the threads of this rank spent writing files.
  double write_shards(const LevelRunner& runner, const ShardBuilder& builder, bool divisible) {
    std::vector<std::uint64_t> missing;
    for (std::uint64_t shard = 0; shard < summary_.shards; ++shard) {
      if (!stage_.kept_files().contains(shard_name(shard))) missing.push_back(shard);
    }
    const runtime::Attributes provenance{
        {"inputs", digest_},
        {"profile", profile_.name},
        {"profile_digest", profile_.digest},
        {"operators_digest", enumerate::digest_of(enumerate::definition_components(profile_, library_))},
        {"seed", profile_.seed},
        {"max_ops", std::uint64_t{max_ops_}},
        {"build", options_.build}};
    ShardWriter writer({stage_.folder(), summary_.rows, rows_per_shard_, provenance}, builder, runner.thread_pool(),
                       communicator_, stage_.manifest());
    runtime::Progress progress(communicator_.is_root() ? options_.progress : runtime::ProgressMode::Off,
                               "fingerprint: shards", missing.size());
    writer.write(missing, divisible, progress);
    return writer.seconds();
  }

  /// Returns the same summary on every rank.
  Summary finish(const enumerate::Enumerator& enumerator) {
    if (communicator_.is_root()) {
      add_totals(enumerator);
      summary_.seconds = watch_.seconds();
    }
    Summary result = summary_of(stage_.finish(to_attributes(summary_)));
    result.already_done = false;
    return result;
  }

  void add_totals(const enumerate::Enumerator& enumerator) {
    for (const runtime::ManifestEntry& entry : stage_.manifest()->entries(fingerprint_stage)) {
      summary_.shard_bytes += entry.bytes;
      const auto add = [&](const char* name, std::uint64_t& total) {
        const auto found = entry.attributes.find(name);
        if (found != entry.attributes.end()) total += std::get<std::uint64_t>(found->second);
      };
      add("products", summary_.levels.back().products);
      add("nodes", summary_.levels.back().nodes);
      add("terms", summary_.levels.back().terms);
    }
    std::vector<std::uint64_t> level_nodes;
    for (const LevelStatistics& level : summary_.levels) {
      level_nodes.push_back(level.nodes);
      summary_.terms += level.terms;
    }
    summary_.graphs.push_back(0);
    for (std::uint32_t k = 1; k <= max_ops_; ++k) {
      const auto graphs = enumerate::count_graphs(k, enumerator, level_nodes);
      if (!graphs) break;
      summary_.graphs.push_back(*graphs);
    }
  }

  const enumerate::Profile& profile_;
  algebra::Library& library_;
  const runtime::Communicator& communicator_;
  const RunOptions& options_;
  std::uint32_t max_ops_;
  std::string digest_;
  runtime::Stopwatch watch_;
  runtime::Stage stage_;
  Summary summary_;  // complete on the first rank only
  std::uint64_t rows_per_shard_ = 0;
};

}  // namespace

Summary run(const enumerate::Profile& profile, algebra::Library& library, const std::filesystem::path& out,
            const runtime::Communicator& communicator, const RunOptions& options) {
  return FingerprintRun(profile, library, out, communicator, options).run();
}

}  // namespace rulemill::fingerprint
