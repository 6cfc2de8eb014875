#include "prove/prune.h"

#include <map>

#include "prove/certificate/certificate.h"
#include "prove/certificate/rule_instance_text.h"
#include "prove/core/minimal_core.h"
#include "prove/core/rule_record.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/journal.h"
#include "runtime/files/stage.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::prove {
namespace {

constexpr int prune_stage_version = 17;
constexpr const char* prune_journal_file = "prune.journal";
constexpr const char* without_checkable_proof = "proved, but without a checkable proof: ";

constexpr runtime::CountNames<PruneSummary> prune_counts = {
    {"core", &PruneSummary::core},
    {"derived", &PruneSummary::derived},
    {"subsumed_by_core", &PruneSummary::subsumed_by_core},
    {"proved", &PruneSummary::proved},
    {"without_checkable_proof", &PruneSummary::without_checkable_proof},
    {"inactive", &PruneSummary::inactive}};

/// Returns the core rules as r1, r2, …, then the derived rules, each in the order of their candidates.
algebra::RuleSet make_database(const std::vector<CandidateResult>& core, std::vector<CandidateResult> derived,
                               algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols) {
  algebra::RuleSet rules;
  std::map<std::string, std::string> names;
  for (const CandidateResult& result : core) names[result.candidate] = "r" + std::to_string(names.size() + 1);
  for (const CandidateResult& result : core)
    rules.rules.push_back(record_of(result, names.at(result.candidate), library, bank, symbols));
  for (CandidateResult& result : derived) {
    result.certificate = with_rules_renamed(result.certificate, names);
    rules.rules.push_back(record_of(result, "r" + std::to_string(rules.rules.size() + 1), library, bank, symbols));
  }
  return rules;
}

/// Returns the pruned database with its certificates, and fills in the summary.
algebra::RuleSet prune(const std::vector<CandidateResult>& results, TaskScheduler& scheduler, algebra::Library& library,
                       algebra::TermBank& bank, algebra::Symbols& symbols, PruneSummary& summary) {
  MinimalCore minimal(results, scheduler, library, [&](const CandidateResult& result) {
    return statement_of(record_of(result, result.candidate, library, bank, symbols).rule, bank, symbols);
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
  summary.core = core.size();
  algebra::RuleSet rules = make_database(core, derived, library, bank, symbols);
  const auto uncertified = certify_with(rules, library, bank, symbols, [&](const std::vector<std::string>& requests) {
    return scheduler.answer_items(TaskKind::Certify, requests);
  });
  for (const UncertifiedRule& rule : uncertified)
    drop(derived.at(std::stoul(rule.id.substr(1)) - 1 - summary.core), rule.reason);
  summary.derived = rules.rules.size() - summary.core;
  summary.without_checkable_proof = summary.dropped.size();
  summary.proved = summary.core + summary.derived + summary.subsumed_by_core;
  return rules;
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
                         const runtime::Communicator& communicator, const ProofStageOptions& options) {
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
    algebra::TermBank bank(library);
    algebra::Symbols symbols;
    algebra::RuleSet rules = prune(read_results(out), scheduler, library, bank, symbols, summary);
    rules.provenance = provenance;
    rules.provenance.solver = Solver::version();
    append_counts(summary, funnel);
    rules.funnel = std::move(funnel);
    stage.write(pruned_file, algebra::serialize(rules, bank, symbols));
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
