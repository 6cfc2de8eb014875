#include "prove/core/minimal_core.h"

#include <algorithm>
#include <utility>

#include "prove/certificate/certificate.h"
#include "prove/certificate/derivation_composer.h"
#include "prove/certificate/rule_instance_text.h"

namespace rulemill::prove {
namespace {

constexpr std::size_t eliminations_per_batch = 256;
constexpr int max_eliminations = 2;  // of one rule

// Answers to items of failed tasks.
std::string limit_reached(const std::string&) { return std::string(implied_limit); }
std::string unknown_result(const std::string&) { return pack(CandidateResult{}); }
std::string no_derivation(const std::string&) { return {}; }

/// Returns the name of a rule in text form.
std::string name_of(const std::string& rule) {
  const std::size_t begin = rule.find(' ') + 1;
  return rule.substr(begin, rule.find('(') - begin);
}

/// Returns whether a rule instance is of one of the rules.
bool uses_any(const std::string& rule_instances, const std::set<std::string>& rules) {
  return std::ranges::any_of(rule_names_in(rule_instances), [&](const auto& name) { return rules.contains(name); });
}

}  // namespace

MinimalCore::MinimalCore(std::vector<CandidateResult> results, TaskScheduler& scheduler, algebra::Library& library,
                         std::function<std::string(const CandidateResult&)> statement_of,
                         SpecializationsByRule specializations)
    : scheduler_(scheduler),
      library_(library),
      statement_of_(std::move(statement_of)),
      rules_(std::move(results)),
      specializations_(std::move(specializations)) {
  std::erase_if(rules_, [](const CandidateResult& result) {
    return result.status != RuleStatus::Proved && result.status != RuleStatus::Derived;
  });
  // A letter and a number: in the order of the numbers.
  const auto number_of = [](const CandidateResult& result) {
    return std::pair(result.candidate.size(), std::string_view(result.candidate));
  };
  std::ranges::stable_sort(rules_, {}, number_of);
  known_.resize(rules_.size());
  eliminations_.resize(rules_.size());
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    owners_.emplace(rules_[i].candidate, i);
    for (const std::string& text : specializations_of(i)) owners_.emplace(name_of(text), i);
  }
}

/// Derivations have limits, so a smaller core may not imply what a larger one did. Therefore the derivation of an
/// eliminated rule is kept, and derived rules in it are replaced by their own derivations. If that is impossible and
/// the core does not imply the rule, the rule joins the core, and the core is minimized again. This terminates because
/// a rule is eliminated at most twice.
void MinimalCore::find() {
  activate(active_core());
  Positions open = with_status(RuleStatus::Derived);  // rules that need a derivation from the current core
  bool is_first = true;
  while (true) {
    const Positions dependent = depending_on(eliminate_all());
    if (std::exchange(is_first, false)) derive_inactive();
    open.insert(open.end(), dependent.begin(), dependent.end());
    std::ranges::sort(open);
    open.erase(std::unique(open.begin(), open.end()), open.end());
    if (!derive_all(std::exchange(open, {}))) continue;
    open = certify();
    if (open.empty()) break;
  }
  for (const std::size_t rule : with_status(RuleStatus::Derived)) {
    for (const std::string& name : rule_names_in(rules_[rule].certificate)) rules_[owners_.at(name)].inactive = false;
  }
}

/// Derives inactive rules from the minimal core. Derivations from it hit fewer limits than those from the core of the
/// prove stage. With extended limits, 2% more of these rules would be derived, at four times the cost.
void MinimalCore::derive_inactive() {
  Positions inactive = with_status(RuleStatus::Proved);
  std::erase_if(inactive, [&](std::size_t rule) { return !rules_[rule].inactive; });
  derive(TaskKind::Explain, inactive);
  for (const std::size_t rule : inactive) rules_[rule].inactive = rules_[rule].status == RuleStatus::Proved;
}

/// Eliminates implied rules from the core, last ones first, until no rule is implied by the others.
MinimalCore::Positions MinimalCore::eliminate_all() {
  Positions core = active_core();
  Positions eliminated = eliminate(TaskKind::IsImplied, core);
  core = active_core();
  for (Positions more = eliminate(TaskKind::IsImpliedExtended, core); !more.empty();
       more = eliminate(TaskKind::IsImpliedExtended, core))
    eliminated.insert(eliminated.end(), more.begin(), more.end());
  return eliminated;
}

