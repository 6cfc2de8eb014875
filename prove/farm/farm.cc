#include "prove/farm/farm.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <optional>
#include <utility>

#include "prove/farm/prune.h"
#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/file_check.h"
#include "runtime/hash.h"
#include "runtime/journal.h"
#include "runtime/json_report.h"

namespace rulemill::prove {
namespace {

using Kind = Outcome::Kind;
using runtime::Json;

constexpr const char* journal_file = "verdicts.journal";
constexpr int farm_version = 11;  // part of the stage's digest: outcomes of another way of judging do not mix

/// The texts of the rules of a file, each from its line "rule …" to the next one's.
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

/// Where the round that begins at `begin` ends: after a candidate whose text says so, about as many as `first_round` or
/// a quarter of those done, up to `largest_round`, at least half and at most twice as many. So a few candidates more or
/// less change the rounds around them and no others, and a run on an operator more finds most of its proofs among those
/// of the run before.
std::size_t end_of_round(const std::vector<std::string>& candidates, std::size_t begin, const FarmOptions& options) {
  const std::size_t size = std::bit_floor(
      std::min<std::size_t>(std::max<std::size_t>(options.first_round, begin / 4), options.largest_round));
  const std::size_t last = std::min(candidates.size(), begin + 2 * size);
  for (std::size_t end = begin + size / 2; end < last; ++end) {
    const std::string& text = candidates[end - 1];
    const std::string unnumbered = text.substr(std::min(text.size(), text.find('(')));
    if (runtime::hash64(runtime::bytes_of(unnumbered)) % (size / 2) == 0) return end;
  }
  return last;
}

/// The first rank's part: rounds of tasks for the crew.
class Farm {
 public:
  Farm(std::vector<std::string> candidates, Crew& crew, const FarmOptions& options, runtime::Journal& journal)
      : candidates_(std::move(candidates)), crew_(crew), options_(options), journal_(journal) {
    for (const runtime::Journal::Record& record : journal_.records()) {
      known_[record.key] = std::string(runtime::text_of(record.payload));
    }
  }

  std::vector<Outcome> run() {
    runtime::Progress progress(options_.progress, "prove", candidates_.size());
    while (outcomes_.size() < candidates_.size()) {
      begin_ = outcomes_.size();
      outcomes_.resize(end_of_round(candidates_, begin_, options_));
      derive();
      prove();
      settle();
      journal_.sync();
      progress.set(outcomes_.size());
      progress.note(std::to_string(core_) + " core");
    }
    return std::move(outcomes_);
  }

 private:
  /// The answers to tasks: what the journal holds, under the task and the rules so far, is not asked again. Where a
  /// helper failed, time or memory decided: that is no answer to keep.
  std::vector<Answer> answers(const std::vector<Task>& tasks) {
    std::vector<Answer> all(tasks.size());
    std::vector<Task> open;
    std::vector<std::size_t> positions;
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      std::string key = crew_.journal_key(tasks[i]);
      if (const auto found = known_.find(key); found != known_.end()) {
        all[i] = unpack_answer(found->second);
        continue;
      }
      open.push_back(tasks[i]);
      positions.push_back(i);
      keys.push_back(std::move(key));
    }
    std::vector<Answer> fresh = crew_.run(open, [&](std::size_t task, const Answer& answer) {
      if (answer.failure.empty()) journal_.append(keys[task], pack(answer));
    });
    for (std::size_t t = 0; t < open.size(); ++t) all[positions[t]] = std::move(fresh[t]);
    return all;
  }

  /// Types the round's candidates and derives them from the core. Those of a block whose helper fails are left to
  /// prove.
  void derive() {
    std::vector<Task> tasks;
    for (std::size_t at = begin_; at < outcomes_.size(); at += options_.block) {
      const std::size_t end = std::min<std::size_t>(outcomes_.size(), at + options_.block);
      Task task{TaskKind::Derive, {}, static_cast<double>(end - at)};
      for (std::size_t i = at; i < end; ++i) task.items.push_back(candidates_[i]);
      tasks.push_back(std::move(task));
    }
    std::size_t next = begin_;
    const std::vector<Answer> all = answers(tasks);
    for (std::size_t t = 0; t < all.size(); ++t) {
      for (std::size_t i = 0; i < tasks[t].items.size(); ++i, ++next) {
        if (all[t].failure.empty()) outcomes_[next] = unpack_outcome(all[t].items.at(i));
      }
    }
  }

