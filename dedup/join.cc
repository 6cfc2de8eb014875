#include "dedup/join.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>

#include "dedup/candidate_set.h"
#include "dedup/candidate_text.h"
#include "dedup/generalize.h"
#include "dedup/pairs.h"
#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/json_report.h"
#include "runtime/machine.h"
#include "runtime/manifest.h"
#include "runtime/quantity.h"

namespace rulemill::dedup {
namespace {

using runtime::Json;

constexpr std::uint64_t join_version = 2;

runtime::Attributes to_attributes(const Summary& summary) {
  const Funnel& f = summary.funnel;
  runtime::Attributes figures{{"terms", f.terms},
                              {"classes", f.classes},
                              {"pairs", f.pairs},
                              {"renamed", f.renamed},
                              {"shapes", f.shapes},
                              {"generalized", f.generalized},
                              {"multi_pairs", f.multi_pairs},
                              {"multi_generalized", f.multi_generalized},
                              {"candidates", f.candidates},
                              {"expected_false", summary.expected_false},
                              {"seconds", summary.seconds}};
  for (std::size_t level = 0; level < summary.new_values.size(); ++level) {
    figures["new_values_" + std::to_string(level)] = summary.new_values[level];
  }
  return figures;
}

Summary from_json(const Json& figures) {
  Summary summary;
  summary.already_done = true;
  Funnel& f = summary.funnel;
  const auto number = [&](const char* name, std::uint64_t& value) { value = figures.at(name).get<std::uint64_t>(); };
  number("terms", f.terms);
  number("classes", f.classes);
  number("pairs", f.pairs);
  number("renamed", f.renamed);
  number("shapes", f.shapes);
  number("generalized", f.generalized);
  number("multi_pairs", f.multi_pairs);
  number("multi_generalized", f.multi_generalized);
  number("candidates", f.candidates);
  summary.expected_false = figures.at("expected_false").get<double>();
  for (std::size_t level = 0; figures.contains("new_values_" + std::to_string(level)); ++level) {
    summary.new_values.push_back(figures["new_values_" + std::to_string(level)].get<std::uint64_t>());
  }
  return summary;
}

Json to_json(const runtime::Attributes& figures) {
  Json object = Json::object();
  for (const auto& [name, value] : figures) std::visit([&](const auto& plain) { object[name] = plain; }, value);
  return object;
}

/// Each at its most general, in place.
void generalize_all(PackedCandidates& candidates, TrialPrograms& programs, std::size_t max_ops,
                    const runtime::Workers& workers) {
  std::vector<std::unique_ptr<Trial>> trials(workers.threads());
  workers.run(candidates.size(), [&](std::size_t i, unsigned thread) {
    if (!trials[thread]) trials[thread] = std::make_unique<Trial>(programs);
    CandidateGraph graph = unpack(candidates[i]);
    if (generalize(graph, *trials[thread], max_ops)) candidates[i] = pack(graph);
  });
}

/// The text of every rank's candidates, on the root.
std::vector<CandidateLine> gather_lines(const PackedCandidates& single, const PackedCandidates& multi,
                                        const enumerate::Profile& profile, const TermRows& rows,
                                        const Vocabulary& words, const runtime::Workers& workers,
                                        const runtime::Communicator& communicator) {
  std::vector<std::uint16_t> variable_types;
  for (TermId v = 0; v < profile.variables.size(); ++v) variable_types.push_back(rows.row(v).type);
  constexpr std::size_t chunk = 256;
  const std::size_t count = single.size() + multi.size();
  std::vector<runtime::Bytes> chunks((count + chunk - 1) / chunk);
  workers.run(chunks.size(), [&](std::size_t c, unsigned) {
    for (std::size_t i = c * chunk; i < std::min(count, (c + 1) * chunk); ++i) {
      const CandidateGraph graph = unpack(i < single.size() ? single[i] : multi[i - single.size()]);
      const CandidateLine line = candidate_line(graph, words, rows.dictionary().variables, variable_types);
      runtime::append_value(chunks[c], line.size);
      runtime::append_value(chunks[c], static_cast<std::uint32_t>(line.text.size()));
      const runtime::ByteView view = runtime::bytes_of(line.text);
      chunks[c].insert(chunks[c].end(), view.begin(), view.end());
    }
  });
  runtime::Bytes mine;
  for (const runtime::Bytes& part : chunks) mine.insert(mine.end(), part.begin(), part.end());
  std::vector<CandidateLine> lines;
  for (const runtime::Bytes& part : communicator.gather(mine)) {
    for (runtime::ByteView view = part; !view.empty();) {
      std::uint32_t size = 0, length = 0;
      std::memcpy(&size, view.data(), sizeof size);
      std::memcpy(&length, view.data() + sizeof size, sizeof length);
      view = view.subspan(sizeof size + sizeof length);
      lines.push_back({size, std::string(runtime::text_of(view.first(length)))});
      view = view.subspan(length);
    }
  }
  return lines;
}

/// How many parts of the fingerprints are joined one after the other.
std::uint64_t parts_of(std::uint64_t rows, std::uint64_t held, const JoinOptions& options,
                       const runtime::Communicator& communicator) {
  // Superseded terms must all be known before anything is paired.
  if (options.all_terms) return 1;
  if (options.parts != 0 || options.memory == 0) return std::max<std::uint64_t>(1, options.parts);
  // A record, the copy of it that is sent, and the rows, classes and pairs that about one in four makes.
  constexpr std::uint64_t bytes_a_row = 2 * sizeof(FingerprintRecord) + sizeof(TermRow);
  const std::uint64_t base = communicator.max(runtime::current_memory_bytes());
  const std::uint64_t least = base + held + (std::uint64_t{64} << 20);
  if (least > options.memory) {
    throw runtime::Error("--memory " + runtime::in_bytes(options.memory),
                         "the join needs at least " + runtime::in_bytes(least) + " a rank for this table");
  }
  const std::uint64_t share = rows / static_cast<std::uint64_t>(communicator.size()) * bytes_a_row;
  return share / (options.memory - base - held) + 1;
}

}  // namespace

Summary join(const enumerate::Profile& profile, algebra::Library& library, const std::filesystem::path& out,
             const fingerprint::Summary& fingerprints, const runtime::Communicator& communicator,
             const JoinOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::string shards_digest =
      fingerprint::inputs_digest(profile, library, fingerprints.max_ops, options.all_terms, options.every_renaming);
  const std::string digest = shards_digest + "-join" + std::to_string(join_version);
  std::optional<runtime::Manifest> manifest;
  std::string state;
  if (communicator.is_root()) {
    manifest.emplace(out);
    if (!manifest->finished(fingerprint::fingerprint_stage, shards_digest)) {
      throw runtime::InputError(out.string(), "the fingerprint stage is not finished in this folder");
    }
    if (manifest->finished(join_stage, digest)) {
      manifest->check_files(join_stage);
      state = to_json(manifest->figures(join_stage)).dump();
    } else {
      manifest->check_files(fingerprint::fingerprint_stage);
      manifest->begin(join_stage, digest);
    }
  }
  communicator.broadcast(state);
  if (!state.empty()) return from_json(Json::parse(state));

  const runtime::Workers workers(options.threads);
  const enumerate::Renamings renamings(profile, options.every_renaming);
  TermRows rows(out, shards_digest, fingerprints, renamings, communicator);
  const Vocabulary words = vocabulary(rows.dictionary(), library);
  TrialPrograms programs(words, library, profile.seed, profile.max_elements);
  const auto keep = [&](std::size_t count, const CandidateSource& source, std::uint64_t* renamings_apart = nullptr) {
    return one_of_each(count, source, words, workers, communicator, renamings_apart);
  };
  const auto keep_packed = [&](PackedCandidates& list) {
    list = keep(list.size(), [&](std::size_t i) { return unpack(list[i]); });
  };

  Summary summary;
  Funnel& funnel = summary.funnel;
  std::map<std::string, double> times;
  auto lap = start;
  const auto note = [&](const char* step) {
    const auto now = std::chrono::steady_clock::now();
    times[step] += std::chrono::duration<double>(now - lap).count();
    lap = now;
  };
  funnel.terms = fingerprints.rows;
  const std::uint64_t parts = parts_of(fingerprints.rows, rows.bytes(), options, communicator);
  Superseded superseded(rows);
  PackedCandidates single;
  std::vector<std::vector<Alternative>> alternatives(static_cast<std::size_t>(communicator.size()));
  std::vector<std::uint64_t> by_type(rows.dictionary().types.size(), 0);
  note("read");
  for (std::uint64_t part = 0; part < parts; ++part) {
    const TermClasses classes = find_classes(rows, part, parts, communicator);
    summary.new_values.resize(classes.new_values.size());
    for (std::size_t l = 0; l < classes.new_values.size(); ++l) summary.new_values[l] += classes.new_values[l];
    for (std::size_t t = 0; t < by_type.size(); ++t) by_type[t] += classes.by_type[t];
    funnel.classes += communicator.sum(std::uint64_t{classes.classes.size()});
    note("classes");
    if (options.all_terms) superseded.add(rows, classes, communicator);
    RawPairs raw = pair_terms(rows, classes, superseded, words, workers, communicator);
    note("pairs");
    funnel.pairs += communicator.sum(std::uint64_t{raw.pairs.size()});
    // Renamings of a candidate have values of one orbit: they meet on one rank in one part.
    std::uint64_t renamings_apart = 0;
    PackedCandidates here = keep(
        raw.pairs.size(),
        [&](std::size_t i) {
          return graph_of(rows, {&raw.pairs[i].first, 1}, {&raw.pairs[i].second, 1});
        },
        &renamings_apart);
    funnel.renamed += communicator.sum(renamings_apart);
    note("filter");
    std::ranges::move(here, std::back_inserter(single));
    for (std::size_t r = 0; r < alternatives.size(); ++r) {
      alternatives[r].insert(alternatives[r].end(), raw.alternatives[r].begin(), raw.alternatives[r].end());
    }
    rows.forget();
  }
  summary.expected_false = expected_false(by_type, rows.dictionary().degrees);
  if (parts > 1) keep_packed(single);
  funnel.shapes = communicator.sum(std::uint64_t{single.size()});
  note("filter");
  generalize_all(single, programs, fingerprints.max_ops, workers);
  note("generalize");
  keep_packed(single);
  note("filter");
  funnel.generalized = communicator.sum(std::uint64_t{single.size()});
  const std::vector<RawCandidate> joint =
      combine(rows, std::move(alternatives), words, fingerprints.max_ops, workers, communicator);
  funnel.multi_pairs = communicator.sum(std::uint64_t{joint.size()});
  PackedCandidates multi =
      keep(joint.size(), [&](std::size_t i) { return graph_of(rows, joint[i].source, joint[i].target); });
  generalize_all(multi, programs, fingerprints.max_ops, workers);
  keep_packed(multi);
  funnel.multi_generalized = communicator.sum(std::uint64_t{multi.size()});
  note("several outputs");

  std::vector<CandidateLine> lines = gather_lines(single, multi, profile, rows, words, workers, communicator);
  std::string figures;
  if (communicator.is_root()) {
    funnel.candidates = lines.size();
    const std::string text = candidates_text(std::move(lines));
    runtime::write_file(out / candidates_file, text);
    manifest->add(
        {candidates_file, join_stage, text.size(), runtime::to_hex(runtime::hash128(runtime::bytes_of(text))), {}});
    summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    manifest->finish(join_stage, to_attributes(summary));
    figures = to_json(to_attributes(summary)).dump();
  }
  communicator.broadcast(figures);
  Summary result = from_json(Json::parse(figures));
  note("write");
  result.already_done = false;
  result.steps.assign(times.begin(), times.end());
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace rulemill::dedup
