// What became of a rule: proved for all sizes, refuted by a counterexample, ill-typed, or unknown. Nothing but Proved
// may enter a rule database.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "algebra/terms/typing.h"

namespace rulemill::prove {

/// Proved from the definitions.
struct Proved {
  algebra::TypedRule typed;                   // its condition included
  std::vector<algebra::SizeCondition> found;  // the condition that was looked for and found, if any was needed
  std::uint64_t queries = 0;
  double seconds = 0;
};

/// Sizes and inputs at which the two sides differ.
struct Counterexample {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> shapes;  // variable, shape
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  std::vector<std::vector<double>> inputs;  // by variable, row-major
  std::size_t output = 0;
  std::vector<std::int64_t> position;
  double source = 0, target = 0;
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

/// How a rule stands, in a word: as a verdict says, or as is known without one. Numbers are kept in files.
enum class Standing : std::uint8_t { Proved, Derived, Refuted, Unknown, IllTyped, Unreadable };
/// "proved", "derived", "refuted", "unknown", "ill-typed", "unreadable"
const char* name(Standing standing);
Standing standing(const Verdict& verdict);
inline const char* name(const Verdict& verdict) { return name(standing(verdict)); }
/// The counterexample, or why it is unknown or ill-typed; nothing of a proved one.
std::string detail(const Verdict& verdict);
/// The typed rule, of one that was proved or refuted.
const algebra::TypedRule* typed_rule(const Verdict& verdict);
/// One line: where the sides differ, and by what.
std::string to_string(const Counterexample& counterexample);

}  // namespace rulemill::prove