/// Eliminates those of the rules that the rest of the core implies, and returns them. First, all rules are tested
/// against the whole core: a rule that it does not imply is not implied by a smaller core either. `core` becomes the
/// rules that hit a limit, which are tested again, because derivations from a smaller core hit fewer limits.
MinimalCore::Positions MinimalCore::eliminate(TaskKind kind, Positions& core) {
  std::erase_if(core, [&](std::size_t rule) { return eliminations_[rule] == max_eliminations; });
  std::ranges::sort(core, std::greater());
  const std::vector<std::string> answers = scheduler_.answer_items(kind, numbers_of(core), limit_reached);
  Positions implied, undecided, eliminated;
  for (std::size_t i = 0; i < core.size(); ++i) {
    if (answers[i] == implied_yes) implied.push_back(core[i]);
    if (answers[i] == implied_limit) undecided.push_back(core[i]);
  }
  // The rules of a batch are derived independently, each from all others. A derivation that uses an earlier rule of the
  // batch that is eliminated or postponed is postponed, too. So the last rules are eliminated first, as if one by one.
  while (!implied.empty()) {
    const auto end = implied.begin() + static_cast<std::ptrdiff_t>(std::min(eliminations_per_batch, implied.size()));
    const Positions batch(implied.begin(), end);
    implied.erase(implied.begin(), end);
    const std::vector<std::string> results =
        scheduler_.answer_items(TaskKind::Eliminate, numbers_of(batch), unknown_result);
    Positions removed, postponed;
    std::set<std::string> names;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::size_t rule = batch[i];
      const CandidateResult result = unpack_result(results[i]);
      if (uses_any(result.certificate, names)) {
        postponed.push_back(rule);
      } else if (apply_derivation(result, rules_[rule])) {
        removed.push_back(rule);
      } else {
        undecided.push_back(rule);
        continue;
      }
      add_names(rule, names);
    }
    deactivate(removed);
    eliminated.insert(eliminated.end(), removed.begin(), removed.end());
    implied.insert(implied.begin(), postponed.begin(), postponed.end());
  }
  for (const std::size_t rule : eliminated) ++eliminations_[rule];
  eliminated_.insert(eliminated_.end(), eliminated.begin(), eliminated.end());
  core = undecided;
  return eliminated;
}

/// Adds the names of a rule and of its specializations.
void MinimalCore::add_names(std::size_t rule, std::set<std::string>& names) const {
  names.insert(rules_[rule].candidate);
  for (const std::string& text : specializations_of(rule)) names.insert(name_of(text));
}

/// Returns the derived rules among the removed ones, and the derived rules whose derivations use removed rules.
MinimalCore::Positions MinimalCore::depending_on(const Positions& removed) const {
  std::set<std::string> names;
  for (const std::size_t rule : removed) add_names(rule, names);
  Positions dependent;
  for (const std::size_t rule : with_status(RuleStatus::Derived)) {
    if (names.contains(rules_[rule].candidate) || uses_any(rules_[rule].certificate, names)) dependent.push_back(rule);
  }
  return dependent;
}

/// Derives each of the rules from core rules. Rules that cannot be derived join the core, until all others are derived.
/// Returns whether no rule joined the core.
bool MinimalCore::derive_all(Positions rules) {
  bool all_derived = true;
  for (rules = without_derivation(rules); !rules.empty(); rules = without_derivation(rules)) {
    rules = add_to_core(rules);
    all_derived = false;
  }
  return all_derived;
}

/// Derives the rules from the active ones. Returns those that could not be derived.
MinimalCore::Positions MinimalCore::derive(TaskKind kind, const Positions& rules) {
  Positions rest;
  const std::vector<std::string> results = scheduler_.answer_items(kind, texts_of(rules), unknown_result);
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (!apply_derivation(unpack_result(results[i]), rules_[rules[i]])) rest.push_back(rules[i]);
  return rest;
}

