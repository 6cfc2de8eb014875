#include "prove/prove_candidates.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "runtime/files/atomic_file.h"
#include "runtime/files/file_integrity.h"
#include "runtime/files/journal.h"
#include "runtime/files/stage.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"
#include "runtime/text/json.h"
#include "runtime/text/quantity.h"

namespace rulemill::prove {
namespace {

using runtime::Json;

constexpr const char* prove_journal_file = "verdicts.journal";
constexpr int prove_stage_version = 17;  // in the stage's digest: results of different versions do not mix
constexpr std::size_t min_round_size = 128;

/// Returns whether later derivations use the rule although it is derived: it is small, so that it is often needed, and
/// its derivation is long, so that few derivations of larger rules would find it again.
bool is_premise(const CandidateResult& result) {
  constexpr std::uint64_t max_operators = 3, min_instances = 3;
  return result.status == RuleStatus::Derived && result.operators <= max_operators &&
         result.instance_count >= min_instances;
}

/// Splits a file into the texts of its rules, each from its line "rule …" to the next such line.
std::vector<std::string> split_rules(const std::string& text) {
  std::vector<std::string> rules;
  std::size_t start = text.starts_with("rule ") ? 0 : text.find("\nrule ");
  while (start != std::string::npos && start < text.size()) {
    if (text[start] == '\n') ++start;
    const std::size_t next = text.find("\nrule ", start);
    rules.push_back(text.substr(start, next == std::string::npos ? next : next + 1 - start));
    start = next;
  }
  return rules;
}

/// Returns the end of the round that begins at `begin`. The target size is `min_round_size` or the number
/// of finished candidates, whichever is more: between rounds, ranks wait for the longest proof. The round has half to
/// twice that size and ends after a candidate chosen by a hash of its text. So inserting a few candidates changes only
/// the rounds around them, and a run with one more operator finds most of its answers in the cache.
std::size_t end_of_round(const std::vector<std::string>& candidates, std::size_t begin) {
  const std::size_t size = std::bit_floor(std::max(min_round_size, begin));
  const std::size_t last = std::min(candidates.size(), begin + 2 * size);
  for (std::size_t end = begin + size / 2; end < last; ++end) {
    const std::string& text = candidates[end - 1];
    const std::string unnumbered = text.substr(std::min(text.size(), text.find('(')));
    if (runtime::hash64(runtime::bytes_of(unnumbered)) % (size / 2) == 0) return end;
  }
  return last;
}

/// The rounds of the prove stage, on the first rank.
class CandidateRounds {
 public:
  CandidateRounds(std::vector<std::string> candidates, TaskScheduler& scheduler, const ProofStageOptions& options)
      : candidates_(std::move(candidates)), scheduler_(scheduler), options_(options) {}

  std::vector<CandidateResult> run() {
    runtime::Progress progress(options_.progress, "prove", candidates_.size());
    while (results_.size() < candidates_.size() || !added_.empty()) {
      begin_ = results_.size();
      results_.resize(end_of_round(candidates_, begin_));
      remove_derived(derive_or_prove());
      add_proved();
      progress.set(results_.size());
      progress.set_note(std::to_string(core_size_) + " core");
    }
    return std::move(results_);
  }

 private:
  /// Types the round's candidates and derives them from the core and the added rules. The others are proved or refuted
  /// from the definitions, each as soon as it is known that it is not derived. Meanwhile, each added rule is derived
  /// from the core and earlier added rules, if possible; returns these results.
  std::vector<CandidateResult> derive_or_prove() {
    std::vector<WorkItem> items;
    for (std::size_t i = 0; i < added_.size(); ++i)
      items.push_back({TaskKind::DeriveFromEarlierOnce, std::to_string(first_added_ + i)});
    for (std::size_t i = begin_; i < results_.size(); ++i) items.push_back({TaskKind::Derive, candidates_[i]});
    std::vector<bool> is_tried(items.size());
    std::vector<CandidateResult> derivations(added_.size());
    scheduler_.answer_chains(std::move(items), [&](std::size_t item, const TaskScheduler::ItemAnswer& answer) {
      const bool is_added = item < added_.size();
      const std::size_t candidate = begin_ + item - added_.size();
      CandidateResult& result = is_added ? derivations[item] : results_[candidate];
      std::optional<WorkItem> proof;
      if (is_tried[item]) {
        take_proof(answer, result);
        return proof;
      }
      is_tried[item] = true;
      if (answer.failure.empty()) result = unpack_result(answer.text);
      result.goal_operators = {};
      if (!is_added && result.status == RuleStatus::Unknown)
        proof = WorkItem{TaskKind::Prove, candidates_[candidate], result.estimated_cost};
      return proof;
    });
    return derivations;
  }

