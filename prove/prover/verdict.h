// The verdict on a rule: proved for all sizes, refuted by a counterexample, ill-typed, or unknown. Only proved rules
// may enter a rule database.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "algebra/terms/typing.h"
#include "prove/refuter/counterexample.h"

namespace rulemill::prove {

/// Proved from the definitions, perhaps narrowed: under a condition that the text does not state
/// (docs/semantics.md).
struct Proved {
  algebra::TypedRule typed;                       // with its condition
  std::vector<algebra::SizeCondition> found;      // the condition that the prover added, if any
  std::vector<algebra::SizeCondition> narrowing;  // all that the text does not state: `found`, and that of the types
  std::string condition;                          // for people: the narrowing, or what the target's types require
  std::uint64_t queries = 0;
  double seconds = 0;
};

struct Refuted {
  algebra::TypedRule typed;
  Counterexample counterexample;
};

struct Unknown {
  std::string reason;
};

struct IllTyped {
  std::string what;
};

using Verdict = std::variant<Proved, Refuted, Unknown, IllTyped>;

/// The status of a rule: the kind of its verdict, or derived or unreadable (imported rules only). Numbers are kept in
/// files.
enum class RuleStatus : std::uint8_t { Proved, Derived, Refuted, Unknown, IllTyped, Unreadable, Narrowed };
/// Returns "proved", "derived", "refuted", "unknown", "ill-typed", "unreadable" or "narrowed".
const char* name(RuleStatus status);
RuleStatus status(const Verdict& verdict);
inline const char* name(const Verdict& verdict) { return name(status(verdict)); }
/// Returns the condition of a proved rule, the counterexample, or the reason why it is unknown (shortened) or
/// ill-typed.
std::string detail(const Verdict& verdict);
/// Returns the typed rule if it was proved or refuted, else null.
const algebra::TypedRule* typed_rule(const Verdict& verdict);

}  // namespace rulemill::prove
