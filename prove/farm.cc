#include "prove/farm.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/interrupt.h"
#include "runtime/journal.h"
#include "runtime/manifest.h"

namespace rulemill::prove {
namespace {

constexpr const char* journal_file = "verdicts.journal";
constexpr int farm_version = 1;  // part of the stage's digest: outcomes of another way of judging do not mix

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

class Farm {
 public:
  Farm(std::vector<std::string> candidates, algebra::Library& library, const runtime::Communicator& communicator,
       const FarmOptions& options, runtime::Journal* journal)
      : candidates_(std::move(candidates)), library_(library), communicator_(communicator), options_(options), journal_(journal) {
    if (journal_) {
      for (const runtime::Journal::Record& record : journal_->records()) {
        known_[record.key] = std::string(runtime::text_of(record.payload));
      }
    }
  }

  std::vector<Outcome> run() {
    std::optional<runtime::Progress> progress;
    if (communicator_.is_root()) progress.emplace(options_.progress, "prove", candidates_.size());
    std::vector<Outcome> outcomes;
    while (outcomes.size() < candidates_.size()) {
      const std::size_t begin = outcomes.size();
      const std::size_t size = std::max<std::size_t>(options_.first_round, begin / 4 / options_.block * options_.block);
      const std::size_t end = std::min(candidates_.size(), begin + size);
      std::vector<Outcome> round = judge_round(begin, end);
      settle(round);
      outcomes.insert(outcomes.end(), std::make_move_iterator(round.begin()), std::make_move_iterator(round.end()));
      if (progress) {
        progress->set(outcomes.size());
        progress->note(std::to_string(core_.size()) + " core");
      }
    }
    return outcomes;
  }

 private:
  std::unique_ptr<Workbench> workbench() const {
    auto bench = std::make_unique<Workbench>(library_, options_.prover, options_.limits);
    for (const std::string& rule : core_) bench->add_core(rule);
    return bench;
  }

  /// The round's blocks, spread over the ranks; every rank gets all outcomes.
  std::vector<Outcome> judge_round(std::size_t begin, std::size_t end) {
    std::vector<std::pair<std::size_t, std::size_t>> blocks;
    for (std::size_t at = begin; at < end; at += options_.block) blocks.emplace_back(at, std::min<std::size_t>(end, at + options_.block));
    const std::vector<std::string> known = known_blocks(blocks);
    std::vector<std::string> judged(blocks.size());
    std::size_t turn = 0;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (!known[b].empty()) {
        judged[b] = known[b];
        continue;
      }
      if (turn++ % static_cast<std::size_t>(communicator_.size()) != static_cast<std::size_t>(communicator_.rank())) continue;
      if (runtime::interrupted()) break;
      judged[b] = to_text(judge_block(blocks[b].first, blocks[b].second));
    }
    exchange(blocks, known, judged);
    if (communicator_.any(runtime::interrupted())) throw runtime::Interrupted("prove", "stopped; run the same command again to continue");
    std::vector<Outcome> outcomes;
    for (const std::string& text : judged) {
      for (Outcome& outcome : outcomes_from_text(text)) outcomes.push_back(std::move(outcome));
    }
    return outcomes;
  }

  std::vector<Outcome> judge_block(std::size_t begin, std::size_t end) {
    const auto bench = workbench();
    std::vector<Outcome> outcomes;
    for (std::size_t i = begin; i < end; ++i) outcomes.push_back(bench->judge(candidates_[i]));
    return outcomes;
  }

  /// What the journal already holds, by block, on every rank.
  std::vector<std::string> known_blocks(const std::vector<std::pair<std::size_t, std::size_t>>& blocks) {
    runtime::Json list = runtime::Json::array();
    for (const auto& [begin, end] : blocks) {
      const auto found = known_.find(std::to_string(begin));
      list.push_back(found == known_.end() ? std::string() : found->second);
    }
    std::string text = list.dump();
    communicator_.broadcast(text);
    return runtime::Json::parse(text).get<std::vector<std::string>>();
  }

