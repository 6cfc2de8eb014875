#include "prove/farm/minimal_core.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "prove/certificate/certificate.h"
#include "prove/certificate/composition.h"
#include "prove/certificate/instance_text.h"

namespace rulemill::prove {
namespace {

using Kind = Outcome::Kind;

constexpr std::size_t certificates_at_once = 8;
constexpr std::size_t eliminated_at_once = 256;
constexpr int most_eliminations = 2;  // of one rule

std::string without_answer(const std::string&) { return std::string(implied_limit); }

std::string without_outcome(const std::string&) { return pack(Outcome{}); }

/// Of a rule in text form.
std::string name_of(const std::string& rule) {
  const std::size_t begin = rule.find(' ') + 1;
  return rule.substr(begin, rule.find('(') - begin);
}

/// Whether an instance is of one of the rules.
bool cites(const std::string& instances, const std::set<std::string>& rules) {
  const std::vector<std::string> lines = lines_of(instances);
  return std::ranges::any_of(lines, [&](const std::string& line) { return rules.contains(rule_of(line)); });
}

}  // namespace

MinimalCore::MinimalCore(const std::vector<Outcome>& outcomes, Crew& crew, std::size_t block, algebra::Library& library,
                         std::function<std::string(const Outcome&)> statement_of, InstanceTexts instances)
    : crew_(crew),
      block_(block),
      library_(library),
      statement_of_(std::move(statement_of)),
      instances_(std::move(instances)) {
  for (const Outcome& outcome : outcomes) {
    if (outcome.kind == Kind::Proved || outcome.kind == Kind::Derived) rules_.push_back(outcome);
  }
  const auto number_of = [](const Outcome& outcome) { return std::stoul(outcome.candidate.substr(1)); };
  std::ranges::stable_sort(rules_, {}, number_of);
  known_.resize(rules_.size());
  eliminations_.resize(rules_.size());
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    owners_.emplace(rules_[i].candidate, i);
    for (const std::string& text : instances_of(i)) owners_.emplace(name_of(text), i);
  }
}

/// Derivations are bounded, so that a smaller core may not imply what a larger one did. A rule's derivation from others
/// that are derived is therefore kept, with theirs put in; where that cannot be done, and the core does not imply the
/// rule, it comes into the core, and all are asked again. It ends, since no rule leaves more than twice.
void MinimalCore::find() {
  enter(used());
  Positions open = of_kind(Kind::Derived);
  bool asked_apart = false;
  while (true) {
    const Positions resting = resting_on(eliminate_all());
    if (!std::exchange(asked_apart, true)) derive_apart();
    open.insert(open.end(), resting.begin(), resting.end());
    std::ranges::sort(open);
    open.erase(std::unique(open.begin(), open.end()), open.end());
    if (!explain(std::exchange(open, {}))) continue;
    open = certify();
    if (open.empty()) break;
  }
  for (const std::size_t rule : of_kind(Kind::Derived)) {
    for (const std::string& line : lines_of(rules_[rule].certificate)) rules_[owners_.at(rule_of(line))].apart = false;
  }
}

/// A minimal core reaches further than the one that those apart were asked of. Tried harder, 2% more of them would
/// follow, at four times the cost.
void MinimalCore::derive_apart() {
  Positions apart = of_kind(Kind::Proved);
  std::erase_if(apart, [&](std::size_t rule) { return !rules_[rule].apart; });
  explain_each(TaskKind::Explain, apart);
  for (const std::size_t rule : apart) rules_[rule].apart = rules_[rule].kind == Kind::Proved;
}

/// Takes out of the core, last first, what the rest implies, until nothing more is implied.
MinimalCore::Positions MinimalCore::eliminate_all() {
  Positions core = used();
  Positions gone = eliminate(TaskKind::Redundant, core);
  core = used();
  for (Positions now = eliminate(TaskKind::Superfluous, core); !now.empty();
       now = eliminate(TaskKind::Superfluous, core))
    gone.insert(gone.end(), now.begin(), now.end());
  return gone;
}

