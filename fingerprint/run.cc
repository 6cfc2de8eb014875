#include "fingerprint/run.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <set>

#include "enumerate/count_graphs.h"
#include "fingerprint/shard_builder.h"
#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/file_check.h"
#include "runtime/hash.h"
#include "runtime/interrupt.h"
#include "runtime/json_report.h"
#include "runtime/manifest.h"

namespace rulemill::fingerprint {

using runtime::Json;

std::string inputs_digest(const enumerate::Profile& profile, const algebra::Library& library, std::uint32_t max_ops,
                          bool all_terms, bool every_renaming) {
  runtime::Hasher hasher;
  hasher.add_text(profile.digest);
  hasher.add_text(library.digest());
  hasher.add_number(profile.seed);
  hasher.add_number(max_ops);
  hasher.add_number((all_terms ? 1 : 0) + (every_renaming ? 2 : 0));
  hasher.add_number(shard_schema.version);
  return runtime::to_hex(hasher.digest128());
}

Summary run(const enumerate::Profile& profile, algebra::Library& library, const std::filesystem::path& out,
            const runtime::Communicator& communicator, const RunOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::uint32_t max_ops = options.max_ops != 0 ? options.max_ops : profile.max_ops;
  const std::string digest = inputs_digest(profile, library, max_ops, options.all_terms, options.every_renaming);

  // Rank 0 reads and writes the manifest; the others hear whether there is anything to do, and what is already there.
  std::optional<runtime::Manifest> manifest;
  bool finished = false, known = false;
  if (communicator.is_root()) {
    manifest.emplace(out);
    finished = manifest->finished(fingerprint_stage, digest);
    known = manifest->inputs_digest(fingerprint_stage) == digest;
  }
  // What was damaged since is made again like what was never made.
  const std::vector<std::string> damaged =
      runtime::damaged_files(out, manifest ? &*manifest : nullptr, fingerprint_stage, communicator);
  std::string state;
  if (communicator.is_root()) {
    if (finished && damaged.empty()) {
      state = encode(manifest->figures(fingerprint_stage));
    } else {
      std::filesystem::create_directories(out / "shards");
      for (const std::string& name : damaged) manifest->drop(name);
      manifest->begin(fingerprint_stage, digest, known);
      Json present = Json::object();
      present["present"] = Json::array();
      for (const runtime::ManifestEntry& entry : manifest->entries(fingerprint_stage)) {
        present["present"].push_back(entry.name);
      }
      state = present.dump();
    }
  }
  communicator.broadcast(state);
  const Json heard = Json::parse(state);
  if (!heard.contains("present")) return summary_of(decode(state));
  const auto present = heard["present"].get<std::set<std::string>>();

  LevelRunner runner(profile, library,
                     {options.threads, options.all_terms, options.every_renaming, execute::available_instruction_sets().back(),
                      options.device, static_cast<std::size_t>(communicator.node_rank()), options.memory},
                     communicator);
  runner.prepare(max_ops);
  const ShardBuilder builder(profile, runner);

  Summary summary;
  summary.max_ops = max_ops;
  summary.levels = runner.figures();
  summary.backend = runner.backend();
  summary.value_bytes = runner.value_bytes();
  summary.rows = runner.enumerator().terms().terms() + summary.levels.back().rows;

  const runtime::Attributes provenance{{"inputs", digest},
                                       {"profile", profile.name},
                                       {"profile_digest", profile.digest},
                                       {"operators_digest", library.digest()},
                                       {"seed", profile.seed},
                                       {"max_ops", std::uint64_t{max_ops}},
                                       {"build", options.build}};
  const std::uint64_t rows_each = shard_rows(summary.rows);
  summary.shards = (summary.rows + rows_each - 1) / rows_each;
  const auto ranks = static_cast<std::uint64_t>(communicator.size()),
             rank = static_cast<std::uint64_t>(communicator.rank());

  if (communicator.is_root()) {
    const std::string json = builder.dictionary().to_json();
    runtime::write_file(out / dictionary_file, json);
    manifest->add(runtime::entry_of(dictionary_file, fingerprint_stage, runtime::bytes_of(json)));
  }
  // Rounds, so that what is done is listed before the rest is.
  const std::uint64_t most = (summary.shards + ranks - 1) / ranks;
  const std::uint64_t round = std::max<std::uint64_t>(32, 4 * std::uint64_t{runner.workers().threads()});
  runtime::Progress progress(communicator.is_root() ? options.progress : runtime::ProgressMode::Off,
                             "fingerprint: shards", (summary.shards + ranks - 1 - rank) / ranks);
  std::mutex one_writer;  // HDF5 works for one thread at a time
  double writing = 0;
  const auto evaluation_start = std::chrono::steady_clock::now();
  for (std::uint64_t begin = 0; begin < most; begin += round) {
    std::vector<Json> made(std::min(round, most - begin));
    runner.workers().run(made.size(), [&](std::size_t i, unsigned) {
      // Neighbours differ little in their work: each rank takes every so manieth.
      const std::uint64_t shard = (begin + i) * ranks + rank;
      if (shard >= summary.shards || present.contains(shard_name(shard)) || runtime::interrupted()) return;
      TermRows rows;
      const ShardBuilder::Work work =
          builder.build(shard * rows_each, std::min(summary.rows, (shard + 1) * rows_each), rows);
      const std::unique_lock lock(one_writer);
      const auto write_start = std::chrono::steady_clock::now();
      const runtime::TableSummary written = write_shard(out / shard_name(shard), rows, provenance);
      writing += std::chrono::duration<double>(std::chrono::steady_clock::now() - write_start).count();
      made[i] = {{"name", shard_name(shard)}, {"bytes", written.bytes},    {"checksum", written.checksum},
                 {"rows", written.rows},      {"products", work.products}, {"nodes", work.nodes},
                 {"terms", work.terms}};
      progress.advance();
    });
    Json list = Json::array();
    for (Json& entry : made) {
      if (!entry.is_null()) list.push_back(std::move(entry));
    }
    const std::string text = list.dump();
    for (const runtime::Bytes& bytes : communicator.gather(runtime::bytes_of(text))) {
      const Json entries = Json::parse(runtime::text_of(bytes));
      for (const Json& entry : entries) {
        manifest->add({entry["name"],
                       fingerprint_stage,
                       entry["bytes"],
                       entry["checksum"],
                       {{"rows", entry["rows"].get<std::uint64_t>()},
                        {"products", entry["products"].get<std::uint64_t>()},
                        {"nodes", entry["nodes"].get<std::uint64_t>()},
                        {"terms", entry["terms"].get<std::uint64_t>()}}});
      }
    }
    if (communicator.is_root()) manifest->save();
    runtime::require_going_on(fingerprint_stage, communicator);
  }
  const double evaluating = std::chrono::duration<double>(std::chrono::steady_clock::now() - evaluation_start).count();
  std::string figures;
  if (communicator.is_root()) {
    for (const runtime::ManifestEntry& entry : manifest->entries(fingerprint_stage)) {
      summary.shard_bytes += entry.bytes;
      const auto add = [&](const char* name, std::uint64_t& total) {
        const auto found = entry.attributes.find(name);
        if (found != entry.attributes.end()) total += std::get<std::uint64_t>(found->second);
      };
      add("products", summary.levels.back().products);
      add("nodes", summary.levels.back().nodes);
      add("terms", summary.levels.back().terms);
    }
    std::vector<std::uint64_t> level_nodes;
    for (const LevelFigures& level : summary.levels) {
      level_nodes.push_back(level.nodes);
      summary.terms += level.terms;
    }
    summary.graphs.push_back(0);
    for (std::uint32_t k = 1; k <= max_ops; ++k) {
      const auto graphs = enumerate::count_graphs(k, runner.enumerator(), level_nodes);
      if (!graphs) break;
      summary.graphs.push_back(*graphs);
    }
    summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    manifest->finish(fingerprint_stage, to_attributes(summary));
    figures = encode(to_attributes(summary));
  }
  communicator.broadcast(figures);
  Summary result = summary_of(decode(figures));
  result.already_done = false;
  const LevelRunner::Times& times = runner.times();
  result.steps = {{"own levels", times.own_levels},
                  {"shared level", times.shared_level},
                  {"count", times.counting},
                  {"evaluate and write", evaluating},
                  {"write", writing}};
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace rulemill::fingerprint
