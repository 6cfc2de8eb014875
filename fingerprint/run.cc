#include "fingerprint/run.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "enumerate/count_graphs.h"
#include "fingerprint/shards.h"
#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/interrupt.h"
#include "runtime/json_report.h"
#include "runtime/manifest.h"

namespace rulemill::fingerprint {
namespace {

using enumerate::no_id;
using enumerate::SignatureId;
using enumerate::TermId;
using runtime::Json;

/// Numbers instances and builds rows; the same on every rank.
class ShardBuilder {
 public:
  ShardBuilder(const enumerate::Profile& profile, const LevelRunner& runner) : profile_(profile), runner_(runner) {
    const auto& signatures = runner.enumerator().signatures();
    std::map<const algebra::Instance*, std::uint16_t> numbers;
    for (SignatureId s = 0; s < signatures.size(); ++s) {
      const enumerate::Signature& signature = signatures[s];
      const auto [found, added] = numbers.try_emplace(signature.instance, static_cast<std::uint16_t>(numbers.size()));
      if (added) {
        dictionary_.instances.push_back(
            {signature.instance->operator_name, signature.instance->parameters, *signature.ranks});
      }
      instance_.push_back(found->second);
      sizes_width_ = std::max(sizes_width_, static_cast<std::uint32_t>(signature.sizes.size()));
    }
    for (enumerate::TypeId t = 0; t < runner.enumerator().types().size(); ++t) {
      dictionary_.types.push_back(runner.enumerator().types().shape(t));
    }
    dictionary_.degrees = runner.degree_bounds();
    for (const enumerate::Variable& variable : profile.variables) dictionary_.variables.push_back(variable.name);
  }

  const Dictionary& dictionary() const { return dictionary_; }

  /// Terms [first, last); evaluates those of the last level. Returns the multiply-adds.
  std::uint64_t build(std::uint64_t first, std::uint64_t last, TermRows& rows) const {
    const auto& enumerator = runner_.enumerator();
    const std::uint64_t known = enumerator.terms().terms();
    rows.first = first;
    rows.arguments_width = enumerator.arity_stride();
    rows.sizes_width = sizes_width_;
    rows.resize(last - first);
    for (std::uint64_t t = first; t < std::min(last, known); ++t) known_row(static_cast<TermId>(t), t - first, rows);
    if (last <= known) return 0;

    const std::uint64_t first_row = std::max(first, known) - known, last_row = last - known;
    // A node whose first output lies in the shard before is evaluated here, too.
    const std::uint64_t from = first_row - std::min<std::uint64_t>(first_row, max_outputs() - 1);
    const std::uint64_t to = last_row + max_outputs() - 1;
    RowRange range;
    range.resize(from, to - from, enumerator.arity_stride());
    const std::uint64_t products = runner_.evaluate(from, last_row, range);
    std::uint64_t node = enumerator.terms().nodes() + enumerator.nodes_before(from) - 1;
    for (std::uint64_t r = from, output = 0; r < last_row; ++r) {
      const SignatureId s = range.signatures[r - from];
      if (s == no_id) continue;  // an output of a node that begins before `from`
      const enumerate::Signature& signature = enumerator.signatures()[s];
      const bool starts = output == 0;
      node += starts ? 1 : 0;
      if (r >= first_row) {
        const std::size_t row = known + r - first;
        describe(s, enumerator.level(), output, range.arguments.data() + (r - from) * enumerator.arity_stride(), row,
                 rows);
        rows.node[row] = static_cast<std::uint32_t>(node);
        rows.fingerprint[2 * row] = range.fingerprints[r - from].high;
        rows.fingerprint[2 * row + 1] = range.fingerprints[r - from].low;
      }
      output = output + 1 == signature.outputs.size() ? 0 : output + 1;
    }
    return products;
  }

 private:
  std::uint64_t max_outputs() const {
    std::size_t most = 1;
    const auto& signatures = runner_.enumerator().signatures();
    for (SignatureId s = 0; s < signatures.size(); ++s) most = std::max(most, signatures[s].outputs.size());
    return most;
  }

  void describe(SignatureId s, std::uint32_t level, std::uint64_t output, const TermId* arguments, std::size_t row,
                TermRows& rows) const {
    const enumerate::Signature& signature = runner_.enumerator().signatures()[s];
    rows.level[row] = static_cast<std::uint8_t>(level);
    rows.output[row] = static_cast<std::uint8_t>(output);
    rows.type[row] = signature.outputs[output];
    rows.instance[row] = instance_[s];
    std::copy_n(arguments, signature.arguments.size(),
                rows.arguments.begin() + static_cast<std::ptrdiff_t>(row * rows.arguments_width));
    for (std::size_t i = 0; i < signature.sizes.size(); ++i) {
      rows.sizes[row * rows.sizes_width + i] = static_cast<std::uint32_t>(signature.sizes[i]);
    }
  }

