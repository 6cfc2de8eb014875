#include "prove/farm/prune.h"

#include <chrono>
#include <map>

#include "prove/certificate/certificate.h"
#include "prove/certificate/instance_text.h"
#include "prove/farm/minimal_core.h"
#include "prove/farm/record.h"
#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/file_check.h"
#include "runtime/journal.h"

namespace rulemill::prove {
namespace {

using Kind = Outcome::Kind;

constexpr int prune_version = 13;
constexpr const char* journal_file = "prune.journal";
constexpr std::size_t certificates_at_once = 8;

PruneSummary summary_of(const runtime::Attributes& figures) {
  const auto count = [&](const char* key) {
    const auto found = figures.find(key);
    const auto* number = found == figures.end() ? nullptr : std::get_if<std::uint64_t>(&found->second);
    if (number == nullptr) throw runtime::InputError("manifest.json", std::string("stage prune has no number ") + key);
    return *number;
  };
  PruneSummary summary;
  summary.core = count("core");
  summary.shortcut = count("shortcut");
  summary.instances_of_core = count("instances_of_core");
  summary.proved = count("proved");
  summary.unfollowed = count("unfollowed");
  summary.apart = count("apart");
  return summary;
}

runtime::Attributes figures_of(const PruneSummary& summary) {
  return {
      {"core", summary.core},     {"shortcut", summary.shortcut},     {"instances_of_core", summary.instances_of_core},
      {"proved", summary.proved}, {"unfollowed", summary.unfollowed}, {"apart", summary.apart}};
}

/// Core rules first, r1, r2, …, then the shortcuts, in the order of their candidates.
algebra::RuleSet database(std::vector<Outcome> core, std::vector<Outcome> shortcuts, algebra::Library& library,
                          algebra::TermBank& bank, algebra::Symbols& symbols) {
  algebra::RuleSet rules;
  std::map<std::string, std::string> names;
  for (const Outcome& outcome : core) names[outcome.candidate] = "r" + std::to_string(names.size() + 1);
  for (const Outcome& outcome : core)
    rules.rules.push_back(record_of(outcome, names.at(outcome.candidate), library, bank, symbols));
  for (Outcome& outcome : shortcuts) {
    if (outcome.kind == Outcome::Kind::Derived) outcome.certificate = with_rules_renamed(outcome.certificate, names);
    rules.rules.push_back(record_of(outcome, "r" + std::to_string(rules.rules.size() + 1), library, bank, symbols));
  }
  return rules;
}

}  // namespace

namespace {

/// The database of what is left, with its certificates; fills in the summary.
algebra::RuleSet pruned(const std::vector<Outcome>& outcomes, Crew& crew, const FarmOptions& options,
                        algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols,
                        PruneSummary& summary) {
  MinimalCore minimal(outcomes, crew, options.block, library, [&](const Outcome& outcome) {
    return statement_of(record_of(outcome, outcome.candidate, library, bank, symbols).rule, bank, symbols);
  });
  minimal.find();
  std::vector<Outcome> core, shortcuts;
  for (Outcome& outcome : minimal.rules()) {
    if (outcome.kind == Kind::Proved && outcome.apart) ++summary.apart;
    if (outcome.kind == Kind::Proved)
      core.push_back(std::move(outcome));
    else if (outcome.kind != Kind::Derived)
      ++summary.unfollowed;
    else if (outcome.instances > 1)
      shortcuts.push_back(std::move(outcome));
    else
      ++summary.instances_of_core;
  }
  summary.core = core.size();
  const std::size_t derived = shortcuts.size();
  algebra::RuleSet rules = database(std::move(core), std::move(shortcuts), library, bank, symbols);
  certify_by(rules, library, bank, symbols, [&](const std::vector<std::string>& requests) {
    return crew.run_each(TaskKind::Certify, requests, certificates_at_once);
  });
  summary.shortcut = rules.rules.size() - summary.core;
  summary.unfollowed += derived - summary.shortcut;
  summary.proved = summary.core + summary.shortcut + summary.instances_of_core;
  return rules;
}

}  // namespace

void append_counts(const PruneSummary& summary, std::vector<std::pair<std::string, std::uint64_t>>& funnel) {
  if (summary.unfollowed > 0) funnel.emplace_back("left out: no steps to follow", summary.unfollowed);
  funnel.emplace_back("rules that hold", summary.proved);
  funnel.emplace_back("instances of a core rule", summary.instances_of_core);
  funnel.emplace_back("core", summary.core);
  if (summary.apart > 0) funnel.emplace_back("core, apart: used in no derivation", summary.apart);
  funnel.emplace_back("shortcut", summary.shortcut);
}

PruneSummary prune_rules(const std::filesystem::path& out, const std::string& inputs_digest, algebra::Library& library,
                         const algebra::Provenance& provenance,
                         std::vector<std::pair<std::string, std::uint64_t>> funnel,
                         const runtime::Communicator& communicator, const FarmOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  PruneSummary summary;
  Crew crew(communicator, library, options.helper, prune_stage);
  crew.work([&] {
    runtime::Manifest manifest(out);
    if (manifest.figures(prove_stage).empty())
      throw runtime::InputError(out.string(), "the prove stage is not finished in this folder");
    const std::string digest =
        inputs_digest + "-" + manifest.inputs_digest(prove_stage) + "-prune" + std::to_string(prune_version);
    const auto self = runtime::Communicator::self();
    if (manifest.finished(prune_stage, digest) && is_final(manifest.figures(prune_stage)) &&
        runtime::damaged_files(out, &manifest, prune_stage, self).empty()) {
      summary = summary_of(manifest.figures(prune_stage));
      summary.already_done = true;
      std::filesystem::remove(out / journal_file);  // of a run that was ended right after it had finished
      return;
    }
    manifest.begin(prune_stage, digest);
    runtime::Journal journal = runtime::Journal::of_folder(out, journal_file, digest);
    crew.remember(journal);
    AnswerStore store(out, library, options.helper.worker.prover.seed);
    crew.keep(store);
    crew.show(options.progress);
    algebra::TermBank bank(library);
    algebra::Symbols symbols;
    algebra::RuleSet rules = pruned(read_outcomes(out), crew, options, library, bank, symbols, summary);
    rules.provenance = provenance;
    rules.provenance.solver = Solver::version();
    append_counts(summary, funnel);
    rules.funnel = std::move(funnel);
    const std::string bytes = algebra::serialize(rules, bank, symbols);
    runtime::write_file(out / rules_file, bytes);
    manifest.add(runtime::entry_of(rules_file, prune_stage, runtime::bytes_of(bytes)));
    runtime::Attributes figures = figures_of(summary);
    figures.insert_or_assign(not_final, crew.failures());
    manifest.finish(prune_stage, figures);
    std::filesystem::remove(out / journal_file);
  });
  summary.ranks = crew.figures();
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

}  // namespace rulemill::prove
