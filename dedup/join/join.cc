#include "dedup/join/join.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>

#include "dedup/candidates/candidate_set.h"
#include "dedup/candidates/candidate_text.h"
#include "dedup/candidates/generalization_cache.h"
#include "dedup/candidates/generalize.h"
#include "dedup/join/bucket.h"
#include "runtime/files/checkpoint.h"
#include "runtime/mpi/parallel_sort.h"
#include "runtime/process/machine.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/byte_lists.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"
#include "runtime/text/quantity.h"

namespace rulemill::dedup {
namespace {

constexpr std::uint64_t join_version = 4;

runtime::Bytes to_bytes(const PackedCandidates& candidates) {
  runtime::Bytes bytes;
  for (const std::string& packed : candidates) runtime::append_text(bytes, packed);
  return bytes;
}

void add_from(PackedCandidates& candidates, runtime::ByteView bytes) {
  while (!bytes.empty()) candidates.emplace_back(runtime::take_text(bytes));
}

/// A rank without rows has no counts.
std::vector<std::uint64_t> resized(std::vector<std::uint64_t> counts, std::size_t size) {
  counts.resize(size);
  return counts;
}

/// The common inputs of all steps of a join.
struct JoinContext {
  const Vocabulary& vocabulary;
  ProgramCache& programs;
  std::size_t max_ops;
  const runtime::ThreadPool& thread_pool;
  const runtime::Communicator& communicator;
  runtime::Checkpoint& checkpoint;
  std::uint64_t buckets;
  GeneralizationCache& cache;

