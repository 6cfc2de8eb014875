#include "dedup/join.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>

#include "dedup/candidate_set.h"
#include "dedup/candidate_text.h"
#include "dedup/general_forms.h"
#include "dedup/generalize.h"
#include "dedup/slice.h"
#include "runtime/atomic_file.h"
#include "runtime/byte_lists.h"
#include "runtime/checkpoint.h"
#include "runtime/error.h"
#include "runtime/file_check.h"
#include "runtime/hash.h"
#include "runtime/json_report.h"
#include "runtime/machine.h"
#include "runtime/quantity.h"
#include "runtime/stopwatch.h"

namespace rulemill::dedup {
namespace {

using runtime::Json;

constexpr std::uint64_t join_version = 2;

/// One candidate a piece of bytes, and back.
runtime::Bytes to_bytes(const PackedCandidates& candidates) {
  runtime::Bytes bytes;
  for (const std::string& packed : candidates) runtime::append_text(bytes, packed);
  return bytes;
}

void add_from(PackedCandidates& candidates, runtime::ByteView bytes) {
  while (!bytes.empty()) candidates.emplace_back(runtime::take_text(bytes));
}

/// A rank to which nothing fell has no counts.
std::vector<std::uint64_t> widened(std::vector<std::uint64_t> counts, std::size_t size) {
  counts.resize(size);
  return counts;
}

/// What the steps of a join stand on.
struct Frame {
  const Vocabulary& words;
  TrialPrograms& programs;
  std::size_t max_ops;
  const runtime::Workers& workers;
  const runtime::Communicator& communicator;
  runtime::Checkpoint& checkpoint;
  std::uint64_t slices;
  GeneralForms& forms;