  /// Proves the others from the definitions.
  void prove() {
    std::vector<Task> tasks;
    std::vector<std::size_t> open;
    for (std::size_t i = begin_; i < outcomes_.size(); ++i) {
      if (outcomes_[i].kind != Kind::Unknown) continue;
      open.push_back(i);
      tasks.push_back({TaskKind::Prove, {candidates_[i]}, outcomes_[i].hardness});
    }
    const std::vector<Answer> all = answers(tasks);
    for (std::size_t t = 0; t < all.size(); ++t) {
      Outcome& outcome = outcomes_[open[t]];
      if (!all[t].failure.empty()) {
        outcome.detail = all[t].failure + "; not final, the next run tries again";
        continue;
      }
      Outcome proof = unpack_outcome(all[t].items.at(0));
      proof.seconds += outcome.seconds;
      proof.hardness = outcome.hardness;
      proof.operators = outcome.operators;
      if (proof.rule.empty()) proof.rule = outcome.rule;
      outcome = std::move(proof);
    }
  }

  /// What the round proved is derived if it follows from the core and what the round proved before it, of which some is
  /// derived itself and some stays apart: what does not follow implies the rest, one after the other. It is core from
  /// then on, unless it stays apart: those that would are asked once here and once of the minimal core.
  void settle() {
    std::vector<std::size_t> proved;
    std::vector<std::string> changes;
    for (std::size_t i = begin_; i < outcomes_.size(); ++i) {
      if (outcomes_[i].kind != Kind::Proved) continue;
      proved.push_back(i);
      changes.push_back(adding(outcomes_[i].rule));
    }
    crew_.change(changes);
    changes.clear();
    std::vector<Task> tasks;
    std::vector<std::size_t> asked;  // in proved, in the order of the tasks' items
    for (const auto kind : {TaskKind::Admit, TaskKind::AdmitLarge}) {
      Task task{kind, {}, static_cast<double>(options_.block)};
      for (std::size_t i = 0; i < proved.size(); ++i) {
        if (stays_apart(outcomes_[proved[i]]) != (kind == TaskKind::AdmitLarge)) continue;
        asked.push_back(i);
        task.items.push_back(std::to_string(rules_ + i));
        if (task.items.size() == options_.block) tasks.push_back(std::exchange(task, {kind, {}, task.hardness}));
      }
      if (!task.items.empty()) tasks.push_back(std::move(task));
    }
    const std::vector<Answer> all = answers(tasks);
    std::size_t next = 0;
    for (std::size_t t = 0; t < all.size(); ++t) {
      for (std::size_t i = 0; i < tasks[t].items.size(); ++i, ++next) {
        const Outcome answer = all[t].failure.empty() ? unpack_outcome(all[t].items.at(i)) : Outcome();
        Outcome& outcome = outcomes_[proved[asked[next]]];
        if (!take_derivation(answer, outcome)) outcome.apart = answer.detail != implied_no && stays_apart(outcome);
        if (outcome.kind == Kind::Proved && !outcome.apart)
          ++core_;
        else
          changes.push_back(removing(rules_ + asked[next]));
      }
    }
    rules_ += proved.size();
    crew_.change(changes);
  }