  void throw_if_interrupted() const { runtime::throw_if_any_rank_interrupted(join_stage, communicator); }
  std::string chunk_name(const std::string& step, std::uint64_t number) const {
    return step + "-" + std::to_string(number) + "-of-" + std::to_string(buckets);
  }
};

/// Returns the generalized candidate. Its steps are found in the cache or added to it.
std::string generalize(const std::string& candidate, EqualityTest& test, const JoinContext& context) {
  CandidateGraph graph = unpack(candidate);
  std::vector<GeneralizationCache::Key> steps{context.cache.key(graph)};
  const std::string* known = context.cache.find(steps.back());
  while (known == nullptr && generalize_once(graph, test, context.max_ops)) {
    steps.push_back(context.cache.key(graph));
    known = context.cache.find(steps.back());
  }
  const std::string result = known != nullptr ? *known : pack(graph);
  context.cache.add(steps, result);
  return result;
}

/// Collective. Generalizes candidates and keeps one of each key over all ranks. Saves a chunk per bucket; the bucket of
/// a candidate is given by its hash.
PackedCandidates generalize_all(const PackedCandidates& candidates, const std::string& step,
                                const JoinContext& context) {
  std::vector<std::vector<std::size_t>> buckets(context.buckets);
  for (std::size_t i = 0; i < candidates.size(); ++i)
    buckets[runtime::hash64(runtime::bytes_of(candidates[i])) % context.buckets].push_back(i);
  PackedCandidates all;
  std::vector<std::unique_ptr<EqualityTest>> tests(context.thread_pool.threads());
  for (std::uint64_t b = 0; b < context.buckets; ++b) {
    const std::string chunk = context.chunk_name(step, b);
    if (context.checkpoint.has(chunk)) {
      add_from(all, context.checkpoint.load(chunk));
      continue;
    }
    PackedCandidates results(buckets[b].size());
    context.thread_pool.run_interruptible(results.size(), [&](std::size_t i, unsigned thread) {
      if (!tests[thread]) tests[thread] = std::make_unique<EqualityTest>(context.programs, context.cache);
      results[i] = generalize(candidates[buckets[b][i]], *tests[thread], context);
    });
    context.throw_if_interrupted();
    if (context.buckets > 1) context.checkpoint.save(chunk, to_bytes(results));
    std::ranges::move(results, std::back_inserter(all));
  }
  // Many candidates have the same generalization.
  runtime::parallel_sort(all, context.thread_pool);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  KeyedCandidates distinct = deduplicate(
      all.size(), [&](std::size_t i) { return unpack(all[i]); }, context.vocabulary, context.thread_pool);
  context.throw_if_interrupted();
  return deduplicate_across_ranks(std::move(distinct), context.vocabulary, context.thread_pool, context.communicator);
}

/// Collective. Returns make(), or what an earlier run saved of it. `count`, if given, is saved with the candidates.
PackedCandidates load_or_make(const std::string& step, const JoinContext& context,
                              const std::function<PackedCandidates()>& make, std::uint64_t* count = nullptr) {
  const std::string chunk = context.chunk_name(step, 0), count_chunk = context.chunk_name(step + "-count", 0);
  PackedCandidates candidates;
  if (context.checkpoint.has(chunk) && context.checkpoint.has(count_chunk)) {
    add_from(candidates, context.checkpoint.load(chunk));
    const auto saved = runtime::values_of<std::uint64_t>(context.checkpoint.load(count_chunk));
    if (count != nullptr) *count = std::accumulate(saved.begin(), saved.end(), std::uint64_t{0});
    return candidates;
  }
  candidates = make();
  if (context.buckets == 1) return candidates;
  context.checkpoint.save(chunk, to_bytes(candidates));
  const std::uint64_t saved = count == nullptr ? 0 : *count;
  context.checkpoint.save(count_chunk, runtime::bytes_of(std::span(&saved, 1)));
  return candidates;
}

/// Collective. Returns the candidates with several outputs, one of each key. `count` receives this rank's number of
/// candidates before deduplication.
PackedCandidates make_multi_output_candidates(TermRows& rows, const std::vector<Alternative>& alternatives,
                                              const JoinContext& context, std::uint64_t& count) {
  const std::vector<RawCandidate> raw =
      find_multi_output_candidates(rows, alternatives, context.vocabulary, static_cast<std::uint32_t>(context.max_ops),
                                   context.thread_pool, context.communicator);
  context.throw_if_interrupted();
  count = raw.size();
  const auto source = [&](std::size_t i) { return make_graph(rows, raw[i].source, raw[i].target); };
  KeyedCandidates distinct = deduplicate(raw.size(), source, context.vocabulary, context.thread_pool);
  context.throw_if_interrupted();
  return deduplicate_across_ranks(std::move(distinct), context.vocabulary, context.thread_pool, context.communicator);
}

/// Collective. Returns the sum of this rank's buckets.
Bucket join_buckets(TermRows& rows, std::uint64_t partitions, bool all_terms, const JoinContext& context,
                    const std::function<void(const char*)>& record_step) {
  Bucket total;
  SupersededTerms superseded(rows);
  for (std::uint64_t partition = 0; partition < partitions; ++partition) {
    std::vector<std::uint64_t> missing;
    for (std::uint64_t b = partition; b < context.buckets; b += partitions) {
      const std::string chunk = context.chunk_name("slice", b);
      if (context.checkpoint.has(chunk))
        add_from(total, context.checkpoint.load(chunk));
      else
        missing.push_back(b);
    }
    if (missing.empty()) continue;
    std::vector<TermClasses> classes =
        find_classes(rows, partition, partitions, context.buckets, context.thread_pool, context.communicator);
    record_step("classes");
    std::vector<TermId> terms;
    for (const std::uint64_t b : missing) {
      if (all_terms) superseded.add(rows, classes[b], context.communicator);
      for (const auto& members : classes[b].classes) terms.insert(terms.end(), members.begin(), members.end());
    }
    rows.fetch(std::move(terms));
    record_step("pairs");
    for (const std::uint64_t b : missing) {
      Bucket bucket =
          make_bucket(rows, std::exchange(classes[b], {}), superseded, context.vocabulary, context.thread_pool);
      context.throw_if_interrupted();
      if (context.buckets > 1) context.checkpoint.save(context.chunk_name("slice", b), to_bytes(bucket));
      add(total, std::move(bucket));
      record_step("filter");
    }
    rows.clear_fetched();
  }
  return total;
}

/// All candidates of a rank, by their number of outputs.
struct AllCandidates {
  PackedCandidates single_output, multi_output;
};

/// Collective. Returns the texts of all ranks' candidates on the root.
std::vector<CandidateLine> gather_lines(const AllCandidates& candidates, const enumerate::Profile& profile,
                                        const TermRows& rows, const JoinContext& context) {
  const PackedCandidates &single = candidates.single_output, &multi = candidates.multi_output;
  std::vector<std::uint16_t> variable_types;
  for (TermId v = 0; v < profile.variables.size(); ++v) variable_types.push_back(rows.row(v).type);
  constexpr std::size_t chunk_size = 256;
  const std::size_t count = single.size() + multi.size();
  std::vector<runtime::Bytes> chunks((count + chunk_size - 1) / chunk_size);
  context.thread_pool.run_interruptible(chunks.size(), [&](std::size_t c, unsigned) {
    for (std::size_t i = c * chunk_size; i < std::min(count, (c + 1) * chunk_size); ++i) {
      const CandidateGraph graph = unpack(i < single.size() ? single[i] : multi[i - single.size()]);
      const CandidateLine line = candidate_line(graph, context.vocabulary, rows.dictionary().variables, variable_types);
      runtime::append_value(chunks[c], line.size);
      runtime::append_text(chunks[c], line.text);
    }
  });
  context.throw_if_interrupted();
  runtime::Bytes mine;
  for (const runtime::Bytes& chunk : chunks) runtime::append_bytes(mine, chunk);
  std::vector<CandidateLine> lines;
  for (const runtime::Bytes& of_rank : context.communicator.gather(mine)) {
    for (runtime::ByteView view = of_rank; !view.empty();) {
      const auto size = runtime::take_value<std::uint32_t>(view);
      lines.push_back({size, std::string(runtime::take_text(view))});
    }
  }
  return lines;
}

/// Returns the number of partitions. Throws Error if the memory limit is too small for any number.
std::uint64_t partition_count(const fingerprint::Summary& fingerprints, const JoinOptions& options,
                              const runtime::Communicator& communicator) {
  // With all terms, superseded terms must be known before any terms are paired: there is one partition.
  if (options.partitions != 0 && !options.all_terms) return options.partitions;
  if (options.memory == 0) return 1;
  // A record, its copy in a message, and the rows, classes and pairs, of which there is one per about four rows.
  constexpr std::uint64_t bytes_per_row = 2 * sizeof(FingerprintRecord) + sizeof(TermRow);
  const std::uint64_t used = communicator.max(runtime::current_memory_bytes());
  const std::uint64_t resident = communicator.max(TermRows::resident_bytes(fingerprints, communicator.node().size()));
  const std::uint64_t share = fingerprints.rows / static_cast<std::uint64_t>(communicator.size()) * bytes_per_row;
  const std::uint64_t required = used + resident + (options.all_terms ? share : std::uint64_t{64} << 20);
  if (required > options.memory)
    throw runtime::Error("--memory " + runtime::format_bytes(options.memory),
                         "the join needs at least " + runtime::format_bytes(required) +
                             " per rank for this table, of which " + runtime::format_bytes(resident) +
                             " are the levels below the last, which every node holds");
  return options.all_terms ? 1 : std::bit_ceil(share / (options.memory - used - resident) + 1);
}

/// Returns the number of buckets for this number of rows, a multiple of the partitions. If the partitions are a power
/// of two, so are the buckets: a run that resumes with another memory limit or number of ranks has the same buckets.
std::uint64_t bucket_count(std::uint64_t rows, std::uint64_t partitions, const JoinOptions& options) {
  if (options.all_terms) return 1;
  const std::uint64_t wanted =
      std::bit_floor(std::max<std::uint64_t>(1, rows / std::max<std::uint64_t>(1, options.checkpoint_rows)));
  return partitions * std::max<std::uint64_t>(1, wanted / partitions);
}

/// This rank's time by step.
class StepTimes {
 public:
  /// Adds the time since the last call to the step.
  void record(const char* step) { seconds_[step] += watch_.lap(); }
  double total() const { return watch_.seconds(); }
  std::vector<std::pair<std::string, double>> steps() const { return {seconds_.begin(), seconds_.end()}; }

