#include "cli/discovery.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/audit_report.h"
#include "cli/crew_tables.h"
#include "cli/text_table.h"
#include "dedup/general_forms.h"
#include "dedup/unite.h"
#include "fingerprint/earlier_table.h"
#include "prove/farm/answer_store.h"
#include "prove/farm/prune.h"
#include "runtime/error.h"
#include "runtime/event_log.h"
#include "runtime/machine.h"
#include "runtime/manifest.h"
#include "runtime/quantity.h"
#include "runtime/stopwatch.h"
#include "runtime/workers.h"

namespace rulemill::cli {
namespace {

using runtime::Json;
using runtime::with_commas;

enumerate::Profile load_profile(const Options& options, const algebra::Library& library) {
  enumerate::Profile profile = enumerate::Profile::load(options.profile, library);
  if (options.seed) profile.seed = *options.seed;
  if (options.max_ops) profile.max_ops = *options.max_ops;
  return profile;
}

/// Whether results for the new value hold all that those for the old one say, or what is missing was taken away on
/// purpose.
bool can_grow(const enumerate::Change& change) {
  for (const char* part : {"operator ", "constant ", "definition of ", "order of "}) {
    if (change.part.starts_with(part)) return true;
  }
  if (change.part.starts_with("variable ") || change.part.starts_with("profile ")) return change.before.empty();
  return change.part == "max_ops" && std::stoul(change.after) > std::stoul(change.before);
}

/// What stages made, but for a table that the next run takes terms from; the rules of the last run stay until there are
/// others.
void clear_folder(const std::filesystem::path& out) {
  std::vector<std::filesystem::path> gone = {out / "shards"};
  for (const auto& entry : std::filesystem::directory_iterator(out)) {
    const auto extension = entry.path().extension();
    if (extension == ".journal" || extension == ".pieces") gone.push_back(entry.path());
  }
  for (const auto& path : gone) std::filesystem::remove_all(path);
}

}  // namespace

Discovery::Discovery(Context& context, const StageOptions& options)
    : context_(context),
      options_(options),
      library_(load_library(context.options)),
      profile_(load_profile(context.options, library_)),
      definitions_(enumerate::definitions_of(profile_, library_)),
      out_(context.options.out) {
  begin();
}

Discovery::Discovery(Context& context, const StageOptions& options, const std::vector<Part>& parts)
    : context_(context), options_(options), library_(load_library(context.options)), out_(context.options.out) {
  profile_.name = std::filesystem::canonical(context.options.profile).filename().string();
  profile_.seed = parts.at(0).seed;
  profile_.max_ops = 0;
  for (const Part& part : parts) add(part);
  profile_.digest = enumerate::digest_of(parts_);
  begin();
}

void Discovery::begin() {
  on_first_rank(context_.world, [&] { lock_ = std::make_unique<runtime::FolderLock>(out_); });
  log_begin();
  context_.report["profile"] = profile_.name;
  context_.report["max_ops"] = profile_.max_ops;
  context_.report["ranks"] = context_.world.size();
}

Discovery::Part Discovery::part() const {
  return {out_,          definitions_,     profile_.name, enumerate::digest_of(inputs()),
          profile_.seed, profile_.max_ops, times_,        funnel_};
}

/// Times and counts are those of all parts together.
void Discovery::add(const Part& part) {
  folders_.push_back(part.folder);
  definitions_.insert(part.definitions.begin(), part.definitions.end());
  parts_["profile " + part.name] = part.digest;
  profile_.max_ops = std::max(profile_.max_ops, part.max_ops);
  times_.resize(part.times.size(), {"", 0, true});
  for (std::size_t s = 0; s < times_.size(); ++s) {
    const StageTime& more = part.times[s];
    times_[s] = {more.name, times_[s].seconds + more.seconds, times_[s].already_done && more.already_done};
  }
  funnel_.resize(part.funnel.size());
  for (std::size_t f = 0; f < funnel_.size(); ++f)
    funnel_[f] = {part.funnel[f].first, funnel_[f].second + part.funnel[f].second};
}

enumerate::Parts Discovery::inputs() const {
  enumerate::Parts parts = parts_.empty() ? enumerate::parts_of(profile_) : parts_;
  parts.insert(definitions_.begin(), definitions_.end());
  parts["profile"] = profile_.name;
  parts["seed"] = std::to_string(profile_.seed);
  parts["max_ops"] = std::to_string(profile_.max_ops);
  parts["--all-terms"] = options_.all_terms ? "yes" : "no";
  parts["--every-renaming"] = options_.every_renaming ? "yes" : "no";
  return parts;
}

void Discovery::meet_inputs(bool may_change) {
  on_first_rank(context_.world, [&] {
    runtime::Manifest manifest(out_);
    manifest.mend();
    const enumerate::Parts now = inputs();
    if (options_.fresh && may_change) {
      clear_folder(out_);
      std::filesystem::remove_all(out_ / fingerprint::earlier_folder);
      for (const char* store : {prove::answers_file, dedup::general_forms_file}) std::filesystem::remove(out_ / store);
      manifest.start_over();
    } else if (!manifest.inputs().empty() && manifest.inputs() != now) {
      const std::vector<enumerate::Change> changes = enumerate::changes(manifest.inputs(), now);
      const std::string words = enumerate::in_words(changes);
      if (!may_change || !std::ranges::all_of(changes, can_grow)) {
        throw runtime::InputError(out_.string(), "was made from other inputs: " + words +
                                                     "; choose another --out, or " +
                                                     "`rulemill discover --fresh`, which starts over");
      }
      context_.print("changed since the last run: " + words +
                     "\nterms, candidates and proofs that this leaves as they were are not made again\n\n");
      fingerprint::put_table_aside(out_);
      clear_folder(out_);
      manifest.start_over();
    }
    if (manifest.inputs() != now) manifest.note_inputs(now);
  });
}

void Discovery::log_begin() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  runtime::open_event_log(out_, context_.world.rank());
  runtime::log_event("begin", {{"profile", profile_.name},
                               {"max_ops", profile_.max_ops},
                               {"ranks", context_.world.size()},
                               {"host", runtime::describe_machine().host},
                               {"pid", ::getpid()},
                               {"job", variable("SLURM_JOB_ID")},
                               {"restarts", variable("SLURM_RESTART_COUNT")},
                               {"build", RULEMILL_VERSION}});
}

