#include "dedup/join.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "dedup/candidate_set.h"
#include "dedup/candidate_text.h"
#include "dedup/generalize.h"
#include "dedup/pairs.h"
#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/json_report.h"
#include "runtime/manifest.h"

namespace rulemill::dedup {
namespace {

using runtime::Json;

constexpr std::uint64_t join_version = 1;

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
                    const fingerprint::Workers& workers) {
  std::vector<std::unique_ptr<Trial>> trials(workers.threads());
  workers.run(candidates.size(), [&](std::size_t i, unsigned thread) {
    if (!trials[thread]) trials[thread] = std::make_unique<Trial>(programs);
    CandidateGraph graph = unpack(candidates[i]);
    if (generalize(graph, *trials[thread], max_ops)) candidates[i] = pack(graph);
  });
}

}  // namespace

Summary join(const enumerate::Profile& profile, algebra::Library& library, const std::filesystem::path& out,
             const fingerprint::Summary& fingerprints, bool all_terms, const runtime::Communicator& communicator,
             const JoinOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::string shards_digest = fingerprint::inputs_digest(profile, library, fingerprints.max_ops, all_terms);
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

  const fingerprint::Workers workers(options.threads);
  TermRows rows(out, shards_digest, fingerprints, communicator);
  const Vocabulary words = vocabulary(rows.dictionary(), library);
  const TermClasses classes = find_classes(rows, communicator);
  const RawCandidates raw = pair_terms(rows, classes, words, fingerprints.max_ops, workers, communicator);

  Summary summary;
  summary.new_values = classes.new_values;
  summary.expected_false = classes.expected_false;
  Funnel& funnel = summary.funnel;
  funnel.terms = fingerprints.terms;
  funnel.classes = communicator.sum(std::uint64_t{classes.classes.size()});
  funnel.pairs = communicator.sum(std::uint64_t{raw.single.size()});
  funnel.multi_pairs = communicator.sum(std::uint64_t{raw.multi.size()});

  TrialPrograms programs(words, library, profile.seed, profile.max_elements);
  const auto step = [&](PackedCandidates& list, KeyKind kind) {
    list = one_of_each(
        list.size(), [&](std::size_t i) { return unpack(list[i]); }, words, kind, workers, communicator);
    return communicator.sum(std::uint64_t{list.size()});
  };
  PackedCandidates single = one_of_each(
      raw.single.size(),
      [&](std::size_t i) {
        return graph_of(rows, {&raw.single[i].first, 1}, {&raw.single[i].second, 1});
      },
      words, KeyKind::Exact, workers, communicator);
  funnel.renamed = communicator.sum(std::uint64_t{single.size()});
  funnel.shapes = step(single, KeyKind::AnyShapes);
  generalize_all(single, programs, fingerprints.max_ops, workers);
  funnel.generalized = step(single, KeyKind::AnyShapes);
  PackedCandidates multi = one_of_each(
      raw.multi.size(), [&](std::size_t i) { return graph_of(rows, raw.multi[i].source, raw.multi[i].target); }, words,
      KeyKind::AnyShapes, workers, communicator);
  generalize_all(multi, programs, fingerprints.max_ops, workers);
  funnel.multi_generalized = step(multi, KeyKind::AnyShapes);

  runtime::Bytes bytes;
  for (const auto* list : {&single, &multi}) {
    for (const std::string& packed : *list) append(bytes, unpack(packed));
  }
  std::vector<CandidateGraph> all;
  for (const runtime::Bytes& part : communicator.gather(bytes)) {
    runtime::ByteView view = part;
    while (!view.empty()) all.push_back(read_graph(view));
  }
  std::string figures;
  if (communicator.is_root()) {
    funnel.candidates = all.size();
    std::vector<std::uint16_t> variable_types;
    for (std::size_t v = 0; v < profile.variables.size(); ++v)
      variable_types.push_back(rows.row(static_cast<TermId>(v)).type);
    const std::string text = candidates_text(all, words, rows.dictionary().variables, variable_types, library);
    runtime::write_file(out / candidates_file, text);
    manifest->add(
        {candidates_file, join_stage, text.size(), runtime::to_hex(runtime::hash128(runtime::bytes_of(text))), {}});
    summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    manifest->finish(join_stage, to_attributes(summary));
    figures = to_json(to_attributes(summary)).dump();
  }
  communicator.broadcast(figures);
  Summary result = from_json(Json::parse(figures));
  result.already_done = false;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace rulemill::dedup