  static void take_proof(const TaskScheduler::ItemAnswer& answer, CandidateResult& result) {
    if (!answer.failure.empty()) {
      result.detail = answer.failure + "; not final, the next run tries again";
      return;
    }
    CandidateResult proof = unpack_result(answer.text);
    proof.seconds += result.seconds;
    proof.estimated_cost = result.estimated_cost;
    proof.operators = result.operators;
    if (proof.rule.empty()) proof.rule = result.rule;
    result = std::move(proof);
  }

  /// An added rule becomes derived if the core and earlier added rules imply it. Otherwise it stays in the core, or
  /// becomes inactive. Inactive rules are derived again only from the minimal core.
  void remove_derived(const std::vector<CandidateResult>& derivations) {
    std::vector<std::string> updates;
    for (std::size_t i = 0; i < added_.size(); ++i) {
      CandidateResult& result = results_[added_[i]];
      if (!apply_derivation(derivations[i], result))
        result.inactive = derivations[i].detail != implied_no && must_deactivate(result);
      if (result.status == RuleStatus::Proved && !result.inactive)
        ++core_size_;
      else if (!is_premise(result))
        updates.push_back(remove_rule_update(first_added_ + i));
    }
    scheduler_.update_rules(updates);
  }

  /// Adds the rules proved in this round, then its premises, which are used like core rules; the prune stage replaces
  /// their instances by derivations.
  void add_proved() {
    added_.clear();
    first_added_ = known_rules_;
    std::vector<std::string> updates, premises;
    for (std::size_t i = begin_; i < results_.size(); ++i) {
      if (is_premise(results_[i])) premises.push_back(add_rule_update(results_[i].rule));
      if (results_[i].status != RuleStatus::Proved) continue;
      added_.push_back(i);
      updates.push_back(add_rule_update(results_[i].rule));
    }
    updates.insert(updates.end(), premises.begin(), premises.end());
    known_rules_ += updates.size();
    scheduler_.update_rules(updates);
  }

