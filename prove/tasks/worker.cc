#include "prove/tasks/worker.h"

#include <algorithm>

#include "prove/certificate/certificate.h"
#include "prove/certificate/derivation_composer.h"
#include "prove/certificate/record_check.h"
#include "prove/tasks/candidate_result.h"
#include "prove/tasks/definition_proof.h"
#include "runtime/process/machine.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::prove {
namespace {

std::string to_text(Implication implication) {
  switch (implication) {
    case Implication::Yes:
      return std::string(implied_yes);
    case Implication::No:
      return std::string(implied_no);
    case Implication::LimitReached:
      break;
  }
  return std::string(implied_limit);
}

}  // namespace

Worker::Worker(algebra::Library& library, const WorkerOptions& options)
    : library_(library), options_(options), context_(library, options.limits) {}

void Worker::update_rules(const std::string& update) {
  RM_CHECK(update.size() > 1 && (update[0] == '+' || update[0] == '-'), "an update adds or removes a rule");
  if (update[0] == '+') {
    context_.add_rule(update.substr(1));
    enabled_.push_back(true);
    return;
  }
  const auto number = static_cast<std::uint32_t>(std::stoul(update.substr(1)));
  enabled_.at(number) = false;
  context_.enable(number, false);
}

Answer Worker::answer(const Task& task) {
  const runtime::Stopwatch watch;
  statistics_ = {};
  Answer result;
  for (const std::string& item : task.items) {
    const DerivationContext::Session session(context_);
    const double start = runtime::processor_seconds();
    result.items.push_back(answer(task, item));
    const double seconds = runtime::processor_seconds() - start;
    statistics_.processor_seconds += seconds;
    statistics_.longest_seconds = std::max(statistics_.longest_seconds, seconds);
  }
  statistics_.seconds = watch.seconds();
  result.statistics = statistics_;
  return result;
}

/// Calls `derive` with the rule's text while the rule, and for Premises::Earlier all later rules, are disabled.
template <typename Derive>
auto Worker::derive_from(Premises premises, const KnownRule& rule, const Derive& derive) {
  const std::uint32_t end = premises == Premises::Others ? rule.end() : static_cast<std::uint32_t>(enabled_.size());
  for (std::uint32_t other = rule.number; other < end; ++other) context_.enable(other, false);
  auto result = derive(context_.rule_text(rule.number));
  for (std::uint32_t other = rule.number; other < end; ++other) context_.enable(other, enabled_[other]);
  return result;
}

Implication Worker::is_implied(const KnownRule& rule, LimitPolicy policy) {
  return derive_from(Premises::Others, rule,
                     [&](const std::string& text) { return context_.is_implied(text, policy); });
}

CandidateResult Worker::explain(const KnownRule& rule, Premises premises, LimitPolicy policy) {
  return derive_from(premises, rule, [&](const std::string& text) { return context_.explain(text, policy); });
}

std::string Worker::answer(const Task& task, const std::string& item) {
  const runtime::Stopwatch watch;
  const double seconds_before = context_.seconds();
  const auto known = [&] { return known_rule_from_text(item); };
  const auto count_derivation = [&](bool found) {
    const double seconds = context_.seconds() - seconds_before;
    ++statistics_.derivations;
    statistics_.derivation_seconds += seconds;
    if (found) ++statistics_.derivations_found;
    if (found) statistics_.derivations_found_seconds += seconds;
  };
  const auto implication = [&](Implication found) {
    count_derivation(found == Implication::Yes);
    return to_text(found);
  };
  const auto proof = [&](CandidateResult result) {
    result.seconds = watch.seconds();
    statistics_.queries += result.queries;
    if (result.status == RuleStatus::Proved) ++statistics_.proofs;
    if (result.status == RuleStatus::Proved) statistics_.proof_seconds += result.seconds;
    return pack(result);
  };
  const auto derivation = [&](CandidateResult result) {
    result.seconds = watch.seconds();
    count_derivation(result.status == RuleStatus::Derived);
    return pack(result);
  };
  switch (task.kind) {
    case TaskKind::Derive:
      return item.starts_with(same_domain_prefix)
                 ? derivation(context_.derive(item.substr(same_domain_prefix.size()), Domains::Equal))
                 : derivation(context_.derive(item, Domains::Unknown));
    case TaskKind::Explain:
      return derivation(context_.explain(item, LimitPolicy::Default));
    case TaskKind::ExplainExtended:
      return derivation(context_.explain(item, LimitPolicy::Extended));
    case TaskKind::Prove:
      return proof(prove_candidate(item, library_, options_.prover));
    case TaskKind::ProveRule:
      return proof(prove_rule(item, library_, options_.prover));
    case TaskKind::DeriveFromEarlier:
      return derivation(explain(known(), Premises::Earlier, LimitPolicy::Extended));
    case TaskKind::DeriveFromEarlierOnce:
      return derivation(explain(known(), Premises::Earlier, LimitPolicy::Default));
    case TaskKind::IsImplied:
      return implication(is_implied(known(), LimitPolicy::Default));
    case TaskKind::IsImpliedExtended:
      return implication(is_implied(known(), LimitPolicy::Extended));
    case TaskKind::Eliminate:
      return derivation(explain(known(), Premises::Others, LimitPolicy::Extended));
    case TaskKind::IsRuleImplied:
      return implication(context_.is_implied(item, LimitPolicy::Extended));
    case TaskKind::Generalize:
      return proof(generalize_rule(item, library_, options_.prover));
    case TaskKind::Certify:
      return make_certificate(item, library_, options_.prover);
    case TaskKind::CertifyRecord:
      return pack(make_record(item, library_, options_.prover));
    case TaskKind::Compose:
      return compose_derivation(item, library_);
    case TaskKind::Check:
    case TaskKind::CheckAlone:
      return check_stored_record(item, library_, z3_);
  }
  RM_CHECK(false, "a known kind of task");
  return {};
}

}  // namespace rulemill::prove
