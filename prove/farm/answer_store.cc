#include "prove/farm/answer_store.h"

#include <algorithm>
#include <cctype>

#include "prove/certificate/certificate.h"
#include "prove/certificate/instance_text.h"
#include "prove/farm/outcome.h"
#include "prove/solver/solver.h"
#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/program_digest.h"

namespace rulemill::prove {
namespace {

constexpr int store_version = 5;
constexpr std::string_view opening = "rule ";

/// The name of a rule in text form, which is its number among the candidates; empty if it has none.
std::string_view name_of(std::string_view rule) {
  if (!rule.starts_with(opening)) return {};
  rule.remove_prefix(opening.size());
  return rule.substr(0, rule.find('('));
}

/// The rule with another name.
std::string renamed(const std::string& rule, std::string_view name) {
  const std::string_view old = name_of(rule);
  return old.empty() ? rule : std::string(opening) + std::string(name) + rule.substr(opening.size() + old.size());
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Calls visit(word) for each, in order, until it says that this is enough.
template <class Visit>
bool any_word(std::string_view text, const Visit& visit) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t begin = at;
    while (at < text.size() && is_word(text[at])) ++at;
    if (at > begin && visit(text.substr(begin, at - begin))) return true;
  }
  return false;
}

bool has_word(std::string_view text, std::string_view word) {
  return any_word(text, [&](std::string_view each) { return each == word; });
}

bool is_proof(TaskKind kind) {
  return kind == TaskKind::Prove || kind == TaskKind::ProveRule || kind == TaskKind::Generalize;
}

/// Whether answers list instances of other rules.
bool explains(TaskKind kind) { return kind == TaskKind::Explain || kind == TaskKind::Eliminate; }

bool is_outcome(TaskKind kind) { return is_proof(kind) || kind == TaskKind::Derive || explains(kind); }

/// Whether items are numbers of known rules.
bool asks_by_number(TaskKind kind) {
  return kind == TaskKind::Eliminate || (!is_outcome(kind) && kind != TaskKind::Implied && kind != TaskKind::Certify);
}

/// Whether another run would say the same, whatever the candidates' numbers.
bool is_kept(TaskKind kind, const Outcome& outcome, std::string_view name) {
  const bool proof = is_proof(kind);
  if (proof && outcome.kind != Outcome::Kind::Proved && outcome.kind != Outcome::Kind::Refuted) return false;
  return !has_word(outcome.detail, name) && !(proof && has_word(outcome.certificate, name));
}

/// A certificate with other names for the rules whose instances it lists.
std::string renamed_certificate(const std::string& text, const std::map<std::string, std::string>& names) {
  CertificateText certificate = parse_certificate(text, answers_file);
  for (std::string& use : certificate.uses) use = with_rule_renamed(use, names);
  return to_string(certificate);
}

runtime::Hash128 hash_of(TaskKind kind, const std::string& item) {
  return runtime::hash128(runtime::bytes_of(item), static_cast<std::uint64_t>(kind));
}

std::string_view key_text(const runtime::Hash128& key) {
  return runtime::text_of(runtime::bytes_of(std::span(&key, 1)));
}

/// The names of the rules that a request for a certificate uses, in the order of their use.
std::vector<std::string> rules_of(const std::vector<std::string>& uses) {
  std::vector<std::string> names;
  for (const std::string& use : uses) {
    std::string name = rule_of(use);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

AnswerStore::AnswerStore(const std::filesystem::path& folder, algebra::Library& library, std::uint64_t seed)
    : library_(library),
      origin_(runtime::program_digest() + " " + Solver::version() + " " + std::to_string(seed)),
      journal_(runtime::Journal::of_folder(folder, answers_file, "answers " + std::to_string(store_version),
                                           runtime::Journal::Payloads::InFile)),
      reach_(library) {
  for (const runtime::Journal::Record& record : journal_.records()) {
    for (const auto& key : runtime::values_of<runtime::Hash128>(runtime::bytes_of(record.key)))
      known_[key] = record.place;
  }
}

AnswerStore::Names::Names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string number = "#" + std::to_string(to_numbers.size());
    if (to_numbers.emplace(name, number).second) from_numbers.emplace(number, name);
  }
}

std::shared_ptr<const AnswerStore::Names> AnswerStore::names_of(const std::vector<std::uint32_t>& rules) {
  // Goals of the same instances follow each other, and are asked with the same rules in reach.
  if (last_names_ == nullptr || last_rules_ != rules) {
    std::vector<std::string> list;
    for (const std::uint32_t rule : rules) list.emplace_back(name_of(reach_.text(rule)));
    last_names_ = std::make_shared<const Names>(list);
    last_rules_ = rules;
  }
  return last_names_;
}

void AnswerStore::change(const std::vector<std::string>& changes) {
  unanswered_.clear();
  for (const std::string& change : changes) {
    reach_.change(change);
    if (reach_.size() == rule_hashes_.size()) continue;
    const std::string& rule = reach_.text(reach_.size() - 1);
    runtime::Hasher hasher;
    hasher.add_text(renamed(rule, ""));
    add_definitions(rule, hasher);
    rule_hashes_.push_back(hasher.digest128());
  }
}

const std::string& AnswerStore::digest_of(std::string_view word) {
  const auto found = digests_.find(word);
  if (found != digests_.end()) return found->second;
  const std::string name(word);
  return digests_[name] = library_.has_operator(name) ? library_.digest(name) : std::string();
}

/// Each definition once, in the order of their first use.
void AnswerStore::add_definitions(const std::string& text, runtime::Hasher& hasher) {
  std::vector<const std::string*> added;
  any_word(text, [&](std::string_view word) {
    const std::string& digest = digest_of(word);
    if (!digest.empty() && std::ranges::find(added, &digest) == added.end()) {
      added.push_back(&digest);
      hasher.add_text(digest);
    }
    return false;
  });
}

void AnswerStore::add_reach(TaskKind kind, const std::string& item, runtime::Hasher& hasher, Question& question) {
  std::uint32_t first_out = 0, end_out = 0;
  Reach::Instances goal;
  if (asks_by_number(kind)) {
    const KnownRule known = known_rule_from_text(item);
    first_out = known.number;
    const bool earlier = kind == TaskKind::Settle || kind == TaskKind::Admit;
    end_out = earlier ? reach_.size() : known.end();
    goal = reach_.instances_of(first_out);
  } else {
    goal = reach_.instances_of(item);
  }
  const std::vector<std::uint32_t> rules = reach_.rules_for(goal, first_out, end_out);
  for (const std::uint32_t rule : rules) {
    hasher.add_number(rule_hashes_[rule].high);
    hasher.add_number(rule_hashes_[rule].low);
  }
  if (explains(kind)) question.names = names_of(rules);
}

/// The rule that an item is or names; a request for a certificate as it is.
const std::string& AnswerStore::text_of(TaskKind kind, const std::string& item) const {
  return asks_by_number(kind) ? reach_.text(known_rule_from_text(item).number) : item;
}

/// A request for a certificate with its rules' names aside.
void AnswerStore::add_request(const std::string& item, runtime::Hasher& hasher, Question& question) {
  const runtime::Json request = runtime::Json::parse(item);
  hasher.add_text(request.at("statement").get<std::string>());
  hasher.add_number(request.at("derived").get<bool>() ? 1 : 0);
  const auto uses = request.at("uses").get<std::vector<std::string>>();
  const std::vector<std::string> names = rules_of(uses);
  if (!names.empty()) question.names = std::make_shared<const Names>(names);
  for (const std::string& use : uses) hasher.add_text(with_rule_renamed(use, question.names->to_numbers));
  for (const std::string& name : names) hasher.add_text(request.at("cited").value(name, std::string()));
}

AnswerStore::Question AnswerStore::question(TaskKind kind, const std::string& item) {
  Question question;
  runtime::Hasher hasher;
  hasher.add_text(origin_);
  hasher.add_number(static_cast<std::uint64_t>(kind));
  const std::string& text = text_of(kind, item);
  if (kind == TaskKind::Certify)
    add_request(item, hasher, question);
  else
    hasher.add_text(renamed(text, ""));
  add_definitions(text, hasher);
  if (!is_proof(kind) && kind != TaskKind::Certify) add_reach(kind, item, hasher, question);
  question.key = hasher.digest128();
  return question;
}

std::optional<std::string> AnswerStore::find(TaskKind kind, const std::string& item) {
  Question asked = question(kind, item);
  const auto found = known_.find(asked.key);
  if (found == known_.end()) {
    unanswered_[hash_of(kind, item)] = std::move(asked);
    return std::nullopt;
  }
  const std::string kept = journal_.read(found->second);
  if (kind == TaskKind::Certify) return asked.names ? renamed_certificate(kept, asked.names->from_numbers) : kept;
  if (!is_outcome(kind)) return kept;
  Outcome outcome = outcome_from_text(kept);
  const std::string_view name = name_of(text_of(kind, item));
  if (!outcome.candidate.empty()) outcome.candidate = name;
  outcome.rule = renamed(outcome.rule, name);
  if (asked.names) outcome.certificate = with_rules_renamed(outcome.certificate, asked.names->from_numbers);
  return to_text(outcome);
}

void AnswerStore::add(TaskKind kind, const std::string& item, const std::string& answer) {
  const auto before = unanswered_.find(hash_of(kind, item));
  const Question asked = before == unanswered_.end() ? question(kind, item) : std::move(before->second);
  if (before != unanswered_.end()) unanswered_.erase(before);
  std::string kept = answer;
  if (kind == TaskKind::Certify && asked.names) kept = renamed_certificate(answer, asked.names->to_numbers);
  if (is_outcome(kind)) {
    Outcome outcome = outcome_from_text(answer);
    if (!is_kept(kind, outcome, name_of(text_of(kind, item)))) return;
    if (asked.names && !outcome.certificate.empty()) {
      outcome.certificate = with_rules_renamed(outcome.certificate, asked.names->to_numbers);
      kept = to_text(outcome);
    }
  }
  const auto [place, fresh] = known_.try_emplace(asked.key);
  if (fresh) place->second = journal_.append(key_text(asked.key), kept);
}

/// Items in their order, until one has no answer. One that is eliminated is out of reach of those after it.
void AnswerStore::each_in_turn(const Task& task, const std::function<std::optional<std::string>(std::size_t)>& answer) {
  std::vector<std::uint32_t> gone;
  for (std::size_t i = 0; i < task.items.size(); ++i) {
    const std::optional<std::string> answered = answer(i);
    if (!answered) break;
    if (outcome_from_text(*answered).kind != Outcome::Kind::Derived) continue;
    const KnownRule known = known_rule_from_text(task.items[i]);
    for (std::uint32_t rule = known.number; rule < known.end(); ++rule) {
      gone.push_back(rule);
      reach_.enable(rule, false);
    }
  }
  for (const std::uint32_t rule : gone) reach_.enable(rule, true);
}

std::vector<std::optional<std::string>> AnswerStore::find(const Task& task) {
  std::vector<std::optional<std::string>> answers(task.items.size());
  const auto known = [&](std::size_t i) { return answers[i] = find(task.kind, task.items[i]); };
  if (task.kind != TaskKind::Eliminate) {
    for (std::size_t i = 0; i < answers.size(); ++i) known(i);
    return answers;
  }
  each_in_turn(task, known);
  if (std::ranges::any_of(answers, [](const auto& answer) { return !answer; })) answers.assign(answers.size(), {});
  return answers;
}

void AnswerStore::add(const Task& task, const std::vector<std::string>& answers) {
  const auto keep = [&](std::size_t i) -> std::optional<std::string> {
    add(task.kind, task.items[i], answers[i]);
    return answers[i];
  };
  // What one of these is asked of depends on the answers before it.
  if (task.kind == TaskKind::Eliminate) {
    unanswered_.clear();
    each_in_turn(task, keep);
    unanswered_.clear();
    return;
  }
  for (std::size_t i = 0; i < answers.size(); ++i) keep(i);
}

}  // namespace rulemill::prove
