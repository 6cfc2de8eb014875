#include "prove/prune.h"

#include <map>
#include <utility>

#include "prove/certificate/certificate.h"
#include "prove/certificate/rule_instance_text.h"
#include "prove/core/minimal_core.h"
#include "prove/tasks/candidate_result.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/journal.h"
#include "runtime/files/stage.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::prove {
namespace {

constexpr int prune_stage_version = 18;
constexpr const char* prune_journal_file = "prune.journal";
constexpr const char* without_checkable_proof = "proved, but without a checkable proof: ";

constexpr runtime::CountNames<PruneSummary> prune_counts = {
    {"core", &PruneSummary::core},
    {"derived", &PruneSummary::derived},
    {"subsumed_by_core", &PruneSummary::subsumed_by_core},
    {"proved", &PruneSummary::proved},
    {"without_checkable_proof", &PruneSummary::without_checkable_proof},
    {"inactive", &PruneSummary::inactive}};

/// The record of one rule, with terms and sizes of its own.
struct OwnRecord {
  OwnRecord(const CandidateResult& result, const std::string& id, algebra::Library& library)
      : bank(library), record(record_of(result, id, library, bank, symbols)) {}
  std::string statement() const { return statement_of(record.rule, bank, symbols); }

  algebra::TermBank bank;
  algebra::Symbols symbols;
  algebra::RuleRecord record;
};

/// Writes the database: the core rules as r1, r2, …, then the derived rules, each in the order of their candidates.
class DatabaseWriter {
 public:
  DatabaseWriter(const std::vector<CandidateResult>& core, algebra::Library& library)
      : library_(library), writer_(library) {
    for (const CandidateResult& result : core) {
      const std::string name = "r" + std::to_string(records_.size() + 1);
      const OwnRecord own(result, name, library_);
      names_.emplace(result.candidate, name);
      statements_.emplace(name, own.statement());
      records_.push_back(writer_.serialize(own.record, own.bank, own.symbols));
    }
  }

  /// Adds the derived rules that can be certified. Returns the others by position, with the reason.
  std::map<std::size_t, std::string> add_derived(std::vector<CandidateResult>& derived, TaskScheduler& scheduler) {
    const std::size_t first = records_.size();
    records_.resize(first + derived.size());
    std::map<std::size_t, std::string> reasons;
    const auto request = [&](std::size_t item) {
      std::string& instances = derived[item].certificate;
      instances = with_rules_renamed(instances, names_);
      return certificate_request(derived[item].rule, algebra::Certificate::Kind::Derivation, instances, statements_);
    };
    const auto store = [&](std::size_t item, const std::string& answer) {
      CertifiedRecord certified = unpack_record(answer);
      if (!has_checkable_proof(certified.certificate)) {
        reasons.emplace(item, reason_without_proof(certified.certificate));
        return;
      }
      algebra::RuleRecord record;
      record.rule.id = "r" + std::to_string(first + item + 1);
      record.rule.tier = algebra::Tier::Derived;
      record.certificate = {algebra::Certificate::Kind::Derivation,
                            with_rule_instances(certified.certificate, derived[item].certificate)};
      record.statistics = {derived[item].queries, derived[item].instance_count};
      record.example = derived[item].example;
      records_[first + item] = writer_.join(record, certified.parts);
      derived[item] = {};
    };
    scheduler.answer_each({TaskKind::CertifyRecord, derived.size(), request, store, {}});
    return reasons;
  }

  /// Returns the chunks of the database.
  std::vector<std::string> finish(const algebra::Provenance& provenance,
                                  const std::vector<std::pair<std::string, std::uint64_t>>& funnel) {
    return writer_.finish(provenance, std::move(records_), funnel);
  }

