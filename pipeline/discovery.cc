#include "pipeline/discovery.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "dedup/candidates/generalization_cache.h"
#include "dedup/join/merge_profiles.h"
#include "enumerate/profile/profile_reader.h"
#include "fingerprint/level_runner.h"
#include "fingerprint/previous_table.h"
#include "pipeline/task_statistics.h"
#include "prove/cache/answer_cache.h"
#include "runtime/files/json_file.h"
#include "runtime/files/manifest.h"
#include "runtime/mpi/on_first_rank.h"
#include "runtime/mpi/thread_pool.h"
#include "runtime/process/log.h"
#include "runtime/process/machine.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::pipeline {
namespace {

enum class OnChange {
  Refuse,   // throw InputError
  Extend,   // restart the stages if the run only grows or loses operators; throw InputError otherwise
  Discard,  // restart from scratch, whether or not the inputs changed
};

/// True if the results for the new value include those for the old one, except for what was removed on purpose.
bool extends_or_removes(const enumerate::InputChange& change) {
  for (const char* prefix : {"operator ", "constant ", "definition of ", "order of "}) {
    if (change.component.starts_with(prefix)) return true;
  }
  if (change.component.starts_with("variable ") || change.component.starts_with("profile "))
    return change.before.empty();
  return change.component == "max_ops" && std::stoul(change.after) > std::stoul(change.before);
}

/// Returns the shards, journals and checkpoints.
std::vector<std::filesystem::path> stage_files(const std::filesystem::path& out) {
  std::vector<std::filesystem::path> files = {out / "shards"};
  for (const auto& entry : std::filesystem::directory_iterator(out)) {
    const auto extension = entry.path().extension();
    if (extension == ".journal" || extension == ".pieces") files.push_back(entry.path());
  }
  return files;
}

/// The rules of the last run stay until they are replaced.
void remove_stage_files(const std::filesystem::path& out) {
  for (const auto& path : stage_files(out)) std::filesystem::remove_all(path);
}

/// Returns whether a stage was finished.
bool has_results(const runtime::Manifest& manifest) {
  constexpr const char* stages[] = {
      fingerprint::fingerprint_stage, dedup::join_stage, dedup::merge_stage, prove::prove_stage, prove::prune_stage,
      prove::generalize_stage};
  return std::ranges::any_of(stages, [&](const char* stage) { return !manifest.statistics(stage).empty(); });
}

/// Returns whether the folder has anything that a run computed: a run may have been refused before its first task.
bool has_work(const runtime::Manifest& manifest) {
  return has_results(manifest) || std::ranges::any_of(stage_files(manifest.folder()), [](const auto& path) {
           return std::filesystem::exists(path) && !std::filesystem::is_empty(path);
         });
}

/// On the first rank. Returns the changes in words, empty if there are none or if they do not matter.
std::string apply_inputs(const std::filesystem::path& out, const enumerate::InputComponents& inputs,
                         OnChange on_change) {
  runtime::Manifest manifest(out);
  manifest.repair();
  std::string words;
  if (on_change == OnChange::Discard) {
    remove_stage_files(out);
    std::filesystem::remove_all(out / fingerprint::previous_folder);
    for (const char* cache : {prove::answers_file, dedup::generalization_cache_file})
      std::filesystem::remove(out / cache);
    manifest.reset();
  } else if (!manifest.inputs().empty() && manifest.inputs() != inputs) {
    const std::vector<enumerate::InputChange> changes = enumerate::find_changes(manifest.inputs(), inputs);
    words = enumerate::describe_changes(changes);
    if (on_change == OnChange::Refuse || (has_work(manifest) && !std::ranges::all_of(changes, extends_or_removes))) {
      throw runtime::InputError(out.string(), "was made from other inputs: " + words + "; choose another --out, or " +
                                                  "`rulemill discover --fresh`, which starts over");
    }
    if (!has_results(manifest)) words.clear();  // nothing can be reused
    fingerprint::archive_table(out);
    remove_stage_files(out);
    manifest.reset();
  }
  if (manifest.inputs() != inputs) manifest.set_inputs(inputs);
  return words;
}

using runtime::Json;

enumerate::Profile load_profile(const Options& options, const algebra::Library& library) {
  enumerate::Profile profile = enumerate::load_profile(options.profile, library);
  if (options.seed) profile.seed = *options.seed;
  if (options.max_ops) profile.max_ops = *options.max_ops;
  return profile;
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Discovery::Discovery(const runtime::Communicator& world, const Options& options, Observer& observer)
    : world_(world),
      options_(options),
      observer_(observer),
      library_(algebra::Library::load(options.definitions)),
      profile_(load_profile(options, library_)),
      definitions_(enumerate::definition_components(profile_, library_)) {
  begin();
}

Discovery::Discovery(const runtime::Communicator& world, const Options& options, Observer& observer,
                     const std::vector<ProfileRun>& profiles)
    : world_(world), options_(options), observer_(observer), library_(algebra::Library::load(options.definitions)) {
  profile_.name = std::filesystem::canonical(options.profile).filename().string();
  profile_.seed = profiles.at(0).seed;
  profile_.max_ops = 0;
  for (const ProfileRun& profile : profiles) add(profile);
  profile_.digest = enumerate::digest_of(profile_digests_);
  begin();
}

void Discovery::begin() {
  runtime::on_first_rank(world_, [&] { lock_ = std::make_unique<runtime::FolderLock>(options_.out); });
  open_log();
  observer_.begin({profile_.name, profile_.max_ops, world_.size()});
}

Discovery::ProfileRun Discovery::profile_run() const {
  return {options_.out,  definitions_,     profile_.name, enumerate::digest_of(inputs()),
          profile_.seed, profile_.max_ops, times_,        funnel_};
}

/// Adds the times and counts of a profile to those of all.
void Discovery::add(const ProfileRun& profile) {
  folders_.push_back(profile.folder);
  definitions_.insert(profile.definitions.begin(), profile.definitions.end());
  profile_digests_["profile " + profile.name] = profile.digest;
  profile_.max_ops = std::max(profile_.max_ops, profile.max_ops);
  times_.resize(profile.times.size(), {"", 0, true});
  for (std::size_t s = 0; s < times_.size(); ++s) {
    const StageTime& added = profile.times[s];
    times_[s] = {added.name, times_[s].seconds + added.seconds, times_[s].already_done && added.already_done};
  }
  funnel_.resize(profile.funnel.size());
  for (std::size_t f = 0; f < funnel_.size(); ++f)
    funnel_[f] = {profile.funnel[f].first, funnel_[f].second + profile.funnel[f].second};
}

enumerate::InputComponents Discovery::inputs() const {
  enumerate::InputComponents inputs =
      profile_digests_.empty() ? enumerate::profile_components(profile_) : profile_digests_;
  inputs.insert(definitions_.begin(), definitions_.end());
  inputs["profile"] = profile_.name;
  inputs["seed"] = std::to_string(profile_.seed);
  inputs["max_ops"] = std::to_string(profile_.max_ops);
  inputs["--extend-all-terms"] = options_.extend_all_terms ? "yes" : "no";
  inputs["--no-symmetry"] = options_.no_symmetry ? "yes" : "no";
  return inputs;
}

void Discovery::check_inputs(bool may_restart) {
  runtime::on_first_rank(world_, [&] {
    const OnChange on_change = !may_restart ? OnChange::Refuse : options_.fresh ? OnChange::Discard : OnChange::Extend;
    const std::string changes = apply_inputs(options_.out, inputs(), on_change);
    if (!changes.empty()) observer_.inputs_changed(changes);
  });
}

void Discovery::open_log() {
  runtime::open_event_log(options_.out, world_.rank());
  runtime::log_event("begin", {{"profile", profile_.name},
                               {"max_ops", profile_.max_ops},
                               {"ranks", world_.size()},
                               {"host", runtime::describe_machine().host},
                               {"pid", ::getpid()},
                               {"job", environment_variable("SLURM_JOB_ID")},
                               {"restarts", environment_variable("SLURM_RESTART_COUNT")},
                               {"build", options_.build}});
}

void Discovery::require_finished(const std::string& stage) const {
  runtime::on_first_rank(world_, [&] {
    if (!runtime::Manifest(options_.out).statistics(stage).empty()) return;
    throw runtime::InputError(options_.out.string(),
                              "stage " + stage + " is not finished here; run it first, or `rulemill discover`");
  });
}

void Discovery::end_stage(const std::string& name, double seconds, bool already_done) {
  times_.push_back({name, seconds, already_done});
  const runtime::Communicator::Traffic traffic = world_.traffic();
  runtime::log_event("stage end", {{"stage", name},
                                   {"already_done", already_done},
                                   {"seconds", seconds},
                                   {"processor_seconds", runtime::processor_seconds()},
                                   {"waiting", traffic.seconds - traffic_.seconds},
                                   {"bytes_sent", traffic.bytes_sent - traffic_.bytes_sent},
                                   {"memory", runtime::peak_memory_bytes()}});
  traffic_ = traffic;
  observer_.stage_ended(times_.back());
}

void Discovery::fingerprint() {
  fingerprint::RunOptions options;
  options.max_ops = profile_.max_ops;
  options.threads = options_.threads;
  options.all_terms = options_.extend_all_terms;
  options.no_symmetry = options_.no_symmetry;
  options.memory = options_.memory;
  options.build = options_.build;
  options.device = options_.device;
  options.progress = options_.progress;
  fingerprints_ = fingerprint::run(profile_, library_, options_.out, world_, options);
  end_stage(fingerprint::fingerprint_stage, fingerprints_.seconds, fingerprints_.already_done);
  observer_.fingerprinted(fingerprints_);

  std::uint64_t nodes = 0, graphs = 0;
  for (const auto& level : fingerprints_.levels) nodes += level.nodes;
  for (const std::uint64_t of_level : fingerprints_.graphs) graphs += of_level;
  funnel_ = {{"graphs", graphs},
             {"nodes", nodes},
             {"terms", fingerprints_.terms},
             {"terms up to renaming", fingerprints_.rows}};
}

void Discovery::join() {
  dedup::JoinOptions options;
  options.threads = options_.threads;
  options.all_terms = options_.extend_all_terms;
  options.no_symmetry = options_.no_symmetry;
  options.memory = options_.memory;
  options.checkpoint_rows = options_.checkpoint_rows;
  const dedup::Summary summary = dedup::join(profile_, library_, options_.out, fingerprints_, world_, options);
  end_stage(dedup::join_stage, summary.seconds, summary.already_done);
  observer_.joined(summary);

  std::uint64_t classes = 0;
  for (const std::uint64_t of_level : summary.new_classes) classes += of_level;
  const dedup::Funnel& f = summary.funnel;
  const FunnelRows rows = {{"classes", classes},
                           {"classes with equal terms", f.classes},
                           {"pairs", f.pairs},
                           {"unique up to renaming", f.unique_up_to_renaming},
                           {"unique up to shape", f.unique_up_to_shape},
                           {"generalized", f.generalized},
                           {"multi-output pairs", f.multi_output_pairs},
                           {"multi-output, generalized", f.multi_output_generalized},
                           {"candidates", f.candidates}};
  funnel_.insert(funnel_.end(), rows.begin(), rows.end());
}

void Discovery::merge_profiles() {
  const runtime::Stopwatch watch;
  std::uint64_t candidates = 0;
  runtime::on_first_rank(world_, [&] { candidates = dedup::merge_profiles(folders_, options_.out, library_); });
  end_stage(dedup::merge_stage, watch.seconds(), false);
  funnel_.emplace_back("candidates of all profiles, deduplicated", candidates);
}

std::string Discovery::candidates_digest() const {
  std::string digest;
  runtime::on_first_rank(world_, [&] {
    const runtime::Manifest manifest(options_.out);
    const runtime::ManifestEntry* candidates = manifest.find(dedup::candidates_file);
    if (candidates == nullptr)
      throw runtime::InputError(options_.out.string(), "manifest.json lists no candidates.rules");
    runtime::Hasher hasher;
    hasher.add_text(candidates->checksum);
    hasher.add_text(enumerate::digest_of(definitions_));
    digest = runtime::to_hex(hasher.digest128());
  });
  world_.broadcast(digest);
  return digest;
}

prove::ProofStageOptions Discovery::proof_options() const {
  prove::ProofStageOptions options;
  options.progress = options_.progress;
  options.memory = options_.memory;
  options.worker_process = options_.workers;
  options.worker_process.workers = runtime::ThreadPool(options_.threads).threads();
  options.worker_process.worker.prover.seed = profile_.seed;
  options.worker_process.idle_workers = idle_workers_;
  return options;
}

void Discovery::prove() {
  prove::ProveSummary summary = prove::prove_candidates(options_.out, dedup::candidates_file, candidates_digest(),
                                                        library_, world_, proof_options());
  proved_ = std::move(summary.results);
  end_stage(prove::prove_stage, summary.seconds, summary.already_done);
  log_tasks(prove::prove_stage, summary.ranks);
  observer_.proved(summary);
  for (const auto& [verdict, count] : summary.counts_by_status) funnel_.emplace_back(verdict, count);
  if (options_.cross_check) cross_check();
}

void Discovery::cross_check() {
  prove::TaskScheduler scheduler(world_, library_, proof_options().worker_process, "cross-check");
  prove::CrossCheckReport report;
  scheduler.run_collective([&] {
    std::vector<std::string> derived;
    for (const prove::CandidateResult& result : prove::read_results(options_.out))
      if (result.status == prove::RuleStatus::Derived) derived.push_back(result.rule);
    report = prove::cross_check(derived, scheduler);
  });
  observer_.cross_checked(report, scheduler.rank_statistics());
}

void Discovery::prune() {
  algebra::Provenance provenance;
  provenance.profile_name = profile_.name;
  provenance.profile_digest = profile_.digest;
  provenance.seeds = {profile_.seed};
  provenance.build = options_.build;
  provenance.solver = "z3 " + prove::Z3Session::version();
  provenance.max_operators = profile_.max_ops;
  const prove::PruneSummary summary = prove::prune_rules(options_.out, candidates_digest(), library_, provenance,
                                                         funnel_, world_, proof_options(), std::move(proved_));
  end_stage(prove::prune_stage, summary.seconds, summary.already_done);
  log_tasks(prove::prune_stage, summary.ranks);
  observer_.pruned(summary);
  prove::append_counts(summary, funnel_);
}

void Discovery::generalize() {
  const prove::GeneralizeSummary summary = prove::generalize_rules(options_.out, candidates_digest(), library_,
                                                                   options_.generalized, world_, proof_options());
  end_stage(prove::generalize_stage, summary.seconds, summary.already_done);
  log_tasks(prove::generalize_stage, summary.ranks);
  observer_.generalized(summary);
  if (options_.generalized != prove::GeneralizedTier::None) prove::append_counts(summary.report, funnel_);
}

void Discovery::log_tasks(const char* stage, const std::vector<prove::RankStatistics>& ranks) const {
  if (total(ranks).tasks == 0) return;
  runtime::log_event("task_statistics", {{"stage", stage}, {"report", task_statistics_json(ranks)}});
}

void Discovery::write_summary() {
  RunSummary summary;
  runtime::on_first_rank(world_, [&] {
    const runtime::Manifest manifest(options_.out);
    for (StageTime& stage : times_) stage.cut_proofs = prove::failed_tasks(manifest.statistics(stage.name));
  });
  summary.stages = times_;
  for (const StageTime& stage : times_) summary.seconds += stage.already_done ? 0 : stage.seconds;
  summary.peak_memory_bytes = world_.max(runtime::peak_memory_bytes());
  summary.peak_memory_bytes_of_all_ranks = world_.sum(runtime::peak_memory_bytes());
  summary.funnel = funnel_;
  runtime::on_first_rank(world_, [&] {
    Json counts = Json::object();
    for (const auto& [step, count] : funnel_) counts[step] = count;
    runtime::write_json(options_.out / "funnel.json",
                        {{"profile", profile_.name}, {"max_ops", profile_.max_ops}, {"funnel", counts}});
  });
  observer_.ended(summary);
}

}  // namespace rulemill::pipeline
