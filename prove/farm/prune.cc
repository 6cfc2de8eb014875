#include "prove/farm/prune.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "prove/certificate/certificate.h"
#include "prove/farm/record.h"
#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/file_check.h"
#include "runtime/journal.h"

namespace rulemill::prove {
namespace {

using Kind = Outcome::Kind;

constexpr int prune_version = 5;
constexpr const char* journal_file = "prune.journal";
constexpr std::size_t certificates_at_once = 8;

/// The pass over the outcomes that leaves a core of which nothing is implied by the rest, run by the first rank.
class Pruning {
 public:
  /// `statement_of`: what a rule's certificate states, as the database will have the rule.
  Pruning(const std::vector<Outcome>& outcomes, Crew& crew, const FarmOptions& options,
          std::function<std::string(const Outcome&)> statement_of)
      : crew_(crew), options_(options), statement_of_(std::move(statement_of)) {
    for (const Outcome& outcome : outcomes) {
      if (outcome.kind == Kind::Proved)
        core_.push_back(outcome);
      else if (outcome.kind == Kind::Derived)
        derived_.push_back(outcome);
    }
  }

  void run() {
    std::vector<std::string> changes;
    for (const Outcome& rule : core_) {
      number_[rule.candidate] = changes.size();
      changes.push_back(adding(rule.rule));
    }
    crew_.change(changes);
    rules_ = core_.size();
    minimize();
    std::vector<std::size_t> open(derived_.size());
    std::iota(open.begin(), open.end(), 0);
    explain(open);
    while (!(open = certify_core()).empty()) explain(open);
  }

  std::vector<Outcome>& core() { return core_; }
  std::vector<Outcome>& derived() { return derived_; }
  /// Rules that were proved by no steps which the checker can follow: they are not shipped.
  std::uint64_t unfollowed() const { return unfollowed_; }

 private:
  /// Takes out of the core, last first, what the rest implies. What the rest of the whole core does not imply, the rest
  /// of a smaller one does not either: that is asked of all at once.
  void minimize() {
    std::vector<std::string> numbers;
    for (std::size_t i = core_.size(); i-- > 0;) numbers.push_back(std::to_string(i));
    const auto failed = [](const std::string&) { return std::string(implied_limit); };
    const std::vector<std::string> alone = crew_.run_each(TaskKind::Redundant, numbers, options_.block, failed);
    std::vector<std::string> doubtful;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (alone[i] == implied_yes) doubtful.push_back(numbers[i]);
    }
    // One after the other, since each is asked of those that are left; in blocks, so that a run that is stopped keeps
    // them.
    for (std::size_t at = 0; at < doubtful.size(); at += options_.block) {
      const auto first = doubtful.begin() + static_cast<std::ptrdiff_t>(at);
      const std::vector<std::string> block(
          first, first + static_cast<std::ptrdiff_t>(std::min<std::size_t>(options_.block, doubtful.size() - at)));
      const std::vector<std::string> gone = crew_.run_each(TaskKind::Eliminate, block, block.size(), failed);
      std::vector<std::string> changes;
      for (std::size_t i = 0; i < block.size(); ++i) {
        if (gone[i] != implied_yes) continue;
        const std::size_t number = std::stoul(block[i]);
        changes.push_back(removing(number));
        derived_.push_back(core_[number]);
        core_[number].candidate.clear();
      }
      crew_.change(changes);
    }
    std::erase_if(core_, [](const Outcome& outcome) { return outcome.candidate.empty(); });
  }

  /// The instances that imply each derived rule. A smaller core may not imply all of them within the limits: of those
  /// that are left, the ones that those before do not imply become core until all are explained.
  void explain(std::vector<std::size_t> open) {
    for (open = unexplained(open); !open.empty(); open = unexplained(open)) open = admit(open);
  }

  std::vector<std::string> rules_of(const std::vector<std::size_t>& positions) const {
    std::vector<std::string> rules;
    for (const std::size_t i : positions) rules.push_back(derived_[i].rule);
    return rules;
  }

