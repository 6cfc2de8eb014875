#include "fingerprint/run.h"

#include <algorithm>
#include <optional>
#include <set>

#include "enumerate/count_graphs.h"
#include "enumerate/profile_parts.h"
#include "fingerprint/earlier_table.h"
#include "fingerprint/shard_writer.h"
#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/file_check.h"
#include "runtime/hash.h"
#include "runtime/json_report.h"
#include "runtime/manifest.h"
#include "runtime/stopwatch.h"

namespace rulemill::fingerprint {

using runtime::Json;

std::string inputs_digest(const enumerate::Profile& profile, const algebra::Library& library, std::uint32_t max_ops,
                          bool all_terms, bool every_renaming) {
  runtime::Hasher hasher;
  hasher.add_text(profile.digest);
  hasher.add_text(enumerate::digest_of(enumerate::definitions_of(profile, library)));
  hasher.add_number(profile.seed);
  hasher.add_number(max_ops);
  hasher.add_number((all_terms ? 1 : 0) + (every_renaming ? 2 : 0));
  hasher.add_number(shard_schema.version);
  return runtime::to_hex(hasher.digest128());
}

namespace {

std::vector<std::pair<std::string, std::uint64_t>> in_words(const execute::DeviceCounts& counts) {
  if (counts.resident_bytes == 0) return {};
  return {{"resident bytes", counts.resident_bytes},
          {"uploaded bytes", counts.uploaded_bytes},
          {"downloaded bytes", counts.downloaded_bytes},
          {"arena bytes", counts.arena_bytes},
          {"batches", counts.batches},
          {"pieces", counts.pieces},
          {"nodes", counts.nodes},
          {"passing terms", counts.passing},
          {"passing names", counts.passing_items},
          {"node words", counts.words},
          {"name words", counts.names},
          {"minima", counts.minima},
          {"names", counts.items},
          {"arguments", counts.arguments},
          {"operands", counts.operands},
          {"staged operands", counts.staged},
          {"device microseconds", counts.microseconds}};
}

/// One run of the stage, step by step. Every step is collective; the first rank alone has the manifest.
class Stage {
 public:
  Stage(const enumerate::Profile& profile, algebra::Library& library, const std::filesystem::path& out,
        const runtime::Communicator& communicator, const RunOptions& options)
      : profile_(profile),
        library_(library),
        out_(out),
        communicator_(communicator),
        options_(options),
        max_ops_(options.max_ops != 0 ? options.max_ops : profile.max_ops),
        digest_(inputs_digest(profile, library, max_ops_, options.all_terms, options.every_renaming)) {}

  Summary run() {
    if (const std::optional<Summary> before = begin()) {
      forget_earlier();  // of a run that was ended right after it had finished
      return *before;
    }
    LevelRunner runner(
        profile_, library_,
        {options_.threads, options_.all_terms, options_.every_renaming, execute::available_instruction_sets().back(),
         options_.device, static_cast<std::size_t>(communicator_.node().rank()), options_.memory},
        communicator_);
    runner.prepare(max_ops_);
    note_levels(runner);
    const auto earlier = EarlierTable::open(out_ / earlier_folder, profile_, library_, runner, communicator_);
    runner.take_from(earlier.get());
    const ShardBuilder builder(profile_, runner);
    if (communicator_.is_root()) write_dictionary(builder.dictionary());
    watch_.lap();
    // What is taken from a table is read shard by shard; a device is given as much as there is.
    const double writing = write_shards(runner, builder, earlier == nullptr && !runner.has_device());
    const double evaluating = watch_.lap();
    Summary result = finish(runner.enumerator());
    const LevelRunner::Times& times = runner.times();
    result.steps = {{"named levels", times.named_levels.all},
                    {"named levels, shared", times.named_levels.shared},
                    {"canonical level", times.canonical_level.all},
                    {"canonical level, shared", times.canonical_level.shared},
                    {"count", times.counting.all},
                    {"count, shared", times.counting.shared},
                    {"evaluate and write", evaluating},
                    {"write", writing}};
    result.device = in_words(runner.device_counts());
    result.seconds = watch_.seconds();
    if (earlier) result.taken = communicator_.sum(earlier->taken());
    forget_earlier();
    return result;
  }