  std::vector<std::string> candidates_;
  Crew& crew_;
  const FarmOptions& options_;
  runtime::Journal& journal_;
  std::map<std::string, std::string> known_;  // the journal's answers
  std::vector<Outcome> outcomes_;
  std::size_t begin_ = 0;  // of the round
  std::size_t rules_ = 0;  // that workers have been told of
  std::size_t core_ = 0;   // of these: in use
};

FarmSummary summarize(const std::vector<Outcome>& outcomes) {
  FarmSummary summary;
  summary.candidates = outcomes.size();
  for (const auto kind : {Kind::Proved, Kind::Derived, Kind::Refuted, Kind::Unknown, Kind::IllTyped})
    summary.outcomes[name(kind)] = 0;
  for (const Outcome& outcome : outcomes) {
    ++summary.outcomes[name(outcome.kind)];
    summary.queries += outcome.queries;
  }
  return summary;
}

void write_timings(const std::filesystem::path& path, const std::vector<Outcome>& outcomes) {
  Json list = Json::array();
  for (const Outcome& outcome : outcomes) {
    list.push_back({{"candidate", outcome.candidate},
                    {"verdict", name(outcome.kind)},
                    {"milliseconds", outcome.seconds * 1e3},
                    {"queries", outcome.queries},
                    {"estimate", outcome.hardness}});
  }
  runtime::write_json(path, list);
}

/// Everybody gets the first rank's figures, by rank aside.
void share(FarmSummary& summary, const runtime::Communicator& communicator) {
  std::string text = Json{
      {"already_done", summary.already_done},
      {"candidates", summary.candidates},
      {"outcomes", summary.outcomes},
      {"queries",
       summary.queries}}.dump();
  communicator.broadcast(text);
  const Json json = Json::parse(text);
  json.at("already_done").get_to(summary.already_done);
  json.at("candidates").get_to(summary.candidates);
  json.at("outcomes").get_to(summary.outcomes);
  json.at("queries").get_to(summary.queries);
}

}  // namespace

FarmSummary prove_candidates(const std::filesystem::path& out, const std::string& candidates,
                             const std::string& inputs_digest, algebra::Library& library,
                             const runtime::Communicator& communicator, const FarmOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  FarmSummary summary;
  Crew crew(communicator, library, options.helper, prove_stage);
  crew.work([&] {
    runtime::Manifest manifest(out);
    const std::string text = runtime::read_listed(manifest, candidates);
    const std::string digest = inputs_digest + "-" + runtime::to_hex(runtime::hash64(runtime::bytes_of(text))) +
                               "-prove" + std::to_string(farm_version);
    const auto self = runtime::Communicator::self();
    if (manifest.finished(prove_stage, digest) && is_final(manifest.figures(prove_stage)) &&
        runtime::damaged_files(out, &manifest, prove_stage, self).empty()) {
      summary = summarize(read_outcomes(out));
      summary.already_done = true;
      std::filesystem::remove(out / journal_file);  // of a run that was ended right after it had finished
      return;
    }
    const runtime::ManifestEntry* listed = manifest.find(outcomes_file);
    const std::string before = listed == nullptr ? std::string() : listed->checksum;
    manifest.begin(prove_stage, digest);
    {
      runtime::Journal journal = runtime::Journal::of_folder(out, journal_file, digest);
      AnswerStore store(out, library, options.helper.worker.prover.seed);
      crew.keep(store);
      const std::vector<Outcome> outcomes = Farm(split_rules(text), crew, options, journal).run();
      summary = summarize(outcomes);
      write_timings(out / timings_file, outcomes);
      const std::string json = to_text(outcomes);
      runtime::write_file(out / outcomes_file, json);
      const runtime::ManifestEntry entry = runtime::entry_of(outcomes_file, prove_stage, runtime::bytes_of(json));
      manifest.add(entry);
      // What was pruned of other verdicts is to be pruned again.
      const std::string pruned = manifest.inputs_digest(prune_stage);
      if (entry.checksum != before && !pruned.empty()) manifest.begin(prune_stage, pruned);
    }
    manifest.finish(prove_stage,
                    {{"candidates", summary.candidates},
                     {not_final, crew.failures()},
                     {"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}});
    if (crew.failures() == 0) std::filesystem::remove(out / journal_file);
  });
  summary.ranks = crew.figures();
  share(summary, communicator);
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

bool is_final(const runtime::Attributes& figures) {
  const auto found = figures.find(not_final);
  return found == figures.end() || std::get<std::uint64_t>(found->second) == 0;
}

std::vector<Outcome> read_outcomes(const std::filesystem::path& out) {
  const std::filesystem::path path = out / outcomes_file;
  try {
    return outcomes_from_text(runtime::read_listed(runtime::Manifest(out), outcomes_file));
  } catch (const runtime::Json::exception& error) {
    throw runtime::InputError(path.string(), std::string("not the outcomes of a prove stage: ") + error.what());
  }
}

}  // namespace rulemill::prove
