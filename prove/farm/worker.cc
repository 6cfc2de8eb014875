#include "prove/farm/worker.h"

#include <chrono>

#include "prove/certificate/certificate.h"
#include "prove/farm/definition_proof.h"
#include "runtime/error.h"

namespace rulemill::prove {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::string in_words(Implied implied) {
  switch (implied) {
    case Implied::Yes:
      return std::string(implied_yes);
    case Implied::No:
      return std::string(implied_no);
    case Implied::Limit:
      break;
  }
  return std::string(implied_limit);
}

}  // namespace

Worker::Worker(algebra::Library& library, const WorkerOptions& options)
    : library_(library), options_(options), bench_(library, options.limits) {}

void Worker::change(const std::string& change) {
  RM_CHECK(change.size() > 1 && (change[0] == '+' || change[0] == '-'), "a change adds or removes a rule");
  if (change[0] == '+') {
    bench_.add_rule(change.substr(1));
    enabled_.push_back(true);
    return;
  }
  const auto number = static_cast<std::uint32_t>(std::stoul(change.substr(1)));
  enabled_.at(number) = false;
  bench_.enable(number, false);
}

Answer Worker::answer(const Task& task) {
  const Clock::time_point begin = Clock::now();
  effort_ = {};
  Answer result;
  for (const std::string& item : task.items) {
    const Workbench::Session session(bench_);
    result.items.push_back(answer(task, item));
  }
  for (std::uint32_t i = 0; i < enabled_.size(); ++i) bench_.enable(i, enabled_[i]);
  effort_.seconds = seconds_since(begin);
  result.effort = effort_;
  return result;
}

template <typename Ask>
auto Worker::asked_of(Others others, const KnownRule& rule, const Ask& ask) {
  const std::uint32_t end = others == Others::All ? rule.end() : static_cast<std::uint32_t>(enabled_.size());
  for (std::uint32_t other = rule.number; other < end; ++other) bench_.enable(other, false);
  auto answer = ask(bench_.rule_text(rule.number));
  for (std::uint32_t other = rule.number; other < end; ++other) bench_.enable(other, enabled_[other]);
  return answer;
}

std::string Worker::answer(const Task& task, const std::string& item) {
  const Clock::time_point begin = Clock::now();
  const double deriving = bench_.seconds();
  const auto known = [&] { return known_rule_from_text(item); };
  const auto whether_implied = [&](Workbench::Try how) {
    return [this, how](const std::string& rule) { return bench_.implied(rule, how); };
  };
  const auto explained = [&](Workbench::Try how) {
    return [this, how](const std::string& rule) { return bench_.explain(rule, how); };
  };
  const auto note_derivation = [&](bool found) {
    const double seconds = bench_.seconds() - deriving;
    ++effort_.derivations;
    effort_.derivation_seconds += seconds;
    if (found) ++effort_.derived;
    if (found) effort_.derived_seconds += seconds;
  };
  const auto note_implied = [&](Implied implied) {
    note_derivation(implied == Implied::Yes);
    return in_words(implied);
  };
  const auto note_outcome = [&](Outcome outcome, bool proof) {
    outcome.seconds = seconds_since(begin);
    effort_.queries += outcome.queries;
    if (!proof) note_derivation(outcome.kind == Outcome::Kind::Derived);
    if (outcome.kind == Outcome::Kind::Proved) ++effort_.proofs;
    if (outcome.kind == Outcome::Kind::Proved) effort_.proof_seconds += outcome.seconds;
    return pack(outcome);
  };
  switch (task.kind) {
    case TaskKind::Derive:
      return item.starts_with(defined_alike)
                 ? note_outcome(bench_.derive(item.substr(defined_alike.size()), Workbench::Domains::Alike), false)
                 : note_outcome(bench_.derive(item, Workbench::Domains::Unknown), false);
    case TaskKind::Explain:
      return note_outcome(bench_.explain(item, Workbench::Try::Once), false);
    case TaskKind::ExplainHarder:
      return note_outcome(bench_.explain(item, Workbench::Try::Harder), false);
    case TaskKind::Prove:
      return note_outcome(prove_candidate(item, library_, options_.prover), true);
    case TaskKind::ProveRule:
      return note_outcome(prove_rule(item, library_, options_.prover), true);
    case TaskKind::Admit:
      return note_outcome(asked_of(Others::Earlier, known(), explained(Workbench::Try::Harder)), false);
    case TaskKind::AdmitLarge:
      return note_outcome(asked_of(Others::Earlier, known(), explained(Workbench::Try::Once)), false);
    case TaskKind::Redundant:
      return note_implied(asked_of(Others::All, known(), whether_implied(Workbench::Try::Once)));
    case TaskKind::Superfluous:
      return note_implied(asked_of(Others::All, known(), whether_implied(Workbench::Try::Harder)));
    case TaskKind::Eliminate: {
      Outcome outcome = asked_of(Others::All, known(), explained(Workbench::Try::Harder));
      const KnownRule asked = known();
      for (std::uint32_t rule = asked.number; outcome.kind == Outcome::Kind::Derived && rule < asked.end(); ++rule)
        bench_.enable(rule, false);
      return note_outcome(std::move(outcome), false);
    }
    case TaskKind::Implied:
      return note_implied(bench_.implied(item, Workbench::Try::Harder));
    case TaskKind::Generalize:
      return note_outcome(generalize_rule(item, library_, options_.prover), true);
    case TaskKind::Certify:
      return certificate_for(item, library_, options_.prover);
  }
  RM_CHECK(false, "a kind of task");
  return {};
}

}  // namespace rulemill::prove
