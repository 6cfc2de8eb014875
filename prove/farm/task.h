// What workers are asked and what they answer: rules as text, which every process reads alike whatever it did before,
// between lengths. It travels between ranks, through pipes and into the journal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rulemill::prove {

/// A task's items are rules in text form unless said otherwise; there is one answer an item.
enum class TaskKind : std::uint8_t {
  Derive,  // candidates, defined_alike before them or not → outcomes: derived from the known rules with the instances
           // that imply them, ill-typed, or unknown so far
  Prove,   // candidates → outcomes, from the definitions
  Redundant,  // numbers of known rules → implied by the other enabled ones?
  Eliminate,  // numbers of known rules → outcomes with the instances of the other enabled ones that imply them, tried
              // harder; one that is implied stays disabled for those after it
  Implied,    // typed rules → implied by the enabled ones?
  Explain,    // typed rules → outcomes with the rule instances that imply them
  ProveRule,  // typed rules → outcomes, from the definitions
  Certify,    // certificate requests → certificates
  Generalize,     // typed rules → outcomes: proved, in general form; unknown if there is none
  Admit,          // numbers of known rules → outcomes with the instances of enabled ones before it that imply them,
                  // tried harder
  Superfluous,    // numbers of known rules → implied by the other enabled ones? tried harder
  AdmitLarge,     // as Admit, of rules that stay apart where a limit is met: tried once
  ExplainHarder,  // as Explain, tried harder
};

/// What such tasks are for, in a word or two.
const char* asked_for(TaskKind kind);

/// What a candidate's text follows whose sides are known to be defined at the same points.
inline constexpr std::string_view defined_alike = "defined alike\n";

/// Whether a rule follows from others, as answers say it.
inline constexpr std::string_view implied_yes = "implied", implied_no = "saturated", implied_limit = "limit reached";

/// An item that is a number of a known rule: with it `more` after it, such as its instances, which count as the same
/// rule when others are asked about it.
struct KnownRule {
  std::uint32_t number = 0, more = 0;
  std::uint32_t end() const { return number + 1 + more; }
};
std::string to_text(const KnownRule& rule);
KnownRule known_rule_from_text(const std::string& item);

struct Task {
  TaskKind kind = TaskKind::Derive;
  std::vector<std::string> items;
  double hardness = 1;  // an estimate; harder tasks are handed out first
};

/// What answers took.
struct Effort {
  double seconds = 0;
  std::uint64_t queries = 0;
  std::uint64_t derivations = 0;  // asked, whatever the answer
  double derivation_seconds = 0;
  std::uint64_t derived = 0;  // of these: found
  double derived_seconds = 0;
  std::uint64_t proofs = 0;  // from the definitions, found
  double proof_seconds = 0;
  Effort& operator+=(const Effort& other);
};

struct Answer {
  std::vector<std::string> items;  // none if it failed
  Effort effort;
  std::string failure;  // why there is no answer
};

/// A change of the rules that a worker knows: "+" and a typed rule in text form, which gets the next number, or "-" and
/// the number of one that is out of use from now on.
std::string adding(const std::string& rule);
std::string removing(std::size_t number);

std::string pack(const Task& task);
Task unpack_task(std::string_view packed);
std::string pack(const Answer& answer);
Answer unpack_answer(std::string_view packed);

}  // namespace rulemill::prove