/// Takes out of the core which of these the rest implies. What the rest of the whole core does not imply, the rest of a
/// smaller one does not either: that is asked of all at once. Those that a limit decided are left, to be asked again of
/// a smaller core, which reaches further.
MinimalCore::Positions MinimalCore::eliminate(TaskKind asked, Positions& core) {
  std::erase_if(core, [&](std::size_t rule) { return eliminations_[rule] == most_eliminations; });
  std::ranges::sort(core, std::greater());
  const std::vector<std::string> alone = crew_.run_each(asked, numbers_of(core), block_, without_answer);
  Positions implied, undecided, gone;
  for (std::size_t i = 0; i < core.size(); ++i) {
    if (alone[i] == implied_yes) implied.push_back(core[i]);
    if (alone[i] == implied_limit) undecided.push_back(core[i]);
  }
  // Many are asked at once, each of all others. What rests on one that comes before it, which leaves or is asked again,
  // is asked again itself, of those left then: so the last leave first, as if they were asked one by one.
  while (!implied.empty()) {
    const auto end = implied.begin() + static_cast<std::ptrdiff_t>(std::min(eliminated_at_once, implied.size()));
    const Positions asked_now(implied.begin(), end);
    implied.erase(implied.begin(), end);
    const std::vector<std::string> answers =
        crew_.run_each(TaskKind::Eliminate, numbers_of(asked_now), 1, without_outcome);
    Positions leaving, again;
    std::set<std::string> names;
    for (std::size_t i = 0; i < asked_now.size(); ++i) {
      const std::size_t rule = asked_now[i];
      const Outcome answer = unpack_outcome(answers[i]);
      if (cites(answer.certificate, names)) {
        again.push_back(rule);
      } else if (take_derivation(answer, rules_[rule])) {
        leaving.push_back(rule);
      } else {
        undecided.push_back(rule);
        continue;
      }
      add_names(rule, names);
    }
    leave(leaving);
    gone.insert(gone.end(), leaving.begin(), leaving.end());
    implied.insert(implied.begin(), again.begin(), again.end());
  }
  for (const std::size_t rule : gone) ++eliminations_[rule];
  left_.insert(left_.end(), gone.begin(), gone.end());
  core = undecided;
  return gone;
}

/// Its own and those of its instances.
void MinimalCore::add_names(std::size_t rule, std::set<std::string>& names) const {
  names.insert(rules_[rule].candidate);
  for (const std::string& text : instances_of(rule)) names.insert(name_of(text));
}

/// Those that left the core as derived rules, and the derived ones whose instances are of these.
MinimalCore::Positions MinimalCore::resting_on(const Positions& gone) const {
  std::set<std::string> names;
  for (const std::size_t rule : gone) add_names(rule, names);
  Positions open;
  for (const std::size_t rule : of_kind(Kind::Derived)) {
    if (names.contains(rules_[rule].candidate) || cites(rules_[rule].certificate, names)) open.push_back(rule);
  }
  return open;
}

/// Gives each of these the instances of core rules that imply it; those that are left without become core until none
/// is. Whether no rule became core.
bool MinimalCore::explain(Positions open) {
  bool all_derived = true;
  for (open = unexplained(open); !open.empty(); open = unexplained(open)) {
    open = admit(open);
    all_derived = false;
  }
  return all_derived;
}

/// Derives these from what is in use; the rest.
MinimalCore::Positions MinimalCore::explain_each(TaskKind asked, const Positions& positions) {
  Positions rest;
  const std::vector<std::string> explained = crew_.run_each(asked, texts_of(positions), block_, without_outcome);
  for (std::size_t i = 0; i < positions.size(); ++i)
    if (!take_derivation(unpack_outcome(explained[i]), rules_[positions[i]])) rest.push_back(positions[i]);
  return rest;
}

/// Explains what can be; the rest. What the core implies at once, maybe as an instance of one rule, is derived so,
/// large rules aside, which takes long. Others that came with a derivation keep it, with those of derived rules put in;
/// what came with none is asked of the core, of rules that left, too, and of either tried harder.
MinimalCore::Positions MinimalCore::unexplained(const Positions& open) {
  Positions small = open;
  std::erase_if(small, [&](std::size_t rule) { return stays_apart(rules_[rule]); });
  explain_each(TaskKind::Explain, small);
  Positions rest = uncomposed(open);
  for (const auto asked : {TaskKind::Explain, TaskKind::ExplainHarder}) {
    rest = explain_each(asked, rest);
    if (rest.empty() || left_.empty()) continue;
    enter(left_, With::Nothing);
    explain_each(asked, rest);
    leave(left_);
    rest = uncomposed(rest);
  }
  return rest;
}

/// Puts the derivations of derived rules in place of their instances; those for which that cannot be done, and those
/// that have no derivation.
MinimalCore::Positions MinimalCore::uncomposed(const Positions& open) {
  Composition composition(library_);
  std::set<std::size_t> known;
  const std::function<void(std::size_t)> add_cited = [&](std::size_t citing) {
    for (const std::string& line : lines_of(rules_[citing].certificate)) {
      const std::size_t cited = owners_.at(rule_of(line));
      const Outcome& rule = rules_[cited];
      if (rule.kind == Kind::Proved || !known.insert(cited).second) continue;
      composition.refuse(rule.candidate);
      for (const std::string& text : instances_of(cited)) composition.refuse(name_of(text));
      add_cited(cited);
      if (rule.kind == Kind::Derived && !rule.certificate.empty())
        composition.add(rule.candidate, rule.rule, rule.certificate);
    }
  };
  Positions rest;
  for (const std::size_t rule : open) {
    add_cited(rule);
    Outcome& outcome = rules_[rule];
    std::optional<std::string> instances;
    if (!outcome.certificate.empty()) instances = composition.compose(outcome.rule, outcome.certificate);
    outcome.certificate = instances.value_or("");
    outcome.instances = static_cast<std::uint64_t>(std::ranges::count(outcome.certificate, '\n'));
    if (!instances) rest.push_back(rule);
  }
  return rest;
}

