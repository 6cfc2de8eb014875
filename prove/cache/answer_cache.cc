#include "prove/cache/answer_cache.h"

#include <algorithm>

#include "prove/certificate/rule_instance_text.h"
#include "prove/solver/z3_session.h"
#include "prove/tasks/candidate_result.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/byte_lists.h"
#include "runtime/text/error.h"

namespace rulemill::prove {
namespace {

constexpr int cache_version = 12;
constexpr std::string_view rule_prefix = "rule ";
constexpr char stored_prefix = '#';  // of a rule's name in a stored answer

/// Returns the name of a rule in text form, which has its number among the candidates; empty if it has none.
std::string_view name_of(std::string_view rule) {
  if (!rule.starts_with(rule_prefix)) return {};
  rule.remove_prefix(rule_prefix.size());
  return rule.substr(0, rule.find('('));
}

/// Returns the rule with another name.
std::string renamed(const std::string& rule, std::string_view name) {
  const std::string_view old = name_of(rule);
  return old.empty() ? rule
                     : std::string(rule_prefix) + std::string(name) + rule.substr(rule_prefix.size() + old.size());
}

/// By character: whether it occurs in words.
constexpr std::array<bool, 256> word_characters = [] {
  std::array<bool, 256> table{};
  for (const char* ends : {"az", "AZ", "09", "__"}) {
    for (char c = ends[0]; c <= ends[1]; ++c) table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}();

bool is_word_character(char c) { return word_characters[static_cast<unsigned char>(c)]; }

/// Calls visit(word) for each word in order until it returns true. Returns whether it did.
template <class Visit>
bool any_word(std::string_view text, const Visit& visit) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t begin = at;
    while (at < text.size() && is_word_character(text[at])) ++at;
    if (at > begin && visit(text.substr(begin, at - begin))) return true;
  }
  return false;
}

std::uint64_t length_bit(std::string_view word) { return std::uint64_t{1} << std::min<std::size_t>(word.size(), 63); }

bool has_word(std::string_view text, std::string_view word) {
  return any_word(text, [&](std::string_view each) { return each == word; });
}

/// Returns whether answers list rule instances.
bool is_derivation(TaskKind kind) {
  return kind == TaskKind::Derive || kind == TaskKind::Explain || kind == TaskKind::ExplainExtended ||
         kind == TaskKind::Eliminate || kind == TaskKind::DeriveFromEarlier || kind == TaskKind::DeriveFromEarlierOnce;
}

bool has_result(TaskKind kind) { return is_proof(kind) || is_derivation(kind); }

/// Returns whether items are numbers of known rules.
bool has_known_rules(TaskKind kind) {
  return kind == TaskKind::IsImplied || kind == TaskKind::IsImpliedExtended || kind == TaskKind::Eliminate ||
         kind == TaskKind::DeriveFromEarlier || kind == TaskKind::DeriveFromEarlierOnce;
}

/// Returns whether items are rules that are derived from the known ones.
bool has_goals(TaskKind kind) {
  return kind == TaskKind::Derive || kind == TaskKind::Explain || kind == TaskKind::ExplainExtended ||
         kind == TaskKind::IsRuleImplied;
}

/// Returns whether another run, with other candidate numbers, would give the same answer.
bool is_reusable(TaskKind kind, const CandidateResult& result, std::string_view name) {
  const bool proof = is_proof(kind);
  if (proof && result.status != RuleStatus::Proved && result.status != RuleStatus::Refuted) return false;
  return !has_word(result.detail, name) && !(proof && has_word(result.certificate, name));
}

runtime::Hash128 hash_of(TaskKind kind, const std::string& item) {
  return runtime::hash128(runtime::bytes_of(item), static_cast<std::uint64_t>(kind));
}

std::string_view key_text(const runtime::Hash128& key) {
  return runtime::text_of(runtime::bytes_of(std::span(&key, 1)));
}

/// The key of the record that a candidate's sides are defined at the same points.
runtime::Hash128 same_domain_key(const runtime::Hash128& item) {
  constexpr std::uint64_t seed = 0x616c696b65;
  return runtime::hash128(runtime::bytes_of(std::span(&item, 1)), seed);
}

/// The key of the record of an item's operators.
runtime::Hash128 operators_key(const runtime::Hash128& item) {
  constexpr std::uint64_t seed = 0x6e6f646573;
  return runtime::hash128(runtime::bytes_of(std::span(&item, 1)), seed);
}

std::string pack(const ReachableRules::Operators& operators) {
  runtime::Bytes bytes;
  runtime::append_list(bytes, operators.all);
  for (const auto& [matched, created] : operators.directions) {
    runtime::append_list(bytes, matched);
    runtime::append_list(bytes, created);
  }
  return std::string(runtime::text_of(bytes));
}

ReachableRules::Operators unpack_operators(std::string_view packed) {
  runtime::ByteView rest = runtime::bytes_of(packed);
  ReachableRules::Operators operators{runtime::take_list<std::uint64_t>(rest), {}};
  while (!rest.empty()) {
    OperatorHashes matched = runtime::take_list<std::uint64_t>(rest);
    operators.directions.emplace_back(std::move(matched), runtime::take_list<std::uint64_t>(rest));
  }
  return operators;
}

}  // namespace