/// Derives the rules as far as possible and returns the rest. Small rules are first derived from the core, perhaps as
/// an instance of a single rule; for large rules this is too slow. Other rules with a derivation keep it, composed with
/// those of derived rules. The rest is derived from the core, then also from eliminated rules; then both with extended
/// limits.
MinimalCore::Positions MinimalCore::without_derivation(const Positions& rules) {
  Positions small = rules;
  std::erase_if(small, [&](std::size_t rule) { return must_deactivate(rules_[rule]); });
  derive(TaskKind::Explain, small);
  Positions rest = compose_derivations(rules);
  for (const auto kind : {TaskKind::Explain, TaskKind::ExplainExtended}) {
    rest = derive(kind, rest);
    if (rest.empty() || eliminated_.empty()) continue;
    activate(eliminated_, Activate::RuleOnly);
    derive(kind, rest);
    deactivate(eliminated_);
    rest = compose_derivations(rest);
  }
  return rest;
}

/// Replaces instances of derived rules by their derivations. Returns the rules without a derivation, and those for
/// which this is impossible.
MinimalCore::Positions MinimalCore::compose_derivations(const Positions& rules) {
  const std::map<std::string, std::string> premises = derivations_of_premises(rules);
  const auto premises_of = [&](const CandidateResult& rule) {
    std::set<std::string> names;
    for (std::string& name : rule_names_in(rule.certificate))
      if (premises.contains(name)) names.insert(std::move(name));
    return names;
  };
  Positions composed;
  for (const std::size_t rule : rules) {
    const std::set<std::string> used = premises_of(rules_[rule]);
    if (std::ranges::any_of(used, [&](const std::string& name) { return premises.at(name).empty(); }))
      rules_[rule].certificate.clear();
    else if (!used.empty())
      composed.push_back(rule);
  }
  const auto request = [&](std::size_t item) {
    const CandidateResult& rule = rules_[composed[item]];
    CompositionRequest result{rule.rule, rule.certificate, {}};
    for (const std::string& name : premises_of(rule))
      result.derived.push_back({name, rules_[owners_.at(name)].rule, premises.at(name)});
    return pack(result);
  };
  const auto store = [&](std::size_t item, std::string lines) {
    rules_[composed[item]].certificate = std::move(lines);
  };
  scheduler_.answer_each({TaskKind::Compose, composed.size(), request, store, no_derivation});
  Positions rest;
  for (const std::size_t rule : rules) {
    CandidateResult& result = rules_[rule];
    result.instance_count = static_cast<std::uint64_t>(std::ranges::count(result.certificate, '\n'));
    if (result.certificate.empty()) rest.push_back(rule);
  }
  return rest;
}

/// By name: the rules that derivations of the rules use, directly or not, and that are not core, each with the lines of
/// its derivation from core rules. A rule without such a derivation has none, and neither has a specialization.
std::map<std::string, std::string> MinimalCore::derivations_of_premises(const Positions& rules) {
  DerivationComposer composer(library_);
  std::map<std::string, std::string> derivations;
  const std::function<void(std::size_t)> add_premises = [&](std::size_t rule) {
    for (const std::string& name : rule_names_in(rules_[rule].certificate)) {
      const std::size_t position = owners_.at(name);
      const CandidateResult& premise = rules_[position];
      if (premise.status == RuleStatus::Proved || !derivations.try_emplace(premise.candidate).second) continue;
      composer.mark_uncomposable(premise.candidate);
      for (const std::string& text : specializations_of(position)) {
        composer.mark_uncomposable(name_of(text));
        derivations.try_emplace(name_of(text));
      }
      add_premises(position);
      if (premise.status == RuleStatus::Derived && !premise.certificate.empty())
        derivations[premise.candidate] =
            composer.add(premise.candidate, premise.rule, premise.certificate).value_or("");
    }
  };
  for (const std::size_t rule : rules) add_premises(rule);
  return derivations;
}