 private:
  runtime::Stopwatch watch_;
  std::map<std::string, double> seconds_;
};

/// Collective. Returns the summary if the stage is already finished; otherwise begins it.
std::optional<Summary> begin_stage(runtime::Stage& stage, const std::string& shards_digest) {
  runtime::Manifest* manifest = stage.manifest();
  if (manifest != nullptr && !manifest->is_finished(fingerprint::fingerprint_stage, shards_digest))
    throw runtime::InputError(stage.folder().string(), "the fingerprint stage is not finished in this folder");
  const std::string digest = shards_digest + "-join" + std::to_string(join_version);
  if (const auto statistics = stage.begin(digest, runtime::Stage::OldFiles::Keep)) return summary_of(*statistics);
  if (manifest != nullptr) manifest->check_files(fingerprint::fingerprint_stage);
  return std::nullopt;
}

/// Collective. Returns this rank's candidates and fills in the summary.
AllCandidates find_candidates(TermRows& rows, std::uint64_t partitions, bool all_terms, const JoinContext& context,
                              Summary& summary, StepTimes& times) {
  const runtime::Communicator& communicator = context.communicator;
  Funnel& funnel = summary.funnel;
  Bucket bucket = join_buckets(rows, partitions, all_terms, context, [&](const char* step) { times.record(step); });
  funnel.classes = communicator.sum(bucket.classes);
  funnel.pairs = communicator.sum(bucket.pairs);
  funnel.unique_up_to_renaming = communicator.sum(bucket.unique_up_to_renaming);
  const fingerprint::Dictionary& dictionary = rows.dictionary();
  summary.new_classes = communicator.sum(resized(bucket.new_classes, context.max_ops + 1));
  summary.expected_false_candidates =
      expected_false_candidates(communicator.sum(resized(bucket.by_type, dictionary.types.size())), dictionary.degrees);
  PackedCandidates single =
      deduplicate_across_ranks(std::move(bucket.candidates), context.vocabulary, context.thread_pool, communicator);
  funnel.unique_up_to_shape = communicator.sum(std::uint64_t{single.size()});
  times.record("filter");
  single = load_or_make("generalized", context, [&] { return generalize_all(single, "general", context); });
  funnel.generalized = communicator.sum(std::uint64_t{single.size()});
  times.record("generalize");
  std::uint64_t pairs = 0;
  PackedCandidates multi = load_or_make(
      "joint", context, [&] { return make_multi_output_candidates(rows, bucket.alternatives, context, pairs); },
      &pairs);
  funnel.multi_output_pairs = communicator.sum(pairs);
  multi = generalize_all(multi, "several", context);
  funnel.multi_output_generalized = communicator.sum(std::uint64_t{multi.size()});
  times.record("several outputs");
  return {std::move(single), std::move(multi)};
}

}  // namespace

Summary join(const enumerate::Profile& profile, algebra::Library& library, const std::filesystem::path& out,
             const fingerprint::Summary& fingerprints, const runtime::Communicator& communicator,
             const JoinOptions& options) {
  StepTimes times;
  const std::string shards_digest =
      fingerprint::inputs_digest(profile, library, fingerprints.max_ops, options.all_terms, options.no_symmetry);
  runtime::Stage stage(out, join_stage, communicator);
  if (const auto finished = begin_stage(stage, shards_digest)) return *finished;

  runtime::Checkpoint checkpoint(stage);
  const std::uint64_t partitions = partition_count(fingerprints, options, communicator);
  const runtime::ThreadPool thread_pool(options.threads);
  const enumerate::Renamings renamings(profile, options.no_symmetry);
  TermRows rows(out, shards_digest, fingerprints, renamings, communicator);
  const Vocabulary vocabulary = make_vocabulary(rows.dictionary(), library);
  ProgramCache programs(vocabulary, library, profile);
  const std::uint64_t buckets = bucket_count(fingerprints.rows, partitions, options);
  const std::string origin = std::to_string(profile.seed) + " " + std::to_string(fingerprints.max_ops);
  GeneralizationCache cache(out, rows.dictionary(), library,
                            profile.values == algebra::Domain::Field ? origin : origin + " reals", communicator);
  const JoinContext context{vocabulary, programs, fingerprints.max_ops, thread_pool, communicator, checkpoint,
                            buckets,    cache};

  Summary summary;
  summary.funnel.terms = fingerprints.rows;
  times.record("read");
  const AllCandidates candidates = find_candidates(rows, partitions, options.all_terms, context, summary, times);
  std::vector<CandidateLine> lines = gather_lines(candidates, profile, rows, context);
  cache.save();
  if (communicator.is_root()) {
    summary.funnel.candidates = lines.size();
    stage.write(candidates_file, candidates_text(std::move(lines)));
    summary.seconds = times.total();
    checkpoint.clear();
  }
  Summary result = summary_of(stage.finish(to_attributes(summary)));
  times.record("write");
  result.already_done = false;
  result.steps = times.steps();
  result.seconds = times.total();
  return result;
}

}  // namespace rulemill::dedup