  /// Fills in what other ranks have judged; the root writes the new blocks to the journal, in order.
  void exchange(const std::vector<std::pair<std::size_t, std::size_t>>& blocks, const std::vector<std::string>& known,
                std::vector<std::string>& judged) {
    runtime::Json mine = runtime::Json::array();
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (known[b].empty() && !judged[b].empty()) mine.push_back(runtime::Json::array({b, judged[b]}));
    }
    for (const runtime::Bytes& part : communicator_.all_gather(runtime::bytes_of(mine.dump()))) {
      const runtime::Json theirs = runtime::Json::parse(runtime::text_of(part));
      for (const runtime::Json& entry : theirs) judged[entry[0].get<std::size_t>()] = entry[1].get<std::string>();
    }
    if (!journal_) return;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (known[b].empty() && !judged[b].empty()) journal_->append(std::to_string(blocks[b].first), judged[b]);
    }
    journal_->sync();
  }

  /// What the round proved, in order: a rule that follows from the core and the round's earlier ones is derived.
  void settle(std::vector<Outcome>& round) {
    const bool any = std::ranges::any_of(round, [](const Outcome& outcome) { return outcome.kind == Outcome::Kind::Proved; });
    if (!any) return;
    std::string accepted;
    if (communicator_.is_root()) {
      const auto bench = workbench();
      for (const Outcome& outcome : round) {
        if (outcome.kind != Outcome::Kind::Proved) continue;
        const bool derived = bench->derives(outcome.rule, false);
        if (!derived) bench->add_core(outcome.rule);
        accepted += derived ? '0' : '1';
      }
    }
    communicator_.broadcast(accepted);
    std::size_t next = 0;
    for (Outcome& outcome : round) {
      if (outcome.kind != Outcome::Kind::Proved) continue;
      if (accepted[next++] == '1') core_.push_back(outcome.rule);
      else outcome.kind = Outcome::Kind::Derived;
    }
  }

  std::vector<std::string> candidates_;
  algebra::Library& library_;
  const runtime::Communicator& communicator_;
  const FarmOptions& options_;
  runtime::Journal* journal_;                 // the root's
  std::map<std::string, std::string> known_;  // the journal's blocks, by first candidate
  std::vector<std::string> core_;
};

FarmSummary summarize(const std::vector<Outcome>& outcomes) {
  FarmSummary summary;
  summary.candidates = outcomes.size();
  for (const auto kind : {Outcome::Kind::Proved, Outcome::Kind::Derived, Outcome::Kind::Refuted, Outcome::Kind::Unknown, Outcome::Kind::IllTyped}) {
    summary.outcomes[name(kind)] = 0;
  }
  for (const Outcome& outcome : outcomes) {
    ++summary.outcomes[name(outcome.kind)];
    summary.queries += outcome.queries;
  }
  return summary;
}

}  // namespace

FarmSummary prove_candidates(const std::filesystem::path& out, const std::string& candidates, const std::string& inputs_digest,
                             algebra::Library& library, const runtime::Communicator& communicator, const FarmOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  std::optional<runtime::Manifest> manifest;
  std::optional<runtime::Journal> journal;
  std::string text, done;
  if (communicator.is_root()) {
    text = runtime::read_file(out / candidates);
    const std::string digest = inputs_digest + "-" + runtime::to_hex(runtime::hash64(runtime::bytes_of(text))) + "-prove" +
                               std::to_string(farm_version);
    manifest.emplace(out);
    if (manifest->finished(prove_stage, digest)) {
      manifest->check_files(prove_stage);
      done = to_text(read_outcomes(out));
    } else {
      manifest->begin(prove_stage, digest);
      manifest->save();
      journal.emplace(out / journal_file, digest);
    }
  }
  communicator.broadcast(done);
  if (!done.empty()) {
    FarmSummary summary = summarize(outcomes_from_text(done));
    summary.already_done = true;
    return summary;
  }
  communicator.broadcast(text);
  const std::vector<Outcome> outcomes = Farm(split_rules(text), library, communicator, options, journal ? &*journal : nullptr).run();
  FarmSummary summary = summarize(outcomes);
  if (communicator.is_root()) {
    const std::string json = to_text(outcomes);
    runtime::write_file(out / outcomes_file, json);
    manifest->add({outcomes_file, prove_stage, json.size(), runtime::to_hex(runtime::hash128(runtime::bytes_of(json))), {}});
    manifest->finish(prove_stage, {{"candidates", summary.candidates}});
    journal.reset();
    std::filesystem::remove(out / journal_file);
  }
  communicator.barrier();
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

std::vector<Outcome> read_outcomes(const std::filesystem::path& out) {
  const std::filesystem::path path = out / outcomes_file;
  try {
    return outcomes_from_text(runtime::read_file(path));
  } catch (const runtime::Json::exception& error) {
    throw runtime::InputError(path.string(), std::string("not the outcomes of a prove stage: ") + error.what());
  }
}

}  // namespace rulemill::prove