/// Proves those of the rules that neither the core nor earlier ones of them imply. They join the core; some become
/// inactive. Returns the rest, with derivations from them.
MinimalCore::Positions MinimalCore::add_to_core(const Positions& rules) {
  activate(rules);
  const std::vector<std::string> results =
      scheduler_.answer_items(TaskKind::DeriveFromEarlier, numbers_of(rules), unknown_result);
  Positions derived, added, unproved, inactive;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const CandidateResult result = unpack_result(results[i]);
    if (apply_derivation(result, rules_[rules[i]])) {
      derived.push_back(rules[i]);
      continue;
    }
    added.push_back(rules[i]);
    if (result.detail != implied_no && must_deactivate(rules_[rules[i]])) inactive.push_back(rules[i]);
  }
  const std::vector<std::string> proofs = scheduler_.answer_items(TaskKind::ProveRule, texts_of(added), unknown_result);
  for (std::size_t i = 0; i < added.size(); ++i) {
    const CandidateResult proof = unpack_result(proofs[i]);
    CandidateResult& rule = rules_[added[i]];
    rule.status = proof.status;
    rule.queries = proof.queries;
    rule.detail = proof.detail;
    rule.certificate.clear();
    if (proof.status != RuleStatus::Proved) unproved.push_back(added[i]);
    std::erase(eliminated_, added[i]);
  }
  deactivate(derived);
  deactivate(unproved);
  for (const std::size_t rule : inactive) rules_[rule].inactive = true;
  deactivate(inactive);
  return derived;
}

/// Makes the missing certificates of core rules. Rules without a checkable proof leave the core. Returns the derived
/// rules that depend on them, which need other derivations.
MinimalCore::Positions MinimalCore::certify() {
  Positions core = with_status(RuleStatus::Proved), removed;
  std::erase_if(core, [&](std::size_t rule) { return !rules_[rule].certificate.empty(); });
  std::vector<std::string> requests;
  for (const std::size_t rule : core)
    requests.push_back(
        certificate_request(statement_of_(rules_[rule]), algebra::Certificate::Kind::Definitions, {}, {}));
  const std::vector<std::string> certificates = scheduler_.answer_items(TaskKind::Certify, requests);
  for (std::size_t i = 0; i < core.size(); ++i) {
    if (has_checkable_proof(certificates[i])) {
      rules_[core[i]].certificate = certificates[i];
      continue;
    }
    removed.push_back(core[i]);
    rules_[core[i]].detail = reason_without_proof(certificates[i]);
  }
  deactivate(removed);
  for (const std::size_t rule : removed) rules_[rule].status = RuleStatus::Unknown;
  const Positions dependent = depending_on(removed);
  for (const std::size_t rule : dependent) {
    rules_[rule].certificate.clear();
    std::erase(eliminated_, rule);
  }
  return dependent;
}

MinimalCore::Positions MinimalCore::with_status(RuleStatus status) const {
  Positions positions;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i].status == status) positions.push_back(i);
  }
  return positions;
}

MinimalCore::Positions MinimalCore::active_core() const {
  Positions positions = with_status(RuleStatus::Proved);
  std::erase_if(positions, [&](std::size_t rule) { return rules_[rule].inactive; });
  return positions;
}

/// Adds rules to those that workers use in derivations, under new numbers. The specializations of a rule get the
/// numbers after the rule's.
void MinimalCore::activate(const Positions& rules, Activate what) {
  std::vector<std::string> updates;
  for (const std::size_t rule : rules) {
    const std::vector<std::string>& specializations = specializations_of(rule);
    const std::size_t following = what == Activate::WithSpecializations ? specializations.size() : 0;
    known_[rule] = {known_rules_, static_cast<std::uint32_t>(following)};
    known_rules_ = known_[rule].end();
    updates.push_back(add_rule_update(rules_[rule].rule));
    for (std::size_t i = 0; i < following; ++i) updates.push_back(add_rule_update(specializations[i]));
  }
  scheduler_.update_rules(updates);
}

void MinimalCore::deactivate(const Positions& rules) {
  std::vector<std::string> updates;
  for (const std::size_t rule : rules) {
    for (std::uint32_t number = known_[rule].number; number < known_[rule].end(); ++number)
      updates.push_back(remove_rule_update(number));
  }
  scheduler_.update_rules(updates);
}

const std::vector<std::string>& MinimalCore::specializations_of(std::size_t rule) const {
  static const std::vector<std::string> none;
  const auto found = specializations_.find(rules_[rule].candidate);
  return found == specializations_.end() ? none : found->second;
}

std::vector<std::string> MinimalCore::numbers_of(const Positions& rules) const {
  std::vector<std::string> numbers;
  for (const std::size_t rule : rules) numbers.push_back(to_text(known_[rule]));
  return numbers;
}

std::vector<std::string> MinimalCore::texts_of(const Positions& rules) const {
  std::vector<std::string> texts;
  for (const std::size_t rule : rules) texts.push_back(rules_[rule].rule);
  return texts;
}

}  // namespace rulemill::prove