 private:
  algebra::Library& library_;
  algebra::RuleSetWriter writer_;
  std::map<std::string, std::string> names_;       // by candidate
  std::map<std::string, std::string> statements_;  // of core rules, by name
  std::vector<std::string> records_;               // empty for a rule that is not certified
};

/// Writes the pruned rules with their certificates, and fills in the summary.
DatabaseWriter prune(std::vector<CandidateResult> results, TaskScheduler& scheduler, algebra::Library& library,
                     PruneSummary& summary) {
  MinimalCore minimal(std::move(results), scheduler, library, [&](const CandidateResult& result) {
    return OwnRecord(result, result.candidate, library).statement();
  });
  minimal.find();
  std::vector<CandidateResult> core, derived;
  const auto drop = [&](CandidateResult result, const std::string& reason) {
    result.status = RuleStatus::Unknown;
    result.detail = without_checkable_proof + reason;
    result.certificate.clear();
    summary.dropped.push_back(std::move(result));
  };
  for (CandidateResult& result : minimal.rules()) {
    if (result.status == RuleStatus::Proved && result.inactive) ++summary.inactive;
    if (result.status == RuleStatus::Proved)
      core.push_back(std::move(result));
    else if (result.status != RuleStatus::Derived)
      drop(result, result.detail);
    else if (result.instance_count > 1)
      derived.push_back(std::move(result));
    else
      ++summary.subsumed_by_core;
  }
  DatabaseWriter database(core, library);
  const std::map<std::size_t, std::string> uncertified = database.add_derived(derived, scheduler);
  for (const auto& [position, reason] : uncertified) drop(derived[position], reason);
  summary.core = core.size();
  summary.derived = derived.size() - uncertified.size();
  summary.without_checkable_proof = summary.dropped.size();
  summary.proved = summary.core + summary.derived + summary.subsumed_by_core;
  return database;
}

}  // namespace

std::vector<CandidateResult> read_dropped(const std::filesystem::path& out) {
  const std::filesystem::path path = out / dropped_file;
  return std::filesystem::exists(path) ? results_from_text(runtime::read_file(path)) : std::vector<CandidateResult>();
}

void append_counts(const PruneSummary& summary, std::vector<std::pair<std::string, std::uint64_t>>& funnel) {
  if (summary.without_checkable_proof > 0)
    funnel.emplace_back("dropped: no checkable proof", summary.without_checkable_proof);
  funnel.emplace_back("valid rules", summary.proved);
  funnel.emplace_back("subsumed by a core rule", summary.subsumed_by_core);
  funnel.emplace_back("core", summary.core);
  if (summary.inactive > 0) funnel.emplace_back("core, inactive", summary.inactive);
  funnel.emplace_back("derived rules", summary.derived);
}

PruneSummary prune_rules(const std::filesystem::path& out, const std::string& inputs_digest, algebra::Library& library,
                         const algebra::Provenance& provenance,
                         std::vector<std::pair<std::string, std::uint64_t>> funnel,
                         const runtime::Communicator& communicator, const ProofStageOptions& options,
                         std::vector<CandidateResult> results) {
  const runtime::Stopwatch watch;
  PruneSummary summary;
  TaskScheduler scheduler(communicator, library, options.worker_process, prune_stage);
  scheduler.run_collective([&] {
    const auto self = runtime::Communicator::self();
    runtime::Stage stage(out, prune_stage, self);
    const runtime::Manifest& manifest = *stage.manifest();
    if (manifest.statistics(prove_stage).empty())
      throw runtime::InputError(out.string(), "the prove stage is not finished in this folder");
    const std::string digest =
        inputs_digest + "-" + manifest.inputs_digest(prove_stage) + "-prune" + std::to_string(prune_stage_version);
    if (const auto statistics = stage.begin(digest, runtime::Stage::OldFiles::Discard, is_final)) {
      runtime::read_counts(summary, prune_counts, *statistics, prune_stage);
      summary.dropped = read_dropped(out);
      summary.already_done = true;
      std::filesystem::remove(out / prune_journal_file);  // left behind if the run that finished the stage was killed
      return;
    }
    runtime::Journal journal = runtime::Journal::open_in_folder(out, prune_journal_file, digest);
    scheduler.use_journal(journal);
    AnswerCache cache(out, library, options.worker_process.worker.prover.seed);
    scheduler.use_cache(cache);
    scheduler.show_progress(options.progress);
    if (results.empty()) results = read_results(out);
    DatabaseWriter database = prune(std::move(results), scheduler, library, summary);
    append_counts(summary, funnel);
    algebra::Provenance solved = provenance;
    solved.solver = Z3Session::version();
    stage.write(pruned_file, runtime::views_of(database.finish(solved, funnel)));
    stage.write(dropped_file, to_text(summary.dropped));
    runtime::Attributes statistics = runtime::to_attributes(summary, prune_counts);
    statistics.insert_or_assign(failed_tasks_key, scheduler.failures());
    stage.finish(statistics);
    std::filesystem::remove(out / prune_journal_file);
  });
  summary.ranks = scheduler.rank_statistics();
  summary.seconds = watch.seconds();
  return summary;
}

}  // namespace rulemill::prove