AnswerCache::AnswerCache(const std::filesystem::path& folder, algebra::Library& library, std::uint64_t seed)
    : library_(library),
      origin_(runtime::program_digest() + " " + Z3Session::version() + " " + std::to_string(seed)),
      journal_(runtime::Journal::open_in_folder(folder, answers_file, "answers " + std::to_string(cache_version))),
      rules_(library) {
  for (const std::string& name : library.operator_names())
    name_lengths_[static_cast<unsigned char>(name[0])] |= length_bit(name);
  for (const runtime::Journal::Record& record : journal_.take_records()) {
    for (const auto& key : runtime::values_of<runtime::Hash128>(runtime::bytes_of(record.key)))
      records_[key] = record.location;
  }
}

/// Returns the name in stored answers of a rule: its position among the rules of the key. Several known rules may have
/// one name; the first of them in the key stands for all.
std::string AnswerCache::stored_name(const Key& key, const std::string& name) const {
  const auto numbers = numbers_.find(name);
  if (numbers == numbers_.end()) return name;
  for (const std::uint32_t number : numbers->second) {
    const auto found = std::ranges::lower_bound(*key.rules, number);
    if (found != key.rules->end() && *found == number)
      return stored_prefix + std::to_string(found - key.rules->begin());
  }
  return name;
}

/// Returns the name in this run of a rule in a stored answer.
std::string AnswerCache::current_name(const Key& key, const std::string& stored) const {
  if (!stored.starts_with(stored_prefix)) return stored;
  return std::string(name_of(rules_.text(key.rules->at(std::stoul(stored.substr(1))))));
}

void AnswerCache::update_rules(const std::vector<std::string>& updates) {
  missing_.clear();
  reachable_.clear();
  for (const std::string& update : updates) {
    if (!update.starts_with('+')) {
      rules_.remove(update);
      continue;
    }
    const std::string rule = update.substr(1);
    runtime::Hasher hasher;
    hasher.add_text(origin_);
    hasher.add_text(renamed(rule, ""));
    add_definitions(rule, hasher);
    numbers_[std::string(name_of(rule))].push_back(rules_.size());
    rule_hashes_.push_back(hasher.digest128());
    rules_.add(rule, operators(rule_hashes_.back(), [&] { return ReachableRules::operators_of_rule(rule, library_); }));
  }
}

/// Returns the operators of an item, cached under its hash.
ReachableRules::Operators AnswerCache::operators(const runtime::Hash128& item,
                                                 const std::function<ReachableRules::Operators()>& compute) {
  const runtime::Hash128 key = operators_key(item);
  const auto [location, is_new] = records_.try_emplace(key);
  if (is_new) {
    ReachableRules::Operators computed = compute();
    location->second = journal_.append(key_text(key), pack(computed));
    return computed;
  }
  return unpack_operators(journal_.read(location->second));
}

/// Most words have a first letter and a length that no operator has.
const std::string& AnswerCache::digest_of(std::string_view word) {
  static const std::string none;
  if ((name_lengths_[static_cast<unsigned char>(word[0])] & length_bit(word)) == 0) return none;
  const auto found = digests_.find(word);
  if (found != digests_.end()) return found->second;
  std::string name(word), digest = library_.has_operator(name) ? library_.digest(name) : std::string();
  return digests_.emplace(std::move(name), std::move(digest)).first->second;
}