 private:
  /// What an earlier run has finished; otherwise which shards it has left.
  std::optional<Summary> begin() {
    bool finished = false, known = false;
    if (communicator_.is_root()) {
      manifest_.emplace(out_);
      finished = manifest_->finished(fingerprint_stage, digest_);
      known = manifest_->inputs_digest(fingerprint_stage) == digest_;
    }
    // What was damaged since is made again like what was never made.
    const std::vector<std::string> damaged =
        runtime::damaged_files(out_, manifest_ ? &*manifest_ : nullptr, fingerprint_stage, communicator_);
    Json state = Json::object();
    if (communicator_.is_root()) {
      if (finished && damaged.empty()) {
        state["figures"] = runtime::to_json(manifest_->figures(fingerprint_stage));
      } else {
        std::filesystem::create_directories(out_ / "shards");
        for (const std::string& name : damaged) manifest_->drop(name);
        manifest_->begin(fingerprint_stage, digest_, known);
        for (const runtime::ManifestEntry& entry : manifest_->entries(fingerprint_stage)) present_.insert(entry.name);
        state["present"] = present_;
      }
    }
    std::string text = state.dump();
    communicator_.broadcast(text);
    const Json heard = Json::parse(text);
    if (heard.contains("figures")) return summary_of(runtime::to_attributes(heard["figures"]));
    present_ = heard["present"].get<std::set<std::string>>();
    return std::nullopt;
  }

  void forget_earlier() const {
    if (communicator_.is_root()) std::filesystem::remove_all(out_ / earlier_folder);
  }

  void note_levels(const LevelRunner& runner) {
    summary_.max_ops = max_ops_;
    summary_.levels = runner.figures();
    summary_.backend = runner.backend();
    summary_.value_bytes = runner.value_bytes();
    summary_.rows = runner.enumerator().terms().terms() + summary_.levels.back().rows;
    rows_each_ = shard_rows(summary_.rows);
    summary_.shards = (summary_.rows + rows_each_ - 1) / rows_each_;
  }

  void write_dictionary(const Dictionary& dictionary) {
    const std::string json = dictionary.to_json();
    runtime::write_file(out_ / dictionary_file, json);
    manifest_->add(runtime::entry_of(dictionary_file, fingerprint_stage, runtime::bytes_of(json)));
  }

  /// Makes the shards that are missing. Returns the seconds that this rank spent in writing them.
  double write_shards(const LevelRunner& runner, const ShardBuilder& builder, bool divisible) {
    std::vector<std::uint64_t> missing;
    for (std::uint64_t shard = 0; shard < summary_.shards; ++shard) {
      if (!present_.contains(shard_name(shard))) missing.push_back(shard);
    }
    const runtime::Attributes provenance{
        {"inputs", digest_},
        {"profile", profile_.name},
        {"profile_digest", profile_.digest},
        {"operators_digest", enumerate::digest_of(enumerate::definitions_of(profile_, library_))},
        {"seed", profile_.seed},
        {"max_ops", std::uint64_t{max_ops_}},
        {"build", options_.build}};
    ShardWriter writer({out_, summary_.rows, rows_each_, provenance}, builder, runner.workers(), communicator_,
                       manifest_ ? &*manifest_ : nullptr);
    runtime::Progress progress(communicator_.is_root() ? options_.progress : runtime::ProgressMode::Off,
                               "fingerprint: shards", missing.size());
    writer.write(missing, divisible, progress);
    return writer.seconds();
  }

  /// The same summary on every rank.
  Summary finish(const enumerate::Enumerator& enumerator) {
    std::string figures;
    if (communicator_.is_root()) {
      add_up(enumerator);
      summary_.seconds = watch_.seconds();
      manifest_->finish(fingerprint_stage, to_attributes(summary_));
      figures = runtime::to_json(to_attributes(summary_)).dump();
    }
    communicator_.broadcast(figures);
    Summary result = summary_of(runtime::to_attributes(Json::parse(figures)));
    result.already_done = false;
    return result;
  }

  void add_up(const enumerate::Enumerator& enumerator) {
    for (const runtime::ManifestEntry& entry : manifest_->entries(fingerprint_stage)) {
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
    for (const LevelFigures& level : summary_.levels) {
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
  const std::filesystem::path& out_;
  const runtime::Communicator& communicator_;
  const RunOptions& options_;
  std::uint32_t max_ops_;
  std::string digest_;
  runtime::Stopwatch watch_;
  std::optional<runtime::Manifest> manifest_;
  std::set<std::string> present_;  // files that need not be made
  Summary summary_;                // on the first rank, in the end
  std::uint64_t rows_each_ = 0;
};

}  // namespace

Summary run(const enumerate::Profile& profile, algebra::Library& library, const std::filesystem::path& out,
            const runtime::Communicator& communicator, const RunOptions& options) {
  return Stage(profile, library, out, communicator, options).run();
}

}  // namespace rulemill::fingerprint
