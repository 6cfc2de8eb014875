#include "prove/farm/answer_store.h"

#include <algorithm>
#include <array>

#include "prove/certificate/certificate.h"
#include "prove/certificate/instance_text.h"
#include "prove/farm/outcome.h"
#include "prove/solver/solver.h"
#include "runtime/byte_lists.h"
#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/program_digest.h"

namespace rulemill::prove {
namespace {

constexpr int store_version = 9;
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

/// By character: whether names have it.
constexpr std::array<bool, 256> in_words = [] {
  std::array<bool, 256> table{};
  for (const char* ends : {"az", "AZ", "09", "__"}) {
    for (char c = ends[0]; c <= ends[1]; ++c) table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}();

bool is_word(char c) { return in_words[static_cast<unsigned char>(c)]; }

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
bool explains(TaskKind kind) {
  return kind == TaskKind::Derive || kind == TaskKind::Explain || kind == TaskKind::ExplainHarder ||
         kind == TaskKind::Eliminate || kind == TaskKind::Admit || kind == TaskKind::AdmitLarge;
}

bool is_outcome(TaskKind kind) { return is_proof(kind) || explains(kind); }

/// Whether items are numbers of known rules.
bool asks_by_number(TaskKind kind) {
  return kind == TaskKind::Redundant || kind == TaskKind::Superfluous || kind == TaskKind::Eliminate ||
         kind == TaskKind::Admit || kind == TaskKind::AdmitLarge;
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

/// What is kept of a candidate whose sides are defined alike, by hash of what it is.
runtime::Hash128 alike_key(const runtime::Hash128& own) {
  constexpr std::uint64_t seed = 0x616c696b65;
  return runtime::hash128(runtime::bytes_of(std::span(&own, 1)), seed);
}

std::string pack(const Reach::Nodes& nodes) {
  runtime::Bytes bytes;
  runtime::append_list(bytes, nodes.all);
  for (const auto& [found, built] : nodes.uses) {
    runtime::append_list(bytes, found);
    runtime::append_list(bytes, built);
  }
  return std::string(runtime::text_of(bytes));
}

Reach::Nodes unpack_nodes(std::string_view packed) {
  runtime::ByteView rest = runtime::bytes_of(packed);
  Reach::Nodes nodes{runtime::take_list<std::uint64_t>(rest), {}};
  while (!rest.empty()) {
    Reach::Hashes found = runtime::take_list<std::uint64_t>(rest);
    nodes.uses.emplace_back(std::move(found), runtime::take_list<std::uint64_t>(rest));
  }
  return nodes;
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

void AnswerStore::change(const std::vector<std::string>& changes) {
  unanswered_.clear();
  reached_.clear();
  for (const std::string& change : changes) {
    if (!change.starts_with('+')) {
      reach_.remove(change);
      continue;
    }
    const std::string rule = change.substr(1);
    runtime::Hasher hasher;
    hasher.add_text(origin_);
    hasher.add_text(renamed(rule, ""));
    add_definitions(rule, hasher);
    rule_hashes_.push_back(hasher.digest128());
    reach_.add(rule, nodes(rule_hashes_.back(), [&] { return Reach::nodes_of_rule(rule, library_); }));
  }
}

void AnswerStore::enable(std::uint32_t rule, bool enabled) {
  reached_.clear();
  reach_.enable(rule, enabled);
}

/// As they are kept under the hash of what they are of, or made now.
Reach::Nodes AnswerStore::nodes(const runtime::Hash128& own, const std::function<Reach::Nodes()>& make) {
  constexpr std::uint64_t seed = 0x6e6f646573;  // no answer is kept under such a hash
  const runtime::Hash128 key = runtime::hash128(runtime::bytes_of(std::span(&own, 1)), seed);
  const auto [place, is_new] = known_.try_emplace(key);
  if (is_new) {
    Reach::Nodes made = make();
    place->second = journal_.append(key_text(key), pack(made));
    return made;
  }
  return unpack_nodes(journal_.read(place->second));
}

const std::string& AnswerStore::digest_of(std::string_view word) {
  const auto found = digests_.find(word);
  if (found != digests_.end()) return found->second;
  std::string name(word), digest = library_.has_operator(name) ? library_.digest(name) : std::string();
  return digests_.emplace(std::move(name), std::move(digest)).first->second;
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

AnswerStore::InReach AnswerStore::reached_from(const Reach::Instances& goal, std::uint32_t first_out,
                                               std::uint32_t end_out) {
  InReach result;
  result.rules = reach_.rules_for(goal, first_out, end_out);
  std::vector<runtime::Hash128> hashes;
  for (const std::uint32_t rule : result.rules) hashes.push_back(rule_hashes_[rule]);
  result.hash = runtime::hash128(runtime::bytes_of(hashes));
  return result;
}

void AnswerStore::add_reach(TaskKind kind, const std::string& item, runtime::Hasher& hasher, Question& question) {
  InReach alone;
  InReach* in_reach = &alone;
  if (asks_by_number(kind)) {
    const KnownRule known = known_rule_from_text(item);
    const bool earlier = kind == TaskKind::Admit || kind == TaskKind::AdmitLarge;
    alone = reached_from(reach_.instances_of(known.number), known.number, earlier ? reach_.size() : known.end());
  } else {
    const Reach::Instances goal =
        reach_.instances_of(nodes(question.own, [&] { return Reach::nodes_of_goal(item, library_); }));
    const auto [place, is_new] = reached_.try_emplace(goal);
    if (is_new) place->second = reached_from(goal, 0, 0);
    in_reach = &place->second;
  }
  hasher.add_number(in_reach->hash.high);
  hasher.add_number(in_reach->hash.low);
  if (!explains(kind)) return;
  if (in_reach->names == nullptr) {
    std::vector<std::string> list;
    for (const std::uint32_t rule : in_reach->rules) list.emplace_back(name_of(reach_.text(rule)));
    in_reach->names = std::make_shared<const Names>(list);
  }
  question.names = in_reach->names;
}

/// The rule that an item is or names; a request for a certificate as it is.
const std::string& AnswerStore::text_of(TaskKind kind, const std::string& item) const {
  return asks_by_number(kind) ? reach_.text(known_rule_from_text(item).number) : item;
}

/// A request for a certificate with its rules' names aside.
void AnswerStore::add_request(const std::string& item, runtime::Hasher& hasher, Question& question) {
  const CertificateRequest request = unpack_request(item);
  hasher.add_text(request.statement);
  hasher.add_number(request.derived ? 1 : 0);
  const std::vector<std::string> names = rules_of(request.uses);
  if (!names.empty()) question.names = std::make_shared<const Names>(names);
  for (const std::string& use : request.uses) hasher.add_text(with_rule_renamed(use, question.names->to_numbers));
  std::string texts = request.statement;
  for (const std::string& use : request.uses) texts += use + "\n";
  for (const std::string& name : names) {
    const auto cited = request.cited.find(name);
    hasher.add_text(cited == request.cited.end() ? std::string() : cited->second);
    if (cited != request.cited.end()) texts += cited->second;
  }
  add_definitions(texts, hasher);
}

AnswerStore::Question AnswerStore::question(TaskKind kind, const std::string& item) {
  Question question;
  runtime::Hasher hasher;
  hasher.add_text(origin_);
  hasher.add_number(static_cast<std::uint64_t>(kind));
  if (kind == TaskKind::Certify) {
    add_request(item, hasher, question);
  } else {
    const std::string& text = text_of(kind, item);
    hasher.add_text(renamed(text, ""));
    add_definitions(text, hasher);
    question.own = hasher.digest128();
    if (!is_proof(kind)) add_reach(kind, item, hasher, question);
  }
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
  Outcome outcome = unpack_outcome(kept);
  const std::string_view name = name_of(text_of(kind, item));
  if (!outcome.candidate.empty()) outcome.candidate = name;
  outcome.rule = renamed(outcome.rule, name);
  if (asked.names) outcome.certificate = with_rules_renamed(outcome.certificate, asked.names->from_numbers);
  return pack(outcome);
}

std::string AnswerStore::asked(TaskKind kind, const std::string& item) const {
  const auto question = unanswered_.find(hash_of(kind, item));
  const bool alike =
      kind == TaskKind::Derive && question != unanswered_.end() && known_.contains(alike_key(question->second.own));
  return alike ? std::string(defined_alike) + item : item;
}

void AnswerStore::add(TaskKind kind, const std::string& item, const std::string& answer) {
  if (item.starts_with(defined_alike)) return add(kind, item.substr(defined_alike.size()), answer);
  const auto before = unanswered_.find(hash_of(kind, item));
  const Question asked = before == unanswered_.end() ? question(kind, item) : std::move(before->second);
  if (before != unanswered_.end()) unanswered_.erase(before);
  std::string kept = answer, keys(key_text(asked.key));
  if (kind == TaskKind::Certify && asked.names) kept = renamed_certificate(answer, asked.names->to_numbers);
  if (is_outcome(kind)) {
    Outcome outcome = unpack_outcome(answer);
    if (!is_kept(kind, outcome, name_of(text_of(kind, item)))) return;
    if (asked.names && !outcome.certificate.empty()) {
      outcome.certificate = with_rules_renamed(outcome.certificate, asked.names->to_numbers);
      kept = pack(outcome);
    }
    // What is derived is defined alike whatever it is derived from.
    if (const auto alike = alike_key(asked.own);
        kind == TaskKind::Derive && outcome.kind == Outcome::Kind::Derived && !known_.contains(alike)) {
      known_[alike];
      keys += key_text(alike);
    }
  }
  const auto [place, fresh] = known_.try_emplace(asked.key);
  if (fresh) place->second = journal_.append(keys, kept);
}

/// Items in their order, until one has no answer. One that is eliminated is out of reach of those after it.
void AnswerStore::each_in_turn(const Task& task, const std::function<std::optional<std::string>(std::size_t)>& answer) {
  std::vector<std::uint32_t> gone;
  for (std::size_t i = 0; i < task.items.size(); ++i) {
    const std::optional<std::string> answered = answer(i);
    if (!answered) break;
    if (unpack_outcome(*answered).kind != Outcome::Kind::Derived) continue;
    const KnownRule known = known_rule_from_text(task.items[i]);
    for (std::uint32_t rule = known.number; rule < known.end(); ++rule) {
      gone.push_back(rule);
      enable(rule, false);
    }
  }
  for (const std::uint32_t rule : gone) enable(rule, true);
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