/// Adds each definition that a text uses once, in the order of first use.
void AnswerCache::add_definitions(const std::string& text, runtime::Hasher& hasher) {
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

AnswerCache::Reachable AnswerCache::find_reachable(const ReachableRules::Instances& goal, std::uint32_t excluded_begin,
                                                   std::uint32_t excluded_end) {
  Reachable result;
  result.rules =
      std::make_shared<std::vector<std::uint32_t>>(rules_.reachable_from(goal, excluded_begin, excluded_end));
  std::vector<runtime::Hash128> hashes;
  for (const std::uint32_t rule : *result.rules) hashes.push_back(rule_hashes_[rule]);
  result.hash = runtime::hash128(runtime::bytes_of(hashes));
  return result;
}

/// Completes the key of an item that refers to a known rule.
void AnswerCache::add_rules_of_known_rule(TaskKind kind, const std::string& item, Key& key) {
  const KnownRule known = known_rule_from_text(item);
  const bool earlier = kind == TaskKind::DeriveFromEarlier || kind == TaskKind::DeriveFromEarlierOnce;
  add_reachable_rules(
      kind, find_reachable(rules_.instances_of(known.number), known.number, earlier ? rules_.size() : known.end()),
      key);
}

/// Completes the key of a goal. `compute` returns its operators if the cache does not have them.
void AnswerCache::add_rules_of_goal(TaskKind kind, const std::function<ReachableRules::Operators()>& compute,
                                    Key& key) {
  const ReachableRules::Instances goal = rules_.instances_of(operators(key.item, compute));
  const auto [found, is_new] = reachable_.try_emplace(goal);
  if (is_new) found->second = find_reachable(goal, 0, 0);
  add_reachable_rules(kind, found->second, key);
}

void AnswerCache::add_reachable_rules(TaskKind kind, const Reachable& reachable, Key& key) {
  const std::array<runtime::Hash128, 2> parts{key.item, reachable.hash};
  key.hash = runtime::hash128(runtime::bytes_of(parts));
  key.is_complete = true;
  if (is_derivation(kind)) key.rules = reachable.rules;
}

/// Returns the text of the rule that an item is or refers to.
const std::string& AnswerCache::rule_text(TaskKind kind, const std::string& item) const {
  return has_known_rules(kind) ? rules_.text(known_rule_from_text(item).number) : item;
}

/// Returns the key of an item; incomplete if the item is a goal.
AnswerCache::Key AnswerCache::make_key(TaskKind kind, const std::string& item) {
  Key key;
  runtime::Hasher hasher;
  hasher.add_text(origin_);
  hasher.add_number(static_cast<std::uint64_t>(kind));
  const std::string& text = rule_text(kind, item);
  hasher.add_text(renamed(text, ""));
  add_definitions(text, hasher);
  key.item = key.hash = hasher.digest128();
  key.is_complete = !has_goals(kind);
  if (has_known_rules(kind)) add_rules_of_known_rule(kind, item, key);
  return key;
}

std::optional<std::string> AnswerCache::find(TaskKind kind, const std::string& item) {
  Key key = make_key(kind, item);
  // Without a record of its operators, a goal has no answer.
  if (!key.is_complete && records_.contains(operators_key(key.item))) add_rules_of_goal(kind, {}, key);
  const auto found = key.is_complete ? records_.find(key.hash) : records_.end();
  if (found == records_.end()) {
    missing_[hash_of(kind, item)] = std::move(key);
    return std::nullopt;
  }
  std::string stored = journal_.read(found->second);
  if (!has_result(kind)) return stored;
  const auto to_current = [&](const std::string& each) { return current_name(key, each); };
  CandidateResult result = unpack_result(stored);
  const std::string_view name = name_of(rule_text(kind, item));
  if (!result.candidate.empty()) result.candidate = name;
  result.rule = renamed(result.rule, name);
  if (key.rules != nullptr) result.certificate = with_rules_renamed(result.certificate, to_current);
  return pack(result);
}

std::string AnswerCache::item_to_schedule(TaskKind kind, const std::string& item) const {
  const auto key = missing_.find(hash_of(kind, item));
  const bool has_same_domain =
      kind == TaskKind::Derive && key != missing_.end() && records_.contains(same_domain_key(key->second.item));
  return has_same_domain ? std::string(same_domain_prefix) + item : item;
}

void AnswerCache::add(TaskKind kind, const std::string& item, const std::string& answer) {
  if (item.starts_with(same_domain_prefix)) return add(kind, item.substr(same_domain_prefix.size()), answer);
  const auto computed = missing_.find(hash_of(kind, item));
  Key key = computed == missing_.end() ? make_key(kind, item) : std::move(computed->second);
  if (computed != missing_.end()) missing_.erase(computed);
  CandidateResult result;
  if (has_result(kind)) {
    result = unpack_result(answer);
    if (!is_reusable(kind, result, name_of(rule_text(kind, item)))) return;
  }
  if (!key.is_complete) {
    add_rules_of_goal(
        kind,
        [&] {
          return has_result(kind) ? ReachableRules::Operators{std::move(result.goal_operators), {}}
                                  : ReachableRules::operators_of_goal(item, library_);
        },
        key);
  }
  std::string stored = answer, keys(key_text(key.hash));
  if (has_result(kind)) {
    const auto to_stored = [&](const std::string& each) { return stored_name(key, each); };
    result.goal_operators.clear();
    if (key.rules != nullptr) result.certificate = with_rules_renamed(result.certificate, to_stored);
    stored = pack(result);
    // The sides of a derived candidate have the same domain, whatever the reachable rules are.
    if (const auto same_domain = same_domain_key(key.item);
        kind == TaskKind::Derive && result.status == RuleStatus::Derived && !records_.contains(same_domain)) {
      records_[same_domain];
      keys += key_text(same_domain);
    }
  }
  const auto [location, is_new] = records_.try_emplace(key.hash);
  if (is_new) location->second = journal_.append(keys, stored);
}

}  // namespace rulemill::prove