  void go_on() const { runtime::require_going_on(join_stage, communicator); }
  std::string piece(const std::string& step, std::uint64_t number) const {
    return step + "-" + std::to_string(number) + "-of-" + std::to_string(slices);
  }
};

/// Collective. Each at its most general, one of each key over all ranks. The candidates' hashes say in which piece they
/// are saved.
PackedCandidates generalized(const PackedCandidates& candidates, const std::string& step, const Frame& frame) {
  std::vector<std::vector<std::size_t>> pieces(frame.slices);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    pieces[runtime::hash64(runtime::bytes_of(candidates[i])) % frame.slices].push_back(i);
  }
  PackedCandidates all;
  std::vector<std::unique_ptr<Trial>> trials(frame.workers.threads());
  for (std::uint64_t p = 0; p < frame.slices; ++p) {
    const std::string piece = frame.piece(step, p);
    if (frame.checkpoint.has(piece)) {
      add_from(all, frame.checkpoint.load(piece));
      continue;
    }
    PackedCandidates made(pieces[p].size());
    std::vector<GeneralForms::Key> keys(made.size());
    frame.workers.run_unless_stopped(made.size(), [&](std::size_t i, unsigned thread) {
      if (!trials[thread]) trials[thread] = std::make_unique<Trial>(frame.programs);
      made[i] = candidates[pieces[p][i]];
      CandidateGraph graph = unpack(made[i]);
      keys[i] = frame.forms.key(graph);
      if (const std::string* known = frame.forms.find(keys[i]))
        made[i] = *known;
      else if (generalize(graph, *trials[thread], frame.max_ops))
        made[i] = pack(graph);
    });
    frame.go_on();
    for (std::size_t i = 0; i < made.size(); ++i) frame.forms.note(keys[i], made[i]);
    if (frame.slices > 1) frame.checkpoint.save(piece, to_bytes(made));
    std::ranges::move(made, std::back_inserter(all));
  }
  // Many become the same.
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  KeyedCandidates best = best_of(
      all.size(), [&](std::size_t i) { return unpack(all[i]); }, frame.words, frame.workers);
  frame.go_on();
  return best_of_all(std::move(best), frame.communicator);
}

/// Collective. What is made, or what an earlier run has saved of it, with a count of this rank's that goes with it.
PackedCandidates kept(const std::string& step, const Frame& frame, const std::function<PackedCandidates()>& make,
                      std::uint64_t* count = nullptr) {
  const std::string piece = frame.piece(step, 0), counts = frame.piece(step + "-count", 0);
  PackedCandidates candidates;
  if (frame.checkpoint.has(piece) && frame.checkpoint.has(counts)) {
    add_from(candidates, frame.checkpoint.load(piece));
    const auto saved = runtime::values_of<std::uint64_t>(frame.checkpoint.load(counts));
    if (count != nullptr) *count = std::accumulate(saved.begin(), saved.end(), std::uint64_t{0});
    return candidates;
  }
  candidates = make();
  if (frame.slices == 1) return candidates;
  frame.checkpoint.save(piece, to_bytes(candidates));
  const std::uint64_t mine = count == nullptr ? 0 : *count;
  frame.checkpoint.save(counts, runtime::bytes_of(std::span(&mine, 1)));
  return candidates;
}

/// Collective. Candidates of several outputs, one of each key; how many this rank had before.
PackedCandidates joint_candidates(TermRows& rows, const std::vector<Alternative>& alternatives, const Frame& frame,
                                  std::uint64_t& count) {
  const std::vector<RawCandidate> joint = combine(
      rows, alternatives, frame.words, static_cast<std::uint32_t>(frame.max_ops), frame.workers, frame.communicator);
  frame.go_on();
  count = joint.size();
  const auto source = [&](std::size_t i) { return graph_of(rows, joint[i].source, joint[i].target); };
  KeyedCandidates best = best_of(joint.size(), source, frame.words, frame.workers);
  frame.go_on();
  return best_of_all(std::move(best), frame.communicator);
}

/// Collective. This rank's slices, added up.
Slice all_slices(TermRows& rows, std::uint64_t parts, bool all_terms, const Frame& frame,
                 const std::function<void(const char*)>& note) {
  Slice total;
  Superseded superseded(rows);
  for (std::uint64_t part = 0; part < parts; ++part) {
    std::vector<std::uint64_t> missing;
    for (std::uint64_t s = part; s < frame.slices; s += parts) {
      if (frame.checkpoint.has(frame.piece("slice", s)))
        add_from(total, frame.checkpoint.load(frame.piece("slice", s)));
      else
        missing.push_back(s);
    }
    if (missing.empty()) continue;
    std::vector<TermClasses> classes = find_classes(rows, part, parts, frame.slices, frame.communicator);
    note("classes");
    std::vector<TermId> wanted;
    for (const std::uint64_t s : missing) {
      if (all_terms) superseded.add(rows, classes[s], frame.communicator);
      for (const auto& members : classes[s].classes) wanted.insert(wanted.end(), members.begin(), members.end());
    }
    rows.fetch(std::move(wanted));
    note("pairs");
    for (const std::uint64_t s : missing) {
      Slice slice = make_slice(rows, std::exchange(classes[s], {}), superseded, frame.words, frame.workers);
      frame.go_on();
      if (frame.slices > 1) frame.checkpoint.save(frame.piece("slice", s), to_bytes(slice));
      add(total, std::move(slice));
      note("filter");
    }
    rows.forget();
  }
  return total;
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
  workers.run_unless_stopped(chunks.size(), [&](std::size_t c, unsigned) {
    for (std::size_t i = c * chunk; i < std::min(count, (c + 1) * chunk); ++i) {
      const CandidateGraph graph = unpack(i < single.size() ? single[i] : multi[i - single.size()]);
      const CandidateLine line = candidate_line(graph, words, rows.dictionary().variables, variable_types);
      runtime::append_value(chunks[c], line.size);
      runtime::append_text(chunks[c], line.text);
    }
  });
  runtime::require_going_on(join_stage, communicator);
  runtime::Bytes mine;
  for (const runtime::Bytes& part : chunks) runtime::append_bytes(mine, part);
  std::vector<CandidateLine> lines;
  for (const runtime::Bytes& part : communicator.gather(mine)) {
    for (runtime::ByteView view = part; !view.empty();) {
      const auto size = runtime::take_value<std::uint32_t>(view);
      lines.push_back({size, std::string(runtime::take_text(view))});
    }
  }
  return lines;
}

/// How many parts of the fingerprints are joined one after the other. Throws Error if memory does not allow even that.
std::uint64_t parts_of(const fingerprint::Summary& fingerprints, const JoinOptions& options,
                       const runtime::Communicator& communicator) {
  // Superseded terms must all be known before anything is paired.
  if (options.parts != 0 && !options.all_terms) return options.parts;
  if (options.memory == 0) return 1;
  // A record, the copy of it that is sent, and the rows, classes and pairs that about one in four makes.
  constexpr std::uint64_t bytes_a_row = 2 * sizeof(FingerprintRecord) + sizeof(TermRow);
  const std::uint64_t base = communicator.max(runtime::current_memory_bytes());
  const std::uint64_t held = communicator.max(TermRows::held_bytes(fingerprints, communicator.node().size()));
  const std::uint64_t share = fingerprints.rows / static_cast<std::uint64_t>(communicator.size()) * bytes_a_row;
  const std::uint64_t least = base + held + (options.all_terms ? share : std::uint64_t{64} << 20);
  if (least > options.memory) {
    throw runtime::Error("--memory " + runtime::in_bytes(options.memory),
                         "the join needs at least " + runtime::in_bytes(least) + " a rank for this table, of which " +
                             runtime::in_bytes(held) + " are the levels below the last, which every node holds");
  }
  return options.all_terms ? 1 : std::bit_ceil(share / (options.memory - base - held) + 1);
}

/// As many slices as the rows ask for, a multiple of the parts. Powers of two, if parts are: then a run that goes on
/// with other memory or ranks has the same slices.
std::uint64_t slices_of(std::uint64_t rows, std::uint64_t parts, const JoinOptions& options) {
  if (options.all_terms) return 1;
  const std::uint64_t wanted =
      std::bit_floor(std::max<std::uint64_t>(1, rows / std::max<std::uint64_t>(1, options.checkpoint_rows)));
  return parts * std::max<std::uint64_t>(1, wanted / parts);
}

/// This rank's time by step.
class Times {
 public:
  void note(const char* step) { seconds_[step] += watch_.lap(); }
  double total() const { return watch_.seconds(); }
  std::vector<std::pair<std::string, double>> steps() const { return {seconds_.begin(), seconds_.end()}; }