  std::vector<std::string> candidates_;
  TaskScheduler& scheduler_;
  const ProofStageOptions& options_;
  std::vector<CandidateResult> results_;
  std::size_t begin_ = 0;           // of the round
  std::vector<std::size_t> added_;  // rules proved in the round before
  std::size_t first_added_ = 0;     // their first number
  std::size_t known_rules_ = 0;     // that workers know, enabled or not
  std::size_t core_size_ = 0;       // enabled rules
};

ProveSummary summarize(const std::vector<CandidateResult>& results) {
  ProveSummary summary;
  summary.candidates = results.size();
  for (const auto status :
       {RuleStatus::Proved, RuleStatus::Derived, RuleStatus::Refuted, RuleStatus::Unknown, RuleStatus::IllTyped})
    summary.counts_by_status[name(status)] = 0;
  for (const CandidateResult& result : results) {
    ++summary.counts_by_status[name(result.status)];
    summary.queries += result.queries;
  }
  return summary;
}

/// Writes a list with one line for each candidate.
void write_timings(const std::filesystem::path& path, const std::vector<CandidateResult>& results) {
  std::string text;
  for (const CandidateResult& result : results) {
    text += (text.empty() ? "[\n" : ",\n") + runtime::to_text({{"candidate", result.candidate},
                                                               {"verdict", name(result.status)},
                                                               {"milliseconds", result.seconds * 1e3},
                                                               {"queries", result.queries},
                                                               {"estimate", result.estimated_cost}});
  }
  runtime::write_file(path, text + (text.empty() ? "[]\n" : "\n]\n"));
}

/// Sends the first rank's summary, without the statistics by rank, to all ranks.
void broadcast(ProveSummary& summary, const runtime::Communicator& communicator) {
  std::string text = runtime::to_text({{"already_done", summary.already_done},
                                       {"candidates", summary.candidates},
                                       {"outcomes", summary.counts_by_status},
                                       {"queries", summary.queries}});
  communicator.broadcast(text);
  const Json json = runtime::parse_json(text);
  json.at("already_done").get_to(summary.already_done);
  json.at("candidates").get_to(summary.candidates);
  json.at("outcomes").get_to(summary.counts_by_status);
  json.at("queries").get_to(summary.queries);
}

}  // namespace

ProveSummary prove_candidates(const std::filesystem::path& out, const std::string& candidates,
                              const std::string& inputs_digest, algebra::Library& library,
                              const runtime::Communicator& communicator, const ProofStageOptions& options) {
  const runtime::Stopwatch watch;
  ProveSummary summary;
  TaskScheduler scheduler(communicator, library, options.worker_process, prove_stage);
  scheduler.run_collective([&] {
    const auto self = runtime::Communicator::self();
    runtime::Stage stage(out, prove_stage, self);
    runtime::Manifest& manifest = *stage.manifest();
    const std::string text = runtime::read_verified(manifest, candidates);
    const std::string digest = inputs_digest + "-" + runtime::to_hex(runtime::hash64(runtime::bytes_of(text))) +
                               "-prove" + std::to_string(prove_stage_version);
    const runtime::ManifestEntry* listed = manifest.find(outcomes_file);
    const std::string before = listed == nullptr ? std::string() : listed->checksum;
    if (stage.begin(digest, runtime::Stage::OldFiles::Discard, is_final)) {
      summary = summarize(read_results(out));
      summary.already_done = true;
      std::filesystem::remove(out / prove_journal_file);  // left behind if the run that finished the stage was killed
      return;
    }
    // What the first rank holds until the database is written: the outcomes and records of all candidates. Measured in
    // the prune stage: 25 bytes per byte of the candidates' text at four operators, 35 at five.
    constexpr std::uint64_t bytes_per_byte = 36;
    require_memory(options.memory, "proving and pruning these candidates", bytes_per_byte * text.size());
    {
      runtime::Journal journal = runtime::Journal::open_in_folder(out, prove_journal_file, digest);
      scheduler.use_journal(journal);
      AnswerCache cache(out, library, options.worker_process.worker.prover.seed);
      scheduler.use_cache(cache);
      std::vector<CandidateResult> results = CandidateRounds(split_rules(text), scheduler, options).run();
      summary = summarize(results);
      write_timings(out / timings_file, results);
      stage.write(outcomes_file, runtime::views_of(to_chunks(results)));
      summary.results = std::move(results);
      // Other verdicts must be pruned again.
      const std::string pruned = manifest.inputs_digest(prune_stage);
      if (manifest.find(outcomes_file)->checksum != before && !pruned.empty()) manifest.begin(prune_stage, pruned);
    }
    stage.finish(
        {{"candidates", summary.candidates}, {failed_tasks_key, scheduler.failures()}, {"seconds", watch.seconds()}});
    if (scheduler.failures() == 0) std::filesystem::remove(out / prove_journal_file);
  });
  summary.ranks = scheduler.rank_statistics();
  broadcast(summary, communicator);
  summary.seconds = watch.seconds();
  return summary;
}

void require_memory(std::uint64_t limit, const std::string& work, std::uint64_t bytes) {
  // What the process has now does not count: the memory that earlier stages have freed is used again.
  constexpr std::uint64_t program = std::uint64_t{50} << 20;
  if (limit == 0 || program + bytes <= limit) return;
  throw runtime::Error("--memory " + runtime::format_bytes(limit), work + " takes the first rank about " +
                                                                       runtime::format_bytes(program + bytes) +
                                                                       "; the finished stages are kept");
}

std::uint64_t failed_tasks(const runtime::Attributes& statistics) {
  const auto found = statistics.find(failed_tasks_key);
  return found == statistics.end() ? 0 : std::get<std::uint64_t>(found->second);
}

bool is_final(const runtime::Attributes& statistics) { return failed_tasks(statistics) == 0; }

std::vector<CandidateResult> read_results(const std::filesystem::path& out) {
  const std::filesystem::path path = out / outcomes_file;
  try {
    return results_from_text(runtime::read_verified(runtime::Manifest(out), outcomes_file));
  } catch (const runtime::Json::exception& error) {
    throw runtime::InputError(path.string(), std::string("not the outcomes of a prove stage: ") + error.what());
  }
}

}  // namespace rulemill::prove