void Discovery::require_finished(const std::string& stage) const {
  on_first_rank(context_.world, [&] {
    const runtime::Manifest manifest(out_);
    const auto figures = manifest.figures(stage);
    if (figures.empty()) {
      throw runtime::InputError(out_.string(),
                                "stage " + stage + " is not finished here; run it first, or `rulemill discover`");
    }
  });
}

void Discovery::note_stage(const std::string& name, double seconds, bool already_done) {
  times_.push_back({name, seconds, already_done});
  context_.report["stages"].push_back({{"name", name}, {"seconds", seconds}, {"already_done", already_done}});
  const runtime::Communicator::Traffic traffic = context_.world.traffic();
  runtime::log_event("stage end", {{"stage", name},
                                   {"already_done", already_done},
                                   {"seconds", seconds},
                                   {"waiting", traffic.seconds - traffic_.seconds},
                                   {"bytes_sent", traffic.bytes_sent - traffic_.bytes_sent},
                                   {"memory", runtime::peak_memory_bytes()}});
  traffic_ = traffic;
  context_.print(name + ": " + (already_done ? "already done" : runtime::in_seconds(seconds)) + "\n");
}

void Discovery::fingerprint() {
  fingerprint::RunOptions options;
  options.max_ops = profile_.max_ops;
  options.threads = options_.threads;
  options.all_terms = options_.all_terms;
  options.every_renaming = options_.every_renaming;
  options.memory = options_.memory;
  options.build = RULEMILL_VERSION;
  options.device = options_.device == "cpu"        ? fingerprint::DeviceChoice::Cpu
                   : options_.device == "emulated" ? fingerprint::DeviceChoice::Emulated
                                                   : fingerprint::DeviceChoice::Auto;
  options.progress = context_.progress;
  fingerprints_ = fingerprint::run(profile_, library_, out_, context_.world, options);
  note_stage("fingerprint", fingerprints_.seconds, fingerprints_.already_done);
  show_levels();
}

