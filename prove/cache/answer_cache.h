// The cache of workers' answers, reused by later runs. An answer's key has everything that the answer depends on: for
// proofs and certificates the item and the definitions that it uses, for derivations also the reachable rules. So a
// profile with one more operator or level schedules only what is new. Answers from another seed, program, rule or
// definition are not found. Rule names in answers are translated to the names of the current run.
#pragma once

#include <array>
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
#include "prove/cache/reachable_rules.h"
#include "prove/tasks/task.h"
#include "runtime/files/journal.h"
#include "runtime/text/hash.h"

namespace rulemill::prove {

inline constexpr const char* answers_file = "answers.cache";

/// Returns whether answers are kept. A composed derivation takes hardly longer than finding it in the cache.
inline bool is_cached(TaskKind kind) { return kind != TaskKind::Compose; }

class AnswerCache {
 public:
  /// Opens the folder's answers_file. Damaged records are dropped, with a warning.
  AnswerCache(const std::filesystem::path& folder, algebra::Library& library, std::uint64_t seed);

  /// Applies updates of the rules that workers know.
  void update_rules(const std::vector<std::string>& updates);
  /// Returns the answer that a worker would give to an item now, if it is cached.
  std::optional<std::string> find(TaskKind kind, const std::string& item);
  /// Stores the answer to an item. Verdicts that depend on a time limit are not stored.
  void add(TaskKind kind, const std::string& item, const std::string& answer);
  /// Returns the item to schedule for one that find() did not find: with same_domain_prefix if that is known.
  std::string item_to_schedule(TaskKind kind, const std::string& item) const;
  void sync() { journal_.sync(); }

 private:
  struct Key {
    runtime::Hash128 hash;  // of everything; of an incomplete key without the reachable rules
    runtime::Hash128 item;  // of the item and its definitions, without the reachable rules
    bool is_complete = false;
    /// The rules that a stored answer names #0, #1, …, by number; null if its rules are not known rules.
    std::shared_ptr<const std::vector<std::uint32_t>> rules;
  };
  /// The known rules that are reachable from a goal.
  struct Reachable {
    std::shared_ptr<const std::vector<std::uint32_t>> rules;  // ascending
    runtime::Hash128 hash;                                    // of the rules
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
  template <class Value>
  using ByText = std::unordered_map<std::string, Value, HashOfText, std::equal_to<>>;
  const std::string& rule_text(TaskKind kind, const std::string& item) const;
  Key make_key(TaskKind kind, const std::string& item);
  const std::string& digest_of(std::string_view word);
  void add_rules_of_known_rule(TaskKind kind, const std::string& item, Key& key);
  void add_rules_of_goal(TaskKind kind, const std::function<ReachableRules::Operators()>& compute, Key& key);
  static void add_reachable_rules(TaskKind kind, const Reachable& reachable, Key& key);
  Reachable find_reachable(const ReachableRules::Instances& goal, std::uint32_t excluded_begin,
                           std::uint32_t excluded_end);
  std::string stored_name(const Key& key, const std::string& name) const;
  std::string current_name(const Key& key, const std::string& stored) const;
  ReachableRules::Operators operators(const runtime::Hash128& item,
                                      const std::function<ReachableRules::Operators()>& compute);
  void add_definitions(const std::string& text, runtime::Hasher& hasher);

  algebra::Library& library_;
  std::string origin_;  // program, solver and seed: a part of every key
  runtime::Journal journal_;
  ByHash<runtime::Journal::Location> records_;     // by key
  std::array<std::uint64_t, 256> name_lengths_{};  // of operators, by first letter: a bit for each length
  /// Digests of definitions by word; empty if the word is not an operator.
  ByText<std::string> digests_;
  ByHash<Key> missing_;  // keys of items that were not found, by kind and item; saves computing them again in add()
  ReachableRules rules_;
  ByText<std::vector<std::uint32_t>> numbers_;                // of the known rules, by name; ascending
  std::map<ReachableRules::Instances, Reachable> reachable_;  // by goals that may use all rules
  std::vector<runtime::Hash128> rule_hashes_;                 // by rule that workers know
};

}  // namespace rulemill::prove