/// Proves those that neither the core nor the ones before imply, and makes them core, some of them apart; the rest,
/// with their derivations from these.
MinimalCore::Positions MinimalCore::admit(const Positions& open) {
  enter(open);
  const std::vector<std::string> answers = crew_.run_each(TaskKind::Admit, numbers_of(open), block_, without_outcome);
  Positions rest, admitted, unproved, apart;
  for (std::size_t i = 0; i < open.size(); ++i) {
    const Outcome answer = unpack_outcome(answers[i]);
    if (take_derivation(answer, rules_[open[i]])) {
      rest.push_back(open[i]);
      continue;
    }
    admitted.push_back(open[i]);
    if (answer.detail != implied_no && stays_apart(rules_[open[i]])) apart.push_back(open[i]);
  }
  const std::vector<std::string> proofs = crew_.run_each(TaskKind::ProveRule, texts_of(admitted), 1, without_outcome);
  for (std::size_t i = 0; i < admitted.size(); ++i) {
    const Outcome proof = unpack_outcome(proofs[i]);
    Outcome& rule = rules_[admitted[i]];
    rule.kind = proof.kind;
    rule.queries = proof.queries;
    rule.certificate.clear();
    if (proof.kind != Kind::Proved) unproved.push_back(admitted[i]);
    std::erase(left_, admitted[i]);
  }
  leave(rest);
  leave(unproved);
  for (const std::size_t rule : apart) rules_[rule].apart = true;
  leave(apart);
  return rest;
}

/// Certificates for the core rules that have none yet. Those for which no steps are found that the checker can follow
/// leave the core; the derived rules that rest on them, to be explained by others.
MinimalCore::Positions MinimalCore::certify() {
  Positions core = of_kind(Kind::Proved), without_steps;
  std::erase_if(core, [&](std::size_t rule) { return !rules_[rule].certificate.empty(); });
  std::vector<std::string> requests;
  for (const std::size_t rule : core)
    requests.push_back(
        certificate_request(statement_of_(rules_[rule]), algebra::Certificate::Kind::Definitions, {}, {}));
  const std::vector<std::string> texts = crew_.run_each(TaskKind::Certify, requests, certificates_at_once);
  for (std::size_t i = 0; i < core.size(); ++i) {
    if (is_followed(texts[i]))
      rules_[core[i]].certificate = texts[i];
    else
      without_steps.push_back(core[i]);
  }
  leave(without_steps);
  for (const std::size_t rule : without_steps) rules_[rule].kind = Kind::Unknown;
  const Positions resting = resting_on(without_steps);
  for (const std::size_t rule : resting) {
    rules_[rule].certificate.clear();
    std::erase(left_, rule);
  }
  return resting;
}

MinimalCore::Positions MinimalCore::of_kind(Kind kind) const {
  Positions positions;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i].kind == kind) positions.push_back(i);
  }
  return positions;
}

/// The core without those apart.
MinimalCore::Positions MinimalCore::used() const {
  Positions positions = of_kind(Kind::Proved);
  std::erase_if(positions, [&](std::size_t rule) { return rules_[rule].apart; });
  return positions;
}

/// Workers know these from now on, each under a number of its own, its instances under those that follow.
void MinimalCore::enter(const Positions& positions, With with) {
  std::vector<std::string> changes;
  for (const std::size_t rule : positions) {
    const std::vector<std::string>& instances = instances_of(rule);
    known_[rule] = {told_, with == With::Instances ? static_cast<std::uint32_t>(instances.size()) : 0};
    told_ = known_[rule].end();
    changes.push_back(adding(rules_[rule].rule));
    for (std::uint32_t i = 0; i < known_[rule].more; ++i) changes.push_back(adding(instances[i]));
  }
  crew_.change(changes);
}

void MinimalCore::leave(const Positions& positions) {
  std::vector<std::string> changes;
  for (const std::size_t rule : positions) {
    for (std::uint32_t number = known_[rule].number; number < known_[rule].end(); ++number)
      changes.push_back(removing(number));
  }
  crew_.change(changes);
}

const std::vector<std::string>& MinimalCore::instances_of(std::size_t rule) const {
  static const std::vector<std::string> none;
  const auto found = instances_.find(rules_[rule].candidate);
  return found == instances_.end() ? none : found->second;
}

std::vector<std::string> MinimalCore::numbers_of(const Positions& positions) const {
  std::vector<std::string> numbers;
  for (const std::size_t rule : positions) numbers.push_back(to_text(known_[rule]));
  return numbers;
}

std::vector<std::string> MinimalCore::texts_of(const Positions& positions) const {
  std::vector<std::string> texts;
  for (const std::size_t rule : positions) texts.push_back(rules_[rule].rule);
  return texts;
}

}  // namespace rulemill::prove