 private:
  runtime::Stopwatch watch_;
  std::map<std::string, double> seconds_;
};

/// The stage's place in the manifest, which the first rank alone has. What an earlier run has finished, if it has;
/// otherwise the stage has begun.
std::optional<Summary> begin_stage(const std::filesystem::path& out, const std::string& shards_digest,
                                   const runtime::Communicator& communicator,
                                   std::optional<runtime::Manifest>& manifest) {
  const std::string digest = shards_digest + "-join" + std::to_string(join_version);
  std::string state;
  if (communicator.is_root()) {
    manifest.emplace(out);
    if (!manifest->finished(fingerprint::fingerprint_stage, shards_digest)) {
      throw runtime::InputError(out.string(), "the fingerprint stage is not finished in this folder");
    }
    const auto self = runtime::Communicator::self();
    const bool finished = manifest->finished(join_stage, digest);
    if (finished && runtime::damaged_files(out, &*manifest, join_stage, self).empty()) {
      state = runtime::to_json(manifest->figures(join_stage)).dump();
    } else {
      manifest->check_files(fingerprint::fingerprint_stage);
      manifest->begin(join_stage, digest, !finished);
    }
  }
  communicator.broadcast(state);
  if (state.empty()) return std::nullopt;
  return summary_of(runtime::to_attributes(Json::parse(state)));
}

/// Collective. Every candidate of this rank, with the counts that go with them.
struct Found {
  PackedCandidates single, multi;  // by the number of outputs
};
Found find_candidates(TermRows& rows, std::uint64_t parts, bool all_terms, const Frame& frame, Summary& summary,
                      Times& times) {
  const runtime::Communicator& communicator = frame.communicator;
  Funnel& funnel = summary.funnel;
  Slice slice = all_slices(rows, parts, all_terms, frame, [&](const char* step) { times.note(step); });
  funnel.classes = communicator.sum(slice.classes);
  funnel.pairs = communicator.sum(slice.pairs);
  funnel.renamed = communicator.sum(slice.renamed);
  const fingerprint::Dictionary& dictionary = rows.dictionary();
  summary.new_values = communicator.sum(widened(slice.new_values, frame.max_ops + 1));
  summary.expected_false =
      expected_false(communicator.sum(widened(slice.by_type, dictionary.types.size())), dictionary.degrees);
  Found found;
  found.single = best_of_all(std::move(slice.candidates), communicator);
  funnel.shapes = communicator.sum(std::uint64_t{found.single.size()});
  times.note("filter");
  found.single = kept("generalized", frame, [&] { return generalized(found.single, "general", frame); });
  funnel.generalized = communicator.sum(std::uint64_t{found.single.size()});
  times.note("generalize");
  std::uint64_t joint = 0;
  found.multi = kept(
      "joint", frame, [&] { return joint_candidates(rows, slice.alternatives, frame, joint); }, &joint);
  funnel.multi_pairs = communicator.sum(joint);
  found.multi = generalized(found.multi, "several", frame);
  funnel.multi_generalized = communicator.sum(std::uint64_t{found.multi.size()});
  times.note("several outputs");
  return found;
}

}  // namespace

