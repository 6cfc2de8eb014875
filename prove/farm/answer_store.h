// Answers that depend on nothing but their question and the definitions that it names: proofs from the definitions, and
// certificates. They are kept beside a run's other files from one run to the next, so that a profile with one operator
// more, or one level more, proves only what is new. Nothing is believed that was asked of another seed, prover or
// definition.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "algebra/library/library.h"
#include "prove/farm/task.h"
#include "runtime/journal.h"

namespace rulemill::prove {

inline constexpr const char* answers_file = "answers.store";

class AnswerStore {
 public:
  /// answers.store of the folder. Damaged records are left out, with a warning.
  AnswerStore(const std::filesystem::path& folder, const algebra::Library& library, std::uint64_t seed);

  /// Whether answers to tasks of this kind are kept.
  static bool keeps(TaskKind kind);
  /// The answer to one item of a task, as a worker would give it now.
  std::optional<std::string> find(TaskKind kind, const std::string& item);
  /// Verdicts that a limit decided are not kept.
  void add(TaskKind kind, const std::string& item, const std::string& answer);
  void sync() { journal_.sync(); }
  /// How many were found.
  std::uint64_t found() const { return found_; }

 private:
  std::string key(TaskKind kind, const std::string& item);

  const algebra::Library& library_;
  std::string origin_;  // what every key begins with
  runtime::Journal journal_;
  std::map<std::string, std::string> known_;
  std::map<std::string, std::string> digests_;  // of definitions, by operator
  std::uint64_t found_ = 0;
};

}  // namespace rulemill::prove
