// Answers that workers gave, with all that they depend on: of proofs and certificates the question and the definitions
// that it names, of derivations the rules in reach, too; and what decides that reach. They are kept beside a run's
// other files from one run to the next, so that a profile with one operator more, or one level more, asks only what is
// new. Nothing is believed that was asked of another seed, program, rule or definition. Names of rules are those of the
// run that asks.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "algebra/library/library.h"
#include "prove/farm/reach.h"
#include "prove/farm/task.h"
#include "runtime/hash.h"
#include "runtime/journal.h"

namespace rulemill::prove {

inline constexpr const char* answers_file = "answers.store";

class AnswerStore {
 public:
  /// answers.store of the folder. Damaged records are left out, with a warning.
  AnswerStore(const std::filesystem::path& folder, algebra::Library& library, std::uint64_t seed);

  /// Changes of the rules that workers know, before the next question.
  void change(const std::vector<std::string>& changes);
  /// By item of a task, the answer as a worker would give it now, if it is known. Of items that depend on each other,
  /// all or none.
  std::vector<std::optional<std::string>> find(const Task& task);
  /// Verdicts that a limit of time decided are not kept.
  void add(const Task& task, const std::vector<std::string>& answers);
  /// How a worker is asked an item that find() has no answer to: with what is known of it all the same.
  std::string asked(TaskKind kind, const std::string& item) const;
  void sync() { journal_.sync(); }

 private:
  /// How kept answers name other rules, #0, #1, …, and how this run does.
  struct Names {
    explicit Names(const std::vector<std::string>& names);
    std::map<std::string, std::string> to_numbers, from_numbers;
  };
  /// What an answer is kept under. Of answers that name no rules: without names.
  struct Question {
    runtime::Hash128 key;
    runtime::Hash128 own;  // of what it asks and the definitions, whatever rules there are
    std::shared_ptr<const Names> names;
  };
  /// What a goal is derived from.
  struct InReach {
    std::vector<std::uint32_t> rules;
    runtime::Hash128 hash;               // of these
    std::shared_ptr<const Names> names;  // of these, once they are needed
  };
  struct HashOfHash {
    std::size_t operator()(const runtime::Hash128& hash) const { return hash.low; }
  };
  struct HashOfText {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <class Value>
  using ByHash = std::unordered_map<runtime::Hash128, Value, HashOfHash>;
  const std::string& text_of(TaskKind kind, const std::string& item) const;
  Question question(TaskKind kind, const std::string& item);
  const std::string& digest_of(std::string_view word);
  void add_reach(TaskKind kind, const std::string& item, runtime::Hasher& hasher, Question& question);
  InReach reached_from(const Reach::Instances& goal, std::uint32_t first_out, std::uint32_t end_out);
  Reach::Nodes nodes(const runtime::Hash128& own, const std::function<Reach::Nodes()>& make);
  void enable(std::uint32_t rule, bool enabled);
  void add_request(const std::string& item, runtime::Hasher& hasher, Question& question);
  void add_definitions(const std::string& text, runtime::Hasher& hasher);
  std::optional<std::string> find(TaskKind kind, const std::string& item);
  void add(TaskKind kind, const std::string& item, const std::string& answer);
  void each_in_turn(const Task& task, const std::function<std::optional<std::string>(std::size_t)>& answer);

  algebra::Library& library_;
  std::string origin_;  // what every key begins with
  runtime::Journal journal_;
  ByHash<runtime::Journal::Place> known_;  // by key
  /// Of definitions, by word; of no operator: empty.
  std::unordered_map<std::string, std::string, HashOfText, std::equal_to<>> digests_;
  ByHash<Question> unanswered_;  // by kind and item, so that the answer is kept without asking again
  Reach reach_;
  std::map<Reach::Instances, InReach> reached_;  // by goals that may use all rules
  std::vector<runtime::Hash128> rule_hashes_;    // by rule that workers know
};

}  // namespace rulemill::prove