Summary join(const enumerate::Profile& profile, algebra::Library& library, const std::filesystem::path& out,
             const fingerprint::Summary& fingerprints, const runtime::Communicator& communicator,
             const JoinOptions& options) {
  Times times;
  const std::string shards_digest =
      fingerprint::inputs_digest(profile, library, fingerprints.max_ops, options.all_terms, options.every_renaming);
  std::optional<runtime::Manifest> manifest;
  if (const auto before = begin_stage(out, shards_digest, communicator, manifest)) return *before;

  runtime::Checkpoint checkpoint(out, join_stage, manifest ? &*manifest : nullptr, communicator);
  const std::uint64_t parts = parts_of(fingerprints, options, communicator);
  const runtime::Workers workers(options.threads);
  const enumerate::Renamings renamings(profile, options.every_renaming);
  TermRows rows(out, shards_digest, fingerprints, renamings, communicator);
  Vocabulary words = vocabulary(rows.dictionary(), library);
  TrialPrograms programs(words, library, profile);
  const std::uint64_t slices = slices_of(fingerprints.rows, parts, options);
  const std::string origin = std::to_string(profile.seed) + " " + std::to_string(fingerprints.max_ops);
  GeneralForms forms(out, rows.dictionary(), library,
                     profile.values == algebra::Domain::Field ? origin : origin + " reals", communicator);
  words.forms = &forms;
  const Frame frame{words, programs, fingerprints.max_ops, workers, communicator, checkpoint, slices, forms};

  Summary summary;
  summary.funnel.terms = fingerprints.rows;
  times.note("read");
  const Found found = find_candidates(rows, parts, options.all_terms, frame, summary, times);
  std::vector<CandidateLine> lines =
      gather_lines(found.single, found.multi, profile, rows, words, workers, communicator);
  forms.save();
  std::string figures;
  if (communicator.is_root()) {
    summary.funnel.candidates = lines.size();
    const std::string text = candidates_text(std::move(lines));
    runtime::write_file(out / candidates_file, text);
    manifest->add(runtime::entry_of(candidates_file, join_stage, runtime::bytes_of(text)));
    summary.seconds = times.total();
    checkpoint.clear();
    manifest->finish(join_stage, to_attributes(summary));
    figures = runtime::to_json(to_attributes(summary)).dump();
  }
  communicator.broadcast(figures);
  Summary result = summary_of(runtime::to_attributes(Json::parse(figures)));
  times.note("write");
  result.already_done = false;
  result.steps = times.steps();
  result.seconds = times.total();
  return result;
}

}  // namespace rulemill::dedup