void Discovery::show_levels() {
  TextTable table({"operators", "nodes", "up to renaming", "terms", "new values", "values so far", "graphs"});
  std::uint64_t values = 0;
  for (std::size_t level = 0; level < fingerprints_.levels.size(); ++level) {
    const fingerprint::LevelFigures& figures = fingerprints_.levels[level];
    const bool last = level + 1 == fingerprints_.levels.size();
    values += figures.new_values;
    const std::uint64_t graphs = level < fingerprints_.graphs.size() ? fingerprints_.graphs[level] : 0;
    const bool known = !last || figures.new_values > 0;  // the last level's are known after the join
    table.add({std::to_string(level), with_commas(figures.nodes), with_commas(figures.orbits),
               with_commas(figures.terms), known ? with_commas(figures.new_values) : "",
               known ? with_commas(values) : "", graphs > 0 ? with_commas(graphs) : ""});
    context_.report["levels"].push_back({{"operators", level},
                                         {"nodes", figures.nodes},
                                         {"orbits", figures.orbits},
                                         {"rows", figures.rows},
                                         {"terms", figures.terms},
                                         {"products", figures.products},
                                         {"graphs", graphs}});
  }
  context_.print(table.text());
  context_.print(with_commas(fingerprints_.terms) + " terms as " + with_commas(fingerprints_.rows) + " rows in " +
                 with_commas(fingerprints_.shards) + " shards, " + runtime::in_bytes(fingerprints_.shard_bytes) + "; " +
                 fingerprints_.backend + "\n");
  if (fingerprints_.taken > 0) {
    context_.print(with_commas(fingerprints_.taken) + " of " + with_commas(fingerprints_.levels.back().orbits) +
                   " nodes of the last level are those of the run before\n");
  }
  context_.print("\n");
  context_.report["taken"] = fingerprints_.taken;
  context_.report["terms"] = fingerprints_.terms;
  context_.report["rows"] = fingerprints_.rows;
  context_.report["shards"] = fingerprints_.shards;
  context_.report["shard_bytes"] = fingerprints_.shard_bytes;
  context_.report["backend"] = fingerprints_.backend;
  for (const auto& [step, seconds] : fingerprints_.steps) context_.report["fingerprint_steps"][step] = seconds;
  for (const auto& [what, count] : fingerprints_.device) context_.report["device"][what] = count;

  std::uint64_t nodes = 0, graphs = 0;
  for (const auto& level : fingerprints_.levels) nodes += level.nodes;
  for (const std::uint64_t covered : fingerprints_.graphs) graphs += covered;
  funnel_ = {{"graphs", graphs},
             {"nodes", nodes},
             {"terms", fingerprints_.terms},
             {"terms up to renaming", fingerprints_.rows}};
}

void Discovery::join() {
  const dedup::JoinOptions options{
      options_.threads, options_.all_terms, options_.every_renaming, options_.memory, 0, options_.checkpoint_rows};
  joined_ = dedup::join(profile_, library_, out_, fingerprints_, context_.world, options);
  note_stage("join", joined_.seconds, joined_.already_done);
  std::uint64_t values = 0;
  Json by_level = Json::array();
  for (const std::uint64_t fresh : joined_.new_values) {
    values += fresh;
    by_level.push_back(fresh);
  }
  context_.report["new_values"] = by_level;
  for (const auto& [step, seconds] : joined_.steps) context_.report["join_steps"][step] = seconds;
  context_.report["expected_false"] = joined_.expected_false;
  const dedup::Funnel& f = joined_.funnel;
  for (const auto& [name, count] :
       std::vector<std::pair<std::string, std::uint64_t>>{{"distinct values", values},
                                                          {"classes with an equality", f.classes},
                                                          {"pairs", f.pairs},
                                                          {"not renamings of each other", f.renamed},
                                                          {"one of all shapes", f.shapes},
                                                          {"generalized", f.generalized},
                                                          {"pairs with several outputs", f.multi_pairs},
                                                          {"generalized, several outputs", f.multi_generalized},
                                                          {"candidates", f.candidates}}) {
    funnel_.emplace_back(name, count);
  }
}

void Discovery::unite() {
  const runtime::Stopwatch watch;
  std::uint64_t candidates = 0;
  on_first_rank(context_.world, [&] { candidates = dedup::unite(folders_, out_, library_); });
  note_stage(dedup::unite_stage, watch.seconds(), false);
  funnel_.emplace_back("candidates of all profiles, each once", candidates);
}