  void known_row(TermId t, std::size_t row, TermRows& rows) const {
    const auto& terms = runner_.enumerator().terms();
    if (!terms.is_variable(t)) {
      const enumerate::NodeId n = terms.node(t);
      describe(terms.signature(n), terms.level(t), terms.output(t), terms.arguments(n).data(), row, rows);
      rows.node[row] = n;
    }
    rows.type[row] = terms.type(t);
    rows.fingerprint[2 * row] = runner_.fingerprints()[t].high;
    rows.fingerprint[2 * row + 1] = runner_.fingerprints()[t].low;
  }

  const enumerate::Profile& profile_;
  const LevelRunner& runner_;
  Dictionary dictionary_;
  std::vector<std::uint16_t> instance_;  // by signature
  std::uint32_t sizes_width_ = 1;
};

/// Figures as the manifest keeps them, and back.
runtime::Attributes to_attributes(const Summary& summary) {
  runtime::Attributes figures;
  figures["max_ops"] = std::uint64_t{summary.max_ops};
  for (std::size_t level = 0; level < summary.levels.size(); ++level) {
    const std::string prefix = "level_" + std::to_string(level) + "_";
    figures[prefix + "nodes"] = summary.levels[level].nodes;
    figures[prefix + "terms"] = summary.levels[level].terms;
    figures[prefix + "new_values"] = summary.levels[level].new_values;
    figures[prefix + "products"] = summary.levels[level].products;
  }
  for (std::size_t k = 1; k < summary.graphs.size(); ++k) figures["graphs_" + std::to_string(k)] = summary.graphs[k];
  figures["terms"] = summary.terms;
  figures["shards"] = summary.shards;
  figures["shard_bytes"] = summary.shard_bytes;
  figures["value_bytes"] = summary.value_bytes;
  figures["backend"] = summary.backend;
  figures["seconds"] = summary.seconds;
  return figures;
}

Summary from_attributes(const runtime::Attributes& figures) {
  const auto number = [&](const std::string& name) {
    const auto found = figures.find(name);
    const auto* value = found == figures.end() ? nullptr : std::get_if<std::uint64_t>(&found->second);
    return value == nullptr ? std::uint64_t{0} : *value;
  };
  Summary summary;
  summary.already_done = true;
  summary.max_ops = static_cast<std::uint32_t>(number("max_ops"));
  for (std::uint32_t level = 0; level <= summary.max_ops; ++level) {
    const std::string prefix = "level_" + std::to_string(level) + "_";
    summary.levels.push_back({number(prefix + "nodes"), number(prefix + "terms"), number(prefix + "new_values"),
                              number(prefix + "products")});
  }
  summary.graphs.push_back(0);
  for (std::uint32_t k = 1; figures.contains("graphs_" + std::to_string(k)); ++k) {
    summary.graphs.push_back(number("graphs_" + std::to_string(k)));
  }
  summary.terms = number("terms");
  summary.shards = number("shards");
  summary.shard_bytes = number("shard_bytes");
  summary.value_bytes = number("value_bytes");
  if (const auto found = figures.find("backend"); found != figures.end()) {
    if (const auto* text = std::get_if<std::string>(&found->second)) summary.backend = *text;
  }
  return summary;
}

std::string encode(const runtime::Attributes& figures) {
  Json object = Json::object();
  for (const auto& [name, value] : figures) std::visit([&](const auto& plain) { object[name] = plain; }, value);
  return object.dump();
}

runtime::Attributes decode(const std::string& text) {
  runtime::Attributes figures;
  const Json object = Json::parse(text);
  for (const auto& [name, value] : object.items()) {
    if (value.is_number_unsigned())
      figures[name] = value.get<std::uint64_t>();
    else if (value.is_number())
      figures[name] = value.get<double>();
    else
      figures[name] = value.get<std::string>();
  }
  return figures;
}

}  // namespace

std::string inputs_digest(const enumerate::Profile& profile, const algebra::Library& library, std::uint32_t max_ops,
                          bool all_terms) {
  runtime::Hasher hasher;
  hasher.add_text(profile.digest);
  hasher.add_text(library.digest());
  hasher.add_number(profile.seed);
  hasher.add_number(max_ops);
  hasher.add_number(all_terms ? 1 : 0);
  hasher.add_number(shard_schema.version);
  return runtime::to_hex(hasher.digest128());
}

Summary run(const enumerate::Profile& profile, algebra::Library& library, const std::filesystem::path& out,
            const runtime::Communicator& communicator, const RunOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::uint32_t max_ops = options.max_ops != 0 ? options.max_ops : profile.max_ops;
  const std::string digest = inputs_digest(profile, library, max_ops, options.all_terms);

  // Rank 0 reads and writes the manifest; the others hear whether there is anything to do, and what is already there.
  std::optional<runtime::Manifest> manifest;
  std::string state;
  if (communicator.is_root()) {
    manifest.emplace(out);
    if (manifest->finished(fingerprint_stage, digest)) {
      manifest->check_files(fingerprint_stage);
      state = encode(manifest->figures(fingerprint_stage));
    } else {
      std::filesystem::create_directories(out / "shards");
      manifest->begin(fingerprint_stage, digest, manifest->inputs_digest(fingerprint_stage) == digest);
      Json present = Json::object();
      present["present"] = Json::array();
      for (const runtime::ManifestEntry& entry : manifest->entries(fingerprint_stage)) {
        std::error_code error;
        if (std::filesystem::file_size(out / entry.name, error) == entry.bytes && !error)
          present["present"].push_back(entry.name);
      }
      state = present.dump();
    }
  }
  communicator.broadcast(state);
  const Json heard = Json::parse(state);
  if (!heard.contains("present")) return from_attributes(decode(state));
  const auto present = heard["present"].get<std::set<std::string>>();

  LevelRunner runner(profile, library,
                     {options.threads, options.all_terms, available_instruction_sets().back(), options.device,
                      static_cast<std::size_t>(communicator.rank())});
  runner.prepare(max_ops);
  const ShardBuilder builder(profile, runner);

  Summary summary;
  summary.max_ops = max_ops;
  summary.levels = runner.figures();
  summary.backend = runner.backend();
  summary.value_bytes = runner.value_bytes();
  std::vector<std::uint64_t> level_nodes;
  for (const LevelFigures& level : summary.levels) level_nodes.push_back(level.nodes);
  summary.graphs.push_back(0);
  for (std::uint32_t k = 1; k <= max_ops; ++k) {
    const auto graphs = enumerate::count_graphs(k, runner.enumerator().terms(), level_nodes);
    if (!graphs) break;
    summary.graphs.push_back(*graphs);
  }
  summary.terms = runner.enumerator().terms().terms() + summary.levels.back().terms;

  const runtime::Attributes provenance{{"inputs", digest},
                                       {"profile", profile.name},
                                       {"profile_digest", profile.digest},
                                       {"operators_digest", library.digest()},
                                       {"seed", profile.seed},
                                       {"max_ops", std::uint64_t{max_ops}},
                                       {"build", options.build}};
  const std::uint64_t rows_each = shard_rows(summary.terms);
  summary.shards = (summary.terms + rows_each - 1) / rows_each;
  const auto ranks = static_cast<std::uint64_t>(communicator.size()),
             rank = static_cast<std::uint64_t>(communicator.rank());
  const std::uint64_t first = summary.shards * rank / ranks, last = summary.shards * (rank + 1) / ranks;

  if (communicator.is_root()) {
    const std::string json = builder.dictionary().to_json();
    runtime::write_file(out / "shards/dictionary.json", json);
    manifest->add({"shards/dictionary.json",
                   fingerprint_stage,
                   json.size(),
                   runtime::to_hex(runtime::hash128(runtime::bytes_of(json))),
                   {}});
  }
  // Rounds, so that what is done is listed before the rest is.
  const std::uint64_t most = (summary.shards + ranks - 1) / ranks;
  const std::uint64_t round = std::max<std::uint64_t>(8, 4 * std::uint64_t{runner.workers().threads()});
  runtime::Progress progress(communicator.is_root() ? options.progress : runtime::ProgressMode::Off,
                             "fingerprint: shards", last - first);
  std::uint64_t products = 0;
  std::mutex one_writer;  // HDF5 works for one thread at a time
  for (std::uint64_t begin = 0; begin < most; begin += round) {
    std::vector<Json> made(std::min(round, most - begin));
    runner.workers().run(made.size(), [&](std::size_t i, unsigned) {
      const std::uint64_t shard = first + begin + i;
      if (shard >= last || present.contains(shard_name(shard)) || runtime::interrupted()) return;
      TermRows rows;
      const std::uint64_t work =
          builder.build(shard * rows_each, std::min(summary.terms, (shard + 1) * rows_each), rows);
      const std::unique_lock lock(one_writer);
      const runtime::TableSummary written = write_shard(out / shard_name(shard), rows, provenance);
      made[i] = {{"name", shard_name(shard)},
                 {"bytes", written.bytes},
                 {"checksum", written.checksum},
                 {"rows", written.rows},
                 {"products", work}};
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
        manifest->add(
            {entry["name"],
             fingerprint_stage,
             entry["bytes"],
             entry["checksum"],
             {{"rows", entry["rows"].get<std::uint64_t>()}, {"products", entry["products"].get<std::uint64_t>()}}});
      }
    }
    if (communicator.is_root()) manifest->save();
    if (communicator.any(runtime::interrupted()))
      throw runtime::Interrupted("fingerprint", "stopped; run the same command again to continue");
  }
  std::string figures;
  if (communicator.is_root()) {
    for (const runtime::ManifestEntry& entry : manifest->entries(fingerprint_stage)) {
      summary.shard_bytes += entry.bytes;
      if (const auto found = entry.attributes.find("products"); found != entry.attributes.end()) {
        products += std::get<std::uint64_t>(found->second);
      }
    }
    summary.levels.back().products = products;
    summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    manifest->finish(fingerprint_stage, to_attributes(summary));
    figures = encode(to_attributes(summary));
  }
  communicator.broadcast(figures);
  Summary result = from_attributes(decode(figures));
  result.already_done = false;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace rulemill::fingerprint