  /// Explains what can be; the rest.
  std::vector<std::size_t> unexplained(const std::vector<std::size_t>& open) {
    std::vector<std::size_t> rest;
    const auto failed = [](const std::string&) { return to_text(Outcome{}); };
    const std::vector<std::string> explained =
        crew_.run_each(TaskKind::Explain, rules_of(open), options_.block, failed);
    for (std::size_t i = 0; i < open.size(); ++i) {
      const Outcome outcome = outcome_from_text(explained[i]);
      Outcome& rule = derived_[open[i]];
      rule.kind = outcome.kind;
      rule.instances = outcome.instances;
      rule.certificate = outcome.certificate;
      if (outcome.kind != Kind::Derived) rest.push_back(open[i]);
    }
    std::ranges::sort(rest,
                      [&](std::size_t a, std::size_t b) { return number_of(derived_[a]) < number_of(derived_[b]); });
    return rest;
  }

  /// Proves those that neither the core nor the ones before imply, and makes them core; the rest.
  std::vector<std::size_t> admit(const std::vector<std::size_t>& open) {
    std::vector<std::string> changes, numbers;
    for (const std::size_t i : open) {
      numbers.push_back(std::to_string(rules_ + numbers.size()));
      changes.push_back(adding(derived_[i].rule));
    }
    crew_.change(changes);
    changes.clear();
    const auto not_shown = [](const std::string&) { return std::string(implied_limit); };
    std::vector<std::string> implied = crew_.run_each(TaskKind::Settle, numbers, options_.block, not_shown);
    if (std::ranges::count(implied, implied_yes) == static_cast<std::ptrdiff_t>(open.size())) implied[0] = implied_no;
    std::vector<std::size_t> rest, admitted;
    for (std::size_t i = 0; i < open.size(); ++i) (implied[i] == implied_yes ? rest : admitted).push_back(open[i]);
    const auto failed = [](const std::string&) { return to_text(Outcome{}); };
    const std::vector<std::string> proofs = crew_.run_each(TaskKind::ProveRule, rules_of(admitted), 1, failed);
    for (std::size_t i = 0, next = 0; i < open.size(); ++i) {
      if (implied[i] != implied_yes) {
        const Outcome proof = outcome_from_text(proofs[next++]);
        derived_[open[i]].kind = proof.kind;
        derived_[open[i]].queries = proof.queries;
        if (proof.kind == Kind::Proved) {
          number_[derived_[open[i]].candidate] = rules_ + i;
          continue;
        }
      }
      changes.push_back(removing(rules_ + i));
    }
    crew_.change(changes);
    rules_ += open.size();
    return rest;
  }

  /// Certificates for the core rules that have none yet. Those for which no steps are found that the checker can follow
  /// leave the core; the derived rules that rest on them, to be explained by others.
  std::vector<std::size_t> certify_core() {
    std::vector<Outcome*> rules;
    for (std::vector<Outcome>* list : {&core_, &derived_}) {
      for (Outcome& outcome : *list) {
        if (outcome.kind == Kind::Proved && outcome.certificate.empty()) rules.push_back(&outcome);
      }
    }
    std::vector<std::string> requests;
    for (const Outcome* rule : rules)
      requests.push_back(certificate_request(statement_of_(*rule), algebra::Certificate::Kind::Definitions, {}, {}));
    const std::vector<std::string> texts = crew_.run_each(TaskKind::Certify, requests, certificates_at_once);
    std::set<std::string> left;
    std::vector<std::string> changes;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (is_followed(texts[i])) {
        rules[i]->certificate = texts[i];
        continue;
      }
      rules[i]->kind = Kind::Unknown;
      left.insert(rules[i]->candidate);
      changes.push_back(removing(number_.at(rules[i]->candidate)));
    }
    crew_.change(changes);
    unfollowed_ += left.size();
    std::erase_if(core_, [](const Outcome& outcome) { return outcome.kind == Kind::Unknown; });
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < derived_.size(); ++i) {
      if (derived_[i].kind == Kind::Derived && cites(derived_[i].certificate, left)) open.push_back(i);
    }
    return open;
  }

  /// Whether a line of instances begins with one of the names.
  static bool cites(const std::string& lines, const std::set<std::string>& names) {
    for (std::size_t at = 0; at < lines.size(); at = std::min(lines.find('\n', at), lines.size() - 1) + 1) {
      if (names.contains(lines.substr(at, lines.find(':', at) - at))) return true;
    }
    return false;
  }

  static std::size_t number_of(const Outcome& outcome) { return std::stoul(outcome.candidate.substr(1)); }

  Crew& crew_;
  const FarmOptions& options_;
  std::function<std::string(const Outcome&)> statement_of_;
  std::vector<Outcome> core_, derived_;
  std::size_t rules_ = 0;                      // that workers have been told of
  std::map<std::string, std::size_t> number_;  // by candidate, of those that are or were core
  std::uint64_t unfollowed_ = 0;
};

