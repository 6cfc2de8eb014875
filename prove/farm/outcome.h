// What the prove-and-prune pass says of one candidate. Rules travel between ranks and into the journal in their text
// form, so that every process reads the same thing whatever it did before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "prove/verdict.h"
#include "runtime/json_report.h"

namespace rulemill::prove {

struct Outcome {
  using Kind = Standing;  // of one that could be read
  Kind kind = Kind::Unknown;
  std::string candidate;    // its name
  std::string rule;         // typed, in text form; of a refuted or unknown one as far as it was typed
  std::string detail;       // counterexample, or why it is unknown or ill-typed
  std::string certificate;  // of a proved rule; of a derived one the instances that imply it, of the core at the time
  std::uint64_t queries = 0;
  std::uint64_t instances = 0;
  std::uint64_t operators = 0;  // of a candidate's larger side
  bool apart = false;           // of a proved one: nobody looks for derivations that use it
  double hardness = 0;          // of one that is to be proved: an estimate
  double seconds = 0;           // what it took, all in all
  std::vector<std::vector<std::int64_t>> example;
};

/// Whether a proved rule stays apart for which a limit was met when it was asked of the core: one of more than four
/// operators. Measured at five operators: the proofs to be made are as many if no derivation uses these, and thousands
/// of them in a core make each derivation slower and let it reach less far.
bool stays_apart(const Outcome& outcome);

/// Makes a rule derived, as an answer says that it is; false if it does not.
bool take_derivation(const Outcome& answer, Outcome& rule);

/// What all runs agree on: without hardness and time.
runtime::Json to_json(const Outcome& outcome);
Outcome outcome_from_json(const runtime::Json& json);

/// One outcome with its hardness and time in bytes, as workers answer it, and back: between processes of one program.
std::string pack(const Outcome& outcome);
Outcome unpack_outcome(std::string_view packed);

/// The text of a list of outcomes, as all runs agree on it, and back. Throw InputError on other text.
std::string to_text(const std::vector<Outcome>& outcomes);
std::vector<Outcome> outcomes_from_text(std::string_view text);

}  // namespace rulemill::prove
