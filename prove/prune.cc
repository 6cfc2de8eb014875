#include "prove/prune.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "algebra/text.h"
#include "prove/certificate.h"
#include "runtime/atomic_file.h"
#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/manifest.h"

namespace rulemill::prove {
namespace {

using algebra::Rule;
using algebra::TermId;

constexpr int prune_version = 2;

std::unique_ptr<Workbench> workbench(const std::vector<Outcome>& core, algebra::Library& library, const FarmOptions& options) {
  auto bench = std::make_unique<Workbench>(library, options.prover, options.limits);
  for (const Outcome& rule : core) bench->add_core(rule.rule);
  return bench;
}

/// Takes out of the core, last first, what the rest implies; those go to `derived`.
void minimize(std::vector<Outcome>& core, std::vector<Outcome>& derived, algebra::Library& library, const FarmOptions& options) {
  const auto bench = workbench(core, library, options);
  for (std::size_t i = core.size(); i-- > 0;) {
    bench->enable(static_cast<std::uint32_t>(i), false);
    if (!bench->derives(core[i].rule, false)) {
      bench->enable(static_cast<std::uint32_t>(i), true);
      continue;
    }
    derived.push_back(std::move(core[i]));
    derived.back().kind = Outcome::Kind::Derived;
    core.erase(core.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// Derives each rule from the final core, with its certificate, in blocks spread over the ranks. What the smaller core
/// does not imply within the limits is proved from the definitions and comes back as proved.
void certify(std::vector<Outcome>& derived, const std::vector<Outcome>& core, algebra::Library& library,
             const runtime::Communicator& communicator, const FarmOptions& options) {
  const std::size_t block = options.block;
  runtime::Json mine = runtime::Json::array();
  for (std::size_t b = 0; b * block < derived.size(); ++b) {
    if (b % static_cast<std::size_t>(communicator.size()) != static_cast<std::size_t>(communicator.rank())) continue;
    const auto bench = workbench(core, library, options);
    for (std::size_t i = b * block; i < std::min(derived.size(), (b + 1) * block); ++i) {
      Outcome& outcome = derived[i];
      if (bench->derives(outcome.rule, true, &outcome)) {
        outcome.kind = Outcome::Kind::Derived;
      } else {
        outcome.kind = bench->proves(outcome.rule, outcome) ? Outcome::Kind::Proved : Outcome::Kind::Unknown;
      }
      mine.push_back(runtime::Json::array({i, to_json(outcome)}));
    }
  }
  for (const runtime::Bytes& part : communicator.all_gather(runtime::bytes_of(mine.dump()))) {
    const runtime::Json theirs = runtime::Json::parse(runtime::text_of(part));
    for (const runtime::Json& pair : theirs) derived[pair.at(0).get<std::size_t>()] = outcome_from_json(pair.at(1));
  }
}

bool usable(const std::vector<TermId>& from, const std::vector<TermId>& to, const algebra::TermBank& bank) {
  const std::vector<TermId> known = bank.variables(from);
  const bool covered = std::ranges::all_of(bank.variables(to), [&](TermId variable) { return std::ranges::find(known, variable) != known.end(); });
  return covered && std::ranges::all_of(from, [&](TermId term) { return !bank.term(term).is_variable; });
}

/// The record of one rule, turned round if only the other direction can be applied.
algebra::RuleRecord record(const Outcome& outcome, const std::string& id, algebra::Library& library, algebra::TermBank& bank,
                           algebra::Symbols& symbols) {
  algebra::RuleRecord result;
  Rule rule = algebra::parse_rules(outcome.rule, "rule", library, bank, symbols).at(0);
  rule.id = id;
  const bool forward = usable(rule.source, rule.target, bank), backward = usable(rule.target, rule.source, bank);
  if (!forward && backward) std::swap(rule.source, rule.target);
  result.reversible = forward && backward;
  rule.tier = outcome.kind == Outcome::Kind::Proved ? algebra::Tier::Core : algebra::Tier::Shortcut;
  result.rule = std::move(rule);
  result.certificate.kind = outcome.kind == Outcome::Kind::Proved ? algebra::Certificate::Kind::Definitions : algebra::Certificate::Kind::Derivation;
  result.certificate.text = outcome.certificate;
  result.statistics = {outcome.queries, outcome.instances};
  result.example = outcome.example;
  return result;
}

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
  const auto count = [&](const char* key) { return std::get<std::uint64_t>(figures.at(key)); };
  PruneSummary summary;
  summary.core = count("core");
  summary.shortcut = count("shortcut");
  summary.instances_of_core = count("instances_of_core");
  summary.proved = count("proved");
  return summary;
}

runtime::Attributes figures_of(const PruneSummary& summary) {
  return {{"core", summary.core},
          {"shortcut", summary.shortcut},
          {"instances_of_core", summary.instances_of_core},
          {"proved", summary.proved}};
}

/// Core rules first, r1, r2, …, then the shortcuts, in the order of their candidates.
algebra::RuleSet database(std::vector<Outcome> core, std::vector<Outcome> shortcuts, algebra::Library& library,
                          algebra::TermBank& bank, algebra::Symbols& symbols) {
  algebra::RuleSet rules;
  std::map<std::string, std::string> names;
  for (const Outcome& outcome : core) names[outcome.candidate] = "r" + std::to_string(names.size() + 1);
  for (const Outcome& outcome : core) rules.rules.push_back(record(outcome, names.at(outcome.candidate), library, bank, symbols));
  for (Outcome& outcome : shortcuts) {
    if (outcome.kind == Outcome::Kind::Derived) outcome.certificate = renamed(outcome.certificate, names);
    rules.rules.push_back(record(outcome, "r" + std::to_string(rules.rules.size() + 1), library, bank, symbols));
  }
  return rules;
}

}  // namespace

PruneSummary prune_rules(const std::filesystem::path& out, const std::string& inputs_digest, algebra::Library& library,
                         const algebra::Provenance& provenance, std::vector<std::pair<std::string, std::uint64_t>> funnel,
                         const runtime::Communicator& communicator, const FarmOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  std::optional<runtime::Manifest> manifest;
  std::string state;  // finished: the figures; otherwise the outcomes
  bool done = false;
  if (communicator.is_root()) {
    manifest.emplace(out);
    if (manifest->figures(prove_stage).empty()) throw runtime::InputError(out.string(), "the prove stage is not finished in this folder");
    const std::string digest = inputs_digest + "-" + manifest->inputs_digest(prove_stage) + "-prune" + std::to_string(prune_version);
    done = manifest->finished(prune_stage, digest);
    if (done) {
      manifest->check_files(prune_stage);
    } else {
      manifest->begin(prune_stage, digest);
      manifest->save();
      state = runtime::read_file(out / outcomes_file);
    }
  }
  done = communicator.any(done);
  if (done) {
    PruneSummary summary;
    if (communicator.is_root()) summary = summary_of(manifest->figures(prune_stage));
    summary.already_done = true;
    return summary;
  }
  communicator.broadcast(state);
  std::vector<Outcome> core, derived;
  for (Outcome& outcome : outcomes_from_text(state)) {
    if (outcome.kind == Outcome::Kind::Proved) core.push_back(std::move(outcome));
    else if (outcome.kind == Outcome::Kind::Derived) derived.push_back(std::move(outcome));
  }

  if (communicator.is_root()) minimize(core, derived, library, options);
  std::string text = to_text(core);
  communicator.broadcast(text);
  core = outcomes_from_text(text);
  text = to_text(derived);
  communicator.broadcast(text);
  derived = outcomes_from_text(text);
  certify(derived, core, library, communicator, options);

  PruneSummary summary;
  if (communicator.is_root()) {
    std::vector<Outcome> shortcuts;
    for (Outcome& outcome : derived) {
      if (outcome.kind == Outcome::Kind::Proved) core.push_back(std::move(outcome));
      else if (outcome.kind == Outcome::Kind::Derived && outcome.instances > 1) shortcuts.push_back(std::move(outcome));
      else if (outcome.kind == Outcome::Kind::Derived) ++summary.instances_of_core;
    }
    const auto in_order = [](const Outcome& a, const Outcome& b) {
      return std::stoul(a.candidate.substr(1)) < std::stoul(b.candidate.substr(1));
    };
    std::ranges::sort(core, in_order);
    std::ranges::sort(shortcuts, in_order);
    summary.core = core.size();
    summary.shortcut = shortcuts.size();
    summary.proved = summary.core + summary.shortcut + summary.instances_of_core;
    algebra::TermBank bank(library);
    algebra::Symbols symbols;
    algebra::RuleSet rules = database(std::move(core), std::move(shortcuts), library, bank, symbols);
    rules.provenance = provenance;
    rules.provenance.solver = Solver::version();
    certify(rules, library, bank, symbols, options.prover);
    funnel.emplace_back("proved", summary.proved);
    funnel.emplace_back("core", summary.core);
    funnel.emplace_back("shortcut", summary.shortcut);
    rules.funnel = std::move(funnel);
    const std::string bytes = algebra::serialize(rules, bank, symbols);
    runtime::write_file(out / rules_file, bytes);
    manifest->add({rules_file, prune_stage, bytes.size(), runtime::to_hex(runtime::hash128(runtime::bytes_of(bytes))), {}});
    manifest->finish(prune_stage, figures_of(summary));
  }
  communicator.barrier();
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

}  // namespace rulemill::prove