std::string Discovery::candidates_digest() const {
  std::string digest;
  on_first_rank(context_.world, [&] {
    const runtime::Manifest manifest(out_);
    const runtime::ManifestEntry* candidates = manifest.find(dedup::candidates_file);
    if (candidates == nullptr) throw runtime::InputError(out_.string(), "manifest.json lists no candidates.rules");
    runtime::Hasher hasher;
    hasher.add_text(candidates->checksum);
    hasher.add_text(enumerate::digest_of(definitions_));
    digest = runtime::to_hex(hasher.digest128());
  });
  context_.world.broadcast(digest);
  return digest;
}

prove::FarmOptions Discovery::farm_options() const {
  prove::FarmOptions options;
  options.progress = context_.progress;
  options.helper = worker_options(context_.options, options_.proofs);
  options.helper.helpers = runtime::Workers(options_.threads).threads();
  options.helper.worker.prover.seed = profile_.seed;
  options.helper.idle = helpers_;
  return options;
}

void Discovery::prove() {
  const prove::FarmSummary summary = prove::prove_candidates(out_, dedup::candidates_file, candidates_digest(),
                                                             library_, context_.world, farm_options());
  note_stage(prove::prove_stage, summary.seconds, summary.already_done);
  show_crew(prove::prove_stage, summary.ranks);
  for (const auto& [name, count] : summary.outcomes) funnel_.emplace_back(name, count);
  context_.report["queries"] = summary.queries;
  if (options_.cross_check) cross_check();
}

void Discovery::cross_check() {
  prove::Crew crew(context_.world, library_, farm_options().helper, "cross-check");
  prove::CrossReport report;
  crew.work([&] {
    std::vector<std::string> derived;
    for (const prove::Outcome& outcome : prove::read_outcomes(out_))
      if (outcome.kind == prove::Outcome::Kind::Derived) derived.push_back(outcome.rule);
    report = prove::cross_check(derived, crew);
  });
  show_cross_check(context_, report, crew.figures());
}

void Discovery::prune() {
  algebra::Provenance provenance;
  provenance.profile_name = profile_.name;
  provenance.profile_digest = profile_.digest;
  provenance.seeds = {profile_.seed};
  provenance.build = RULEMILL_VERSION;
  provenance.solver = "z3 " + prove::Solver::version();
  provenance.max_operators = profile_.max_ops;
  const prove::PruneSummary summary =
      prove::prune_rules(out_, candidates_digest(), library_, provenance, funnel_, context_.world, farm_options());
  note_stage(prove::prune_stage, summary.seconds, summary.already_done);
  show_crew(prove::prune_stage, summary.ranks);
  prove::append_counts(summary, funnel_);
}

void Discovery::show_crew(const char* stage, const std::vector<prove::RankFigures>& ranks) {
  const std::string table = crew_table(ranks);
  if (table.empty()) return;
  runtime::log_event("crew", {{"stage", stage}, {"report", crew_report(ranks)}});
  context_.print(table + crew_averages(ranks) + "\n");
  context_.report["crews"][stage] = crew_report(ranks);
}

void Discovery::show_memory() {
  const std::uint64_t own = runtime::peak_memory_bytes();
  const std::uint64_t largest = context_.world.max(own);
  const std::uint64_t together = context_.world.sum(own);
  context_.print("\npeak memory " + runtime::in_bytes(largest) + " a rank" +
                 (context_.world.size() > 1 ? ", " + runtime::in_bytes(together) + " together" : "") + "\n");
  context_.report["peak_memory_bytes"] = largest;
  context_.report["peak_memory_bytes_together"] = together;
}

void Discovery::conclude() {
  TextTable stages({"stage", "time"});
  double total = 0;
  for (const StageTime& stage : times_) {
    stages.add({stage.name, stage.already_done ? "already done" : runtime::in_seconds(stage.seconds)});
    total += stage.already_done ? 0 : stage.seconds;
  }
  stages.add({"all", runtime::in_seconds(total)});
  context_.print("\n" + stages.text());
  context_.report["seconds"] = total;
  show_memory();

  TextTable funnel({"funnel", "count"});
  Json counts = Json::object();
  for (const auto& [name, count] : funnel_) {
    funnel.add({name, with_commas(count)});
    counts[name] = count;
  }
  context_.print("\n" + funnel.text());
  context_.report["funnel"] = counts;
  on_first_rank(context_.world, [&] {
    runtime::write_json(out_ / "funnel.json",
                        {{"profile", profile_.name}, {"max_ops", profile_.max_ops}, {"funnel", counts}});
  });
}

}  // namespace rulemill::cli
