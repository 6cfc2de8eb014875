#include "prove/farm/answer_store.h"

#include <cctype>
#include <set>

#include "prove/farm/outcome.h"
#include "prove/solver/solver.h"
#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/program_digest.h"

namespace rulemill::prove {
namespace {

constexpr int store_version = 2;
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

std::set<std::string> words_of(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : std::string(text) + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
  return words;
}

/// Whether another run would say the same, whatever the candidates' numbers.
bool is_kept(const Outcome& outcome, std::string_view name) {
  const bool decided = outcome.kind == Outcome::Kind::Proved || outcome.kind == Outcome::Kind::Refuted;
  return decided && !words_of(outcome.detail + " " + outcome.certificate).contains(std::string(name));
}

}  // namespace

AnswerStore::AnswerStore(const std::filesystem::path& folder, const algebra::Library& library, std::uint64_t seed)
    : library_(library),
      origin_(runtime::program_digest() + " " + Solver::version() + " " + std::to_string(seed)),
      journal_(runtime::Journal::of_folder(folder, answers_file, "answers " + std::to_string(store_version))) {
  for (const runtime::Journal::Record& record : journal_.records()) {
    known_[record.key] = std::string(runtime::text_of(record.payload));
  }
}

bool AnswerStore::keeps(TaskKind kind) {
  return kind == TaskKind::Prove || kind == TaskKind::ProveRule || kind == TaskKind::Certify;
}

std::string AnswerStore::key(TaskKind kind, const std::string& item) {
  runtime::Hasher hasher;
  hasher.add_text(origin_);
  hasher.add_number(static_cast<std::uint64_t>(kind));
  hasher.add_text(kind == TaskKind::Certify ? item : renamed(item, ""));
  for (const std::string& word : words_of(item)) {
    if (!library_.has_operator(word)) continue;
    auto found = digests_.find(word);
    if (found == digests_.end()) found = digests_.emplace(word, library_.digest(word)).first;
    hasher.add_text(found->second);
  }
  return runtime::to_hex(hasher.digest128());
}

std::optional<std::string> AnswerStore::find(TaskKind kind, const std::string& item) {
  const auto found = known_.find(key(kind, item));
  if (found == known_.end()) return std::nullopt;
  ++found_;
  if (kind == TaskKind::Certify) return found->second;
  Outcome outcome = outcome_from_text(found->second);
  if (!outcome.candidate.empty()) outcome.candidate = name_of(item);
  outcome.rule = renamed(outcome.rule, name_of(item));
  return to_text(outcome);
}

void AnswerStore::add(TaskKind kind, const std::string& item, const std::string& answer) {
  if (kind != TaskKind::Certify && !is_kept(outcome_from_text(answer), name_of(item))) return;
  const std::string name = key(kind, item);
  if (!known_.emplace(name, answer).second) return;
  journal_.append(name, answer);
}

}  // namespace rulemill::prove
