// Tasks, the messages of work: a kind and items in text form, with one answer per item. Text means the same in every
// process. Tasks and answers travel between ranks, through pipes and into the journal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rulemill::prove {

/// A kind of task, with its items → its answers. "Extended" kinds derive again with extended limits where one was hit.
/// Numbers are kept in files.
enum class TaskKind : std::uint8_t {
  Derive,             // candidates, perhaps after same_domain_prefix → results: derived, ill-typed, or unknown so far
  Prove,              // candidates → results, from the definitions
  IsImplied,          // known rules → do the other enabled rules imply it?
  Eliminate,          // known rules → results: derived from the other enabled rules, extended
  IsRuleImplied,      // typed rules → do the enabled rules imply it? extended
  Explain,            // typed rules → results: derived from the enabled rules
  ProveRule,          // typed rules → results, from the definitions
  Certify,            // certificate requests → certificates
  Generalize,         // typed rules → results: the general form, proved; unknown if there is none
  DeriveFromEarlier,  // known rules → results: derived from the enabled rules before it, extended
  IsImpliedExtended,  // as IsImplied, extended
  DeriveFromEarlierOnce,  // as DeriveFromEarlier, not extended
  ExplainExtended,        // as Explain, extended
  Compose,                // composition requests → derivations without derived rules; empty if there is none
  Check,                  // check requests of a database's rules → their checks (certificate/record_check.h)
  CheckAlone,             // as Check, one rule per task
  CertifyRecord,          // certificate requests of derived rules → certified records (tasks/candidate_result.h)
};

/// Returns what tasks of a kind produce, for progress messages.
const char* task_name(TaskKind kind);
/// Returns whether answers are proofs from the definitions.
bool is_proof(TaskKind kind);

/// Precedes the text of a candidate whose sides are known to be defined at the same points.
inline constexpr std::string_view same_domain_prefix = "defined alike\n";

/// The answers to whether rules imply another rule.
inline constexpr std::string_view implied_yes = "implied", implied_no = "saturated", implied_limit = "limit reached";

/// An item that refers to a known rule by its number. The `following` rules after it, its specializations, count as
/// part of the same rule.
struct KnownRule {
  std::uint32_t number = 0, following = 0;
  std::uint32_t end() const { return number + 1 + following; }
};
std::string to_text(const KnownRule& rule);
KnownRule known_rule_from_text(const std::string& item);

/// An item before items are combined into tasks. Its answer does not depend on other items.
struct WorkItem {
  TaskKind kind = TaskKind::Derive;
  std::string text;
  double estimated_cost = 1;  // relative to other items that are scheduled with it
};

struct Task {
  TaskKind kind = TaskKind::Derive;
  std::vector<std::string> items;
  double estimated_cost = 1;  // expensive tasks are scheduled first
};

/// What tasks took.
struct TaskStatistics {
  double seconds = 0;
  double processor_seconds = 0;
  double longest_seconds = 0;  // of an item, in processor time
  std::uint64_t queries = 0;
  std::uint64_t derivations = 0;  // attempted
  double derivation_seconds = 0;
  std::uint64_t derivations_found = 0;
  double derivations_found_seconds = 0;
  std::uint64_t proofs = 0;  // found, from the definitions
  double proof_seconds = 0;
  TaskStatistics& operator+=(const TaskStatistics& other);
};

struct Answer {
  std::vector<std::string> items;  // empty if the task failed
  TaskStatistics statistics;
  std::string failure;  // the reason; empty if there was none
};

/// An update of the rules that a worker knows: "+" and a typed rule in text form, which gets the next number, or "-"
/// and the number of a rule to disable.
std::string add_rule_update(const std::string& rule);
std::string remove_rule_update(std::size_t number);

std::string pack(const Task& task);
Task unpack_task(std::string_view packed);
std::string pack(const Answer& answer);
Answer unpack_answer(std::string_view packed);

}  // namespace rulemill::prove