/// Candidate names in certificates become the names that the rules have in the database.
std::string renamed(const std::string& certificate, const std::map<std::string, std::string>& names) {
  std::string text;
  for (std::size_t at = 0; at < certificate.size();) {
    const std::size_t end = certificate.find('\n', at), colon = certificate.find(':', at);
    text += names.at(certificate.substr(at, colon - at)) + certificate.substr(colon, end + 1 - colon);
    at = end + 1;
  }
  return text;
}

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
  return summary;
}

runtime::Attributes figures_of(const PruneSummary& summary) {
  return {{"core", summary.core},
          {"shortcut", summary.shortcut},
          {"instances_of_core", summary.instances_of_core},
          {"proved", summary.proved},
          {"unfollowed", summary.unfollowed}};
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
    if (outcome.kind == Outcome::Kind::Derived) outcome.certificate = renamed(outcome.certificate, names);
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
  Pruning pruning(outcomes, crew, options, [&](const Outcome& outcome) {
    return statement_of(record_of(outcome, outcome.candidate, library, bank, symbols).rule, bank, symbols);
  });
  pruning.run();
  summary.unfollowed = pruning.unfollowed();
  std::vector<Outcome>& core = pruning.core();
  std::vector<Outcome> shortcuts;
  for (Outcome& outcome : pruning.derived()) {
    if (outcome.kind == Kind::Proved)
      core.push_back(std::move(outcome));
    else if (outcome.kind == Kind::Derived && outcome.instances > 1)
      shortcuts.push_back(std::move(outcome));
    else if (outcome.kind == Kind::Derived)
      ++summary.instances_of_core;
  }
  const auto in_order = [](const Outcome& a, const Outcome& b) {
    return std::stoul(a.candidate.substr(1)) < std::stoul(b.candidate.substr(1));
  };
  std::ranges::sort(core, in_order);
  std::ranges::sort(shortcuts, in_order);
  summary.core = core.size();
  summary.shortcut = shortcuts.size();
  summary.proved = summary.core + summary.shortcut + summary.instances_of_core;
  algebra::RuleSet rules = database(std::move(core), std::move(shortcuts), library, bank, symbols);
  certify(rules, bank, symbols, [&](const std::vector<std::string>& requests) {
    return crew.run_each(TaskKind::Certify, requests, certificates_at_once);
  });
  return rules;
}

}  // namespace

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
    algebra::TermBank bank(library);
    algebra::Symbols symbols;
    algebra::RuleSet rules = pruned(read_outcomes(out), crew, options, library, bank, symbols, summary);
    rules.provenance = provenance;
    rules.provenance.solver = Solver::version();
    if (summary.unfollowed > 0) funnel.emplace_back(left_out, summary.unfollowed);
    funnel.emplace_back("rules that hold", summary.proved);
    funnel.emplace_back("core", summary.core);
    funnel.emplace_back("shortcut", summary.shortcut);
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
